"""Tune the decision thresholds of any classifier, one per category, on held-out documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from textcat.errors import UsageError
from textcat.sklearn.validation import (
    Floats,
    TargetKind,
    TargetLabels,
    format_predictions,
    raise_value_errors,
    read_labels,
    refuse_unsound,
    validate_settings,
)
from textcat.thresholds.rules import (
    NO_PROBABILITIES,
    ThresholdSettings,
    apply_threshold_rule,
    set_categories_per_document,
    set_thresholds,
)


class ThresholdTuner(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit `estimator` and set a threshold for each category by a rule of `textcat.thresholds`.

    rule: tuned, scut, break-even, scut-fbr, rcut, pcut, expected-f1 or default. criterion, combination, point,
    among_equal, least_f1, fallback, per_document and value are as in `ThresholdSettings`; criterion None is f1 for
    scut and scut-fbr, and errors for the other rules. cv: a number of folds, a splitter or splits; thresholds are
    tuned on the scores of the held-out documents. With cv None they are tuned on the scores of the training
    documents, and pcut and expected-f1 decide on all documents that are predicted together.

    The target has two classes, or is an indicator matrix: of one label among several the highest score decides,
    so there is nothing to tune. Sample weights are passed to the estimator; tuning counts each document once,
    and ignores those of weight 0. A classifier without decision_function is scored by the log odds of its
    probabilities. expected-f1 needs an estimator whose scores are the log odds of its probabilities. The
    probabilities of `estimator_` do not depend on the thresholds.

    Fitted: estimator_ (trained on all documents), thresholds_ (one per category), per_document_, priors_,
    classes_.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        rule: str = "tuned",
        criterion: str | None = None,
        combination: str = "pooled",
        point: str | float = "midpoint",
        among_equal: str = "lowest",
        least_f1: float = 30.0,
        fallback: int = 1,
        per_document: Any = 1.0,
        value: float = 0.0,
        cv: Any = 5,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.rule = rule
        self.criterion = criterion
        self.combination = combination
        self.point = point
        self.among_equal = among_equal
        self.least_f1 = least_f1
        self.fallback = fallback
        self.per_document = per_document
        self.value = value
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **params: Any) -> ThresholdTuner:
        """Fit on all documents and tune on held-out ones; `params` are passed to the estimator's fit."""
        if y is None:
            raise ValueError("ThresholdTuner requires y to be passed, but the target y is None")
        refuse_unsound(X=X, y=y)
        X, y = indexable(X, y)
        X, y, kept_params = _drop_zero_weights(X, y, params)
        labels = _read_two_sided_labels(y)
        settings = self._settings()
        routed = self._route_params(kept_params)
        self.estimator_ = clone(self.estimator).fit(X, y, **routed)
        self._kind = labels.kind
        self.classes_ = labels.classes
        self.priors_ = labels.columns.mean(axis=0)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self.cv is None or settings.rule == "default":
            scores, folds = (
                _compute_scores(self.estimator_, X, labels.kind),
                np.zeros(len(labels.columns), dtype=np.int64),
            )
        else:
            scores, folds = self._score_held_out(X, y, labels, routed)
        scored = folds >= 0
        scores, columns = scores[scored], labels.columns[scored]
        with raise_value_errors():
            probabilities = self._compute_probabilities(settings, scores)
            self.thresholds_ = set_thresholds(settings, scores, columns, folds[scored], probabilities)
            self.per_document_ = set_categories_per_document(settings, scores, columns)
        return self

    def _compute_probabilities(self, settings: ThresholdSettings, scores: Floats) -> Floats | None:
        """Return the probabilities that expected-f1 needs; None for other rules."""
        if settings.rule != "expected-f1":
            return None
        if not hasattr(self.estimator_, "predict_proba"):
            raise UsageError(NO_PROBABILITIES, hint="Use an estimator with `predict_proba`.")
        return np.asarray(expit(scores))

    def _route_params(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of the estimator's fit: all, unless metadata routing is enabled."""
        if not (params and get_config()["enable_metadata_routing"]):
            return params
        routed: Mapping[str, Any] = process_routing(self, "fit", **params).estimator.fit
        return routed

    def _settings(self) -> ThresholdSettings:
        given = self.get_params(deep=False)
        own = {name: given[name] for name in THRESHOLD_KEYS & given.keys() if given[name] is not None}
        return validate_settings(ThresholdSettings, cross_validated=self.cv is not None, **own)

    def _score_held_out(
        self, X: Any, y: Any, labels: TargetLabels, params: Mapping[str, Any]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return scores by estimators not trained on the document, and its fold (-1: in none)."""
        scores = np.zeros(labels.columns.shape)
        folds = np.full(len(scores), -1, dtype=np.int64)
        for fold, (kept, held_out) in enumerate(self._make_splits(X, y, labels)):
            part = {name: _select_part(value, kept, len(scores)) for name, value in params.items()}
            inner = clone(self.estimator).fit(_safe_indexing(X, kept), _safe_indexing(y, kept), **part)
            scores[held_out] = _compute_scores(inner, _safe_indexing(X, held_out), labels.kind)
            folds[held_out] = fold
        return scores, folds

    def _make_splits(self, X: Any, y: Any, labels: TargetLabels) -> Iterable[tuple[Any, Any]]:
        splits: Iterable[tuple[Any, Any]]
        if not isinstance(self.cv, Integral):
            splits = check_cv(self.cv).split(X, y)
            return splits
        kind = StratifiedKFold if labels.kind == "binary" else KFold
        splitter = kind(self.cv, shuffle=True, random_state=self.random_state)
        splits = splitter.split(np.zeros(len(labels.columns)), labels.columns[:, 0])
        return splits

    def decision_function(self, X: Any) -> Floats:
        """Return scores minus thresholds, documents x categories; for two classes, one per document."""
        check_is_fitted(self)
        above = np.asarray(_compute_scores(self.estimator_, X, self._kind) - self.thresholds_)
        return above[:, 0] if self._kind == "binary" else above

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels in the form of the training labels, by the rule."""
        check_is_fitted(self)
        scores = _compute_scores(self.estimator_, X, self._kind)
        with raise_value_errors():
            settings = self._settings()
            accepted = apply_threshold_rule(
                settings,
                scores,
                self.thresholds_,
                self.priors_,
                per_document=self.per_document_,
                probabilities=self._compute_probabilities(settings, scores),
            )
        return format_predictions(self._kind, self.classes_, accepted, scores)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route all metadata, such as sample weights, to the estimator's fit."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self.__class__.__name__).add(
            estimator=self.estimator, method_mapping=mapping
        )

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = False
        several = inner.classifier_tags is not None and inner.classifier_tags.multi_label
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = several
        return tags


THRESHOLD_KEYS = frozenset(ThresholdSettings.model_fields)


def _drop_zero_weights(X: Any, y: Any, params: Mapping[str, Any]) -> tuple[Any, Any, Mapping[str, Any]]:
    """Drop the documents of weight 0, which must not influence thresholds."""
    weights = params.get("sample_weight")
    if weights is None or np.all(np.asarray(weights) != 0):
        return X, y, params
    rows = np.flatnonzero(np.asarray(weights))
    documents = len(np.asarray(weights))
    kept = {name: _select_part(value, rows, documents) for name, value in params.items()}
    return _safe_indexing(X, rows), _safe_indexing(y, rows), kept


def _read_two_sided_labels(y: Any) -> TargetLabels:
    labels = read_labels(y)
    if labels.kind == "multiclass":
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            "Of one label among several the highest score decides; thresholds need an indicator matrix."
        )
    return labels


def _select_part(value: Any, rows: Any, documents: int) -> Any:
    """Return the entries of some documents if there is one per document, else the value unchanged."""
    by_document = (
        hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == documents
    )
    return _safe_indexing(value, rows) if by_document else value


def _compute_scores(estimator: Any, X: Any, kind: TargetKind) -> Floats:
    """Return decision_function, or the log odds of predict_proba, documents x categories."""
    refuse_unsound(X=X)
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        return scores[:, None] if scores.ndim == 1 else scores
    probabilities = estimator.predict_proba(X)
    if isinstance(probabilities, list):
        probabilities = np.column_stack([each[:, 1] for each in probabilities])
        return _compute_log_odds(probabilities)
    return _compute_log_odds(probabilities[:, 1:] if kind == "binary" else probabilities)


def _compute_log_odds(probabilities: Any) -> Floats:
    least = np.finfo(np.float64).eps
    return np.asarray(logit(np.clip(np.asarray(probabilities, dtype=np.float64), least, 1.0 - least)))
