"""`textcat.thresholds` around any classifier with scores: one threshold a category, tuned on held-out parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

from textcat.sklearn.validation import (
    Floats,
    TargetLabels,
    format_predictions,
    raise_value_errors,
    read_labels,
    validate_settings,
)
from textcat.thresholds.rules import (
    ThresholdSettings,
    apply_threshold_rule,
    set_categories_per_document,
    set_thresholds,
)


class ThresholdTuner(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits `estimator`, and sets a threshold for each category by a rule of `ThresholdSettings`.

    rule: tuned, scut, break-even, scut-fbr, rcut, pcut, expected-f1 or default; criterion, combination, point,
    among_equal, least_f1, fallback, per_document and value are as there. cv: a number of folds, a splitter or
    splits, on whose held-out parts thresholds are tuned; None tunes on the scores of the training documents.
    For two classes and for indicator matrices; of one label among several the highest score decides, and
    there is nothing to tune. Weights of documents go to the estimator; tuning counts each document once, and
    those of weight 0 not at all. A classifier without decision_function gives the log odds of its
    probabilities. With cv None, pcut and expected-f1 look at all documents that are predicted together.
    expected-f1 is for estimators with probabilities whose scores are their log odds. Probabilities are those of
    `estimator_`, and do not know the thresholds.

    Fitted: estimator_ (trained on everything), thresholds_ (one a category), per_document_, priors_, classes_.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        rule: str = "tuned",
        criterion: str = "errors",
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
        """Fit on all documents, and on all but each fold in turn; `params` go to the estimator's fit."""
        if y is None:
            raise ValueError("ThresholdTuner requires y to be passed, but the target y is None")
        X, y = indexable(X, y)
        X, y, counting = _drop_zero_weights(X, y, params)
        labels = _read_two_sided_labels(y)
        settings = self._settings()
        given = self._route_params(counting)
        self.estimator_ = clone(self.estimator).fit(X, y, **given)
        self._kind = labels.kind
        self.classes_ = labels.classes
        self.priors_ = labels.columns.mean(axis=0)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self.cv is None or settings.rule == "default":
            scores, folds = _compute_scores(self.estimator_, X), np.zeros(len(labels.columns), dtype=np.int64)
        else:
            scores, folds = self._score_held_out(X, y, labels, given)
        seen = folds >= 0
        self._set_thresholds(settings, scores[seen], labels.columns[seen], folds[seen])
        return self

    def _set_thresholds(
        self, settings: ThresholdSettings, scores: Floats, labels: Any, folds: NDArray[np.int64]
    ) -> None:
        with raise_value_errors():
            chances = self._compute_probabilities(settings, scores)
            self.thresholds_ = set_thresholds(settings, scores, labels, folds, chances)
            self.per_document_ = set_categories_per_document(settings, scores, labels)

    def _compute_probabilities(self, settings: ThresholdSettings, scores: Floats) -> Floats | None:
        """Probabilities for expected-f1: of an estimator that has them, whose scores are log odds."""
        if settings.rule != "expected-f1" or not hasattr(self.estimator_, "predict_proba"):
            return None
        return np.asarray(expit(scores))

    def _route_params(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """What goes to the estimator's fit: everything, unless metadata routing is switched on."""
        if not (params and get_config()["enable_metadata_routing"]):
            return params
        routed: Mapping[str, Any] = process_routing(self, "fit", **params).estimator.fit
        return routed

    def _settings(self) -> ThresholdSettings:
        own = {name: value for name, value in self.get_params(deep=False).items() if name in THRESHOLD_KEYS}
        return validate_settings(ThresholdSettings, cross_validated=self.cv is not None, **own)

    def _score_held_out(
        self, X: Any, y: Any, labels: TargetLabels, params: Mapping[str, Any]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Scores of each document by an estimator that has not seen it, and the number of its fold."""
        scores = np.zeros(labels.columns.shape)
        folds = np.full(len(scores), -1, dtype=np.int64)
        for fold, (kept, held) in enumerate(self._make_splits(X, y, labels)):
            part = {name: _select_part(value, kept, len(scores)) for name, value in params.items()}
            inner = clone(self.estimator).fit(_safe_indexing(X, kept), _safe_indexing(y, kept), **part)
            scores[held] = _compute_scores(inner, _safe_indexing(X, held))
            folds[held] = fold
        return scores, folds

    def _make_splits(self, X: Any, y: Any, labels: TargetLabels) -> Iterable[tuple[Any, Any]]:
        if not isinstance(self.cv, int):
            splits: Iterable[tuple[Any, Any]] = check_cv(self.cv).split(X, y)
            return splits
        kind = StratifiedKFold if labels.kind == "binary" else KFold
        cut: Iterable[tuple[Any, Any]] = kind(self.cv, shuffle=True, random_state=self.random_state).split(
            np.zeros(len(labels.columns)), labels.columns[:, 0]
        )
        return cut

    def decision_function(self, X: Any) -> Floats:
        """Scores above the thresholds, documents x categories; of two classes one a document."""
        check_is_fitted(self)
        above = np.asarray(_compute_scores(self.estimator_, X) - self.thresholds_)
        return above[:, 0] if self._kind == "binary" else above

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels in the form of the training labels, by the rule."""
        check_is_fitted(self)
        scores = _compute_scores(self.estimator_, X)
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
        """Weights and the like are the estimator's."""
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
    """Without the documents of weight 0: they have no say in thresholds either."""
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
            "Of one label among several the highest score decides; an indicator matrix has thresholds."
        )
    return labels


def _select_part(value: Any, rows: Any, documents: int) -> Any:
    """Of what is given by document, such as weights, that of some documents; anything else as it is."""
    by_document = (
        hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == documents
    )
    return _safe_indexing(value, rows) if by_document else value


def _compute_scores(estimator: Any, X: Any) -> Floats:
    """Documents x categories, by the estimator's decision_function or else the log odds of its probabilities."""
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        return scores[:, None] if scores.ndim == 1 else scores
    chances = estimator.predict_proba(X)
    if isinstance(chances, list):
        chances = np.column_stack([each[:, 1] for each in chances])
        return _compute_log_odds(chances)
    two_classes = len(estimator.classes_) == 2 and np.ndim(estimator.classes_[0]) == 0
    return _compute_log_odds(chances[:, 1:] if two_classes else chances)


def _compute_log_odds(chances: Any) -> Floats:
    least = np.finfo(np.float64).eps
    return np.asarray(logit(np.clip(np.asarray(chances, dtype=np.float64), least, 1.0 - least)))
