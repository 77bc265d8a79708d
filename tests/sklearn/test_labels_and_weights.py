"""Kinds of targets, weights of documents and classes, and splits, for every classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.class_weight import compute_sample_weight

from tests.loops import for_each
from textcat.linear import Prior, fit
from textcat.linear.regularization import lam_from_c
from textcat.sklearn import (
    FeatureSelector,
    OneVsRestLinearClassifier,
    PolytomousLinearClassifier,
    TermWeighting,
    ThresholdTuner,
)
from textcat.sklearn.validation import (
    check_sample_weights,
    compute_class_weights,
    read_labels,
)
from textcat.thresholds.rules import ThresholdSettings, find_expected_f1_thresholds, set_thresholds

RNG = np.random.default_rng(3)
X = sp.csr_matrix(RNG.poisson(0.4, (60, 12)).astype(float))
TWO = np.where(X.toarray()[:, :6].sum(axis=1) > X.toarray()[:, 6:].sum(axis=1), "yes", "no")
THREE = np.array(["a", "b", "c"])[X.toarray()[:, :3].argmax(axis=1)]
SEVERAL = (X.toarray()[:, :3] > 0).astype(int)
TARGETS = {"binary": TWO, "multiclass": THREE, "multilabel": SEVERAL}
CLASSIFIERS = [OneVsRestLinearClassifier(), PolytomousLinearClassifier()]


@for_each("kind", TARGETS)
def test_labels_are_read_as_columns_of_classes(kind: Any) -> None:
    found = read_labels(TARGETS[kind])
    assert found.kind == kind
    if kind == "multilabel":
        assert found.classes.tolist() == [0, 1, 2]
        assert np.array_equal(found.columns, SEVERAL > 0)
        assert np.array_equal(read_labels(sp.csr_matrix(SEVERAL)).columns, found.columns)
        return
    assert found.classes.tolist() == sorted(set(TARGETS[kind]))
    members = found.members()
    assert np.array_equal(found.classes[members.argmax(axis=1)], TARGETS[kind])
    assert (members.sum(axis=1) == 1).all()
    assert found.columns.shape[1] == (1 if kind == "binary" else 3)


@for_each(
    ("y", "message"),
    [
        (["a", "a"], "only one class"),
        ([[0, 1], [2, 3]], "indicator matrix|not supported|Unknown label"),
        ([0.5, 1.25], "Unknown label type"),
        ([[-1, 1], [1, -1]], "indicator matrix of 0 and 1"),
        ([[0, 2], [2, 0]], "indicator matrix of 0 and 1"),
    ],
)
def test_targets_that_are_no_classes_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_labels(np.array(y))


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_scores_probabilities_and_predictions_agree(classifier: Any, kind: str) -> None:
    """The predicted label has the highest score and the highest probability, and probabilities sum to one."""
    y = TARGETS[kind]
    if kind == "multilabel" and isinstance(classifier, PolytomousLinearClassifier):
        with pytest.raises(ValueError, match="one label per document"):
            classifier.fit(X, y)
        return
    fitted = classifier.fit(X, y)
    scores, chances, predicted = fitted.decision_function(X), fitted.predict_proba(X), fitted.predict(X)
    assert ((chances >= 0) & (chances <= 1)).all()
    if kind == "multilabel":
        assert np.array_equal(predicted, (scores > 0).astype(int))
        np.testing.assert_allclose(chances, 1 / (1 + np.exp(-scores)))
        return
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.array_equal(fitted.classes_[chances.argmax(axis=1)], predicted)
    if kind == "binary":
        assert np.array_equal(predicted == "yes", scores > 0)
        np.testing.assert_allclose(chances[:, 1], 1 / (1 + np.exp(-scores)))
    else:
        assert np.array_equal(fitted.classes_[scores.argmax(axis=1)], predicted)
    assert fitted.score(X, y) > 0.8
    if isinstance(classifier, PolytomousLinearClassifier):
        np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), chances)


@for_each("kind", ["binary", "multiclass"])
@for_each("classifier", CLASSIFIERS)
def test_a_document_of_weight_zero_is_as_if_it_were_not_there(classifier: Any, kind: str) -> None:
    y, weights = TARGETS[kind], np.where(np.arange(60) % 4, 1.0, 0.0)
    kept = weights > 0
    weighted = type(classifier)(tol=1e-10).fit(X, y, weights)
    alone = type(classifier)(tol=1e-10).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=1e-8)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@given(seed=st.integers(0, 999), given_=st.booleans())
@settings(max_examples=30, deadline=None)
def test_balanced_class_weights_are_those_of_scikit_learn(kind: str, seed: int, given_: bool) -> None:
    """Without weights of documents; with them, each class has the same total weight."""
    y = TARGETS[kind][np.random.default_rng(seed).permutation(60)[:40]]
    labels = read_labels(y)
    weights = np.random.default_rng(seed).random(40) + 0.1 if given_ else None
    found = compute_class_weights("balanced", labels, weights)
    assert found is not None
    if weights is None:
        np.testing.assert_allclose(found, compute_sample_weight("balanced", y))
    totals = [found[y == name].sum() for name in labels.classes]
    np.testing.assert_allclose(totals, np.mean(totals))
    np.testing.assert_allclose(found.sum(), 40 if weights is None else weights.sum())


def test_class_weights_are_by_name_and_default_to_one() -> None:
    labels = read_labels(THREE)
    weights = np.arange(60.0)
    found = compute_class_weights({"b": 3.0}, labels, weights)
    assert np.array_equal(found, weights * np.where(THREE == "b", 3.0, 1.0))
    assert compute_class_weights(None, labels, weights) is weights
    for wrong, message in (
        ({"d": 1.0}, r"names \['d'\]"),
        ("heavy", "must be"),
        ({"a": -1.0}, "0 or more"),
        ({"a": np.nan}, "0 or more"),
    ):
        with pytest.raises(ValueError, match=message):
            compute_class_weights(wrong, labels, None)


@for_each(
    ("weights", "message"),
    [
        ([1.0], "1D"),
        ([[1.0], [1.0]], "1D"),
        ([1.0, -1.0], "negative"),
        ([0.0, 0.0], "not zero"),
        ([1.0, np.nan], "NaN"),
    ],
)
def test_weights_that_are_none_are_refused(weights: Any, message: str) -> None:
    assert check_sample_weights(None, 2) is None
    assert check_sample_weights([0, 2], 2).tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match=message):
        check_sample_weights(weights, 2)


@for_each("features", [3, 100, "all"])
@for_each("scope", ["category", "common", "max"])
def test_a_category_has_weights_only_for_its_own_features(features: Any, scope: str) -> None:
    fitted = OneVsRestLinearClassifier("squared_hinge", features=features, scope=scope).fit(X, SEVERAL)
    selector = FeatureSelector(features=features, scope=scope).fit(X, SEVERAL)
    allowed = selector.mask_ if features != "all" else np.ones((12, 3), dtype=bool)
    assert not fitted.coef_.T[~allowed].any()
    assert np.array_equal(selector.get_support(), selector.mask_.any(axis=1))


@for_each("algorithm", ["fast", "column", "row", "conjugate_gradient"])
def test_every_algorithm_reaches_the_optimum_of_scikit_learn(algorithm: str) -> None:
    """With a penalized constant feature, appended here to the documents of the peer."""
    fitted = OneVsRestLinearClassifier(algorithm=algorithm, C=2.0, tol=1e-10, max_passes=20_000).fit(X, TWO)
    extended = np.hstack([X.toarray(), np.ones((60, 1))])
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(extended, TWO)
    ours = np.append(fitted.coef_[0], fitted.intercept_)
    np.testing.assert_allclose(ours, peer.coef_[0], atol=2e-4)


@for_each("cv", [3, KFold(4), ShuffleSplit(2, random_state=1)])
def test_thresholds_are_tuned_on_the_documents_that_a_split_holds_out(cv: Any) -> None:
    """A document that no split holds out is not tuned on."""
    tuner = ThresholdTuner(OneVsRestLinearClassifier(), cv=cv).fit(X, SEVERAL)
    splits = KFold(3, shuffle=True, random_state=0).split(X) if cv == 3 else cv.split(X)
    scores, seen = np.zeros(SEVERAL.shape), np.zeros(60, dtype=bool)
    for kept, held in splits:
        scores[held] = OneVsRestLinearClassifier().fit(X[kept], SEVERAL[kept]).decision_function(X[held])
        seen[held] = True
    expected = set_thresholds(ThresholdSettings(rule="tuned"), scores[seen], SEVERAL[seen] > 0)
    np.testing.assert_allclose(tuner.thresholds_, expected)
    assert np.array_equal(tuner.decision_function(X) >= 0, tuner.predict(X) > 0)


@for_each("rule", ["tuned", "break-even", "default"])
def test_two_classes_have_one_threshold(rule: str) -> None:
    tuner = ThresholdTuner(OneVsRestLinearClassifier(), rule=rule, value=0.25).fit(X, TWO)
    assert tuner.thresholds_.shape == (1,)
    assert (rule == "default") == (tuner.thresholds_.tolist() == [0.25])
    above = tuner.estimator_.decision_function(X) >= tuner.thresholds_[0]
    assert np.array_equal(tuner.predict(X), np.where(above, "yes", "no"))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        ThresholdTuner(OneVsRestLinearClassifier()).fit(X, THREE)


@for_each("cv", [None, 3])
@for_each("labels", [2, 3])
def test_labels_of_an_estimator_with_probabilities_only_have_thresholds_of_their_own(
    labels: int, cv: int | None
) -> None:
    y = SEVERAL[:, :labels]
    tuner = ThresholdTuner(OneVsRestClassifier(MultinomialNB()), cv=cv).fit(X, y)
    for column in range(labels):
        alone = ThresholdTuner(MultinomialNB(), cv=cv)
        if cv is None:
            expected = alone.fit(X, y[:, column])
        else:
            splits = list(KFold(cv, shuffle=True, random_state=0).split(X))
            expected = alone.set_params(cv=splits).fit(X, y[:, column])
        assert tuner.thresholds_[column] == pytest.approx(expected.thresholds_[0])
        assert np.array_equal(tuner.predict(X)[:, column], expected.predict(X))


def test_a_document_of_weight_zero_moves_no_threshold() -> None:
    weights = np.where(np.arange(60) % 3, 1.0, 0.0)
    kept = weights > 0
    tuner = ThresholdTuner(LogisticRegression(), cv=3)
    with_zero = tuner.fit(X, TWO, sample_weight=weights).thresholds_
    without = tuner.fit(X[kept], TWO[kept], sample_weight=weights[kept]).thresholds_
    assert np.array_equal(with_zero, without)


@for_each("kind", [np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_array])
def test_weights_of_terms_keep_the_form_of_the_counts(kind: Any) -> None:
    counts = X.toarray()
    weighted = TermWeighting("log_tf_idf").fit(counts).transform(kind(counts))
    dense = weighted.toarray() if sp.issparse(weighted) else weighted
    assert sp.issparse(weighted) == (kind is not np.asarray)
    np.testing.assert_allclose(dense, TermWeighting("log_tf_idf").fit_transform(counts))
    norms = np.linalg.norm(dense, axis=1)
    assert np.all(np.isclose(norms, 1.0) | (norms == 0))
    assert np.linalg.norm(TermWeighting("tf", cosine=False).fit_transform(counts) - counts) == 0


def test_unknown_weightings_and_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown weighting 'bm26'; known: binary, tf"):
        TermWeighting("bm26").fit(X)
    with pytest.raises(ValueError, match="Negative values"):
        TermWeighting().fit(-X.toarray())


TUNER_SETTINGS = {
    "criterion": ["errors", "f1"],
    "point": ["lowest", "highest", 0.25],
    "among_equal": ["highest", "widest"],
    "combination": ["mean_of_folds", "median_of_folds"],
}


@for_each(("key", "value"), [(key, value) for key, values in TUNER_SETTINGS.items() for value in values])
@for_each("rule", ["tuned", "scut"])
def test_every_parameter_of_the_tuner_reaches_its_rule(rule: str, key: str, value: Any) -> None:
    """The thresholds are those of the rule's settings on the held-out scores; scut optimizes F1 by default."""
    given_ = {"criterion": "f1" if rule == "scut" else "errors"} | {key: value}
    tuner = ThresholdTuner(OneVsRestLinearClassifier(), rule=rule, cv=KFold(3), **given_).fit(X, SEVERAL)
    scores, folds = np.zeros(SEVERAL.shape), np.zeros(60, dtype=np.int64)
    for number, (kept, held) in enumerate(KFold(3).split(X)):
        scores[held] = OneVsRestLinearClassifier().fit(X[kept], SEVERAL[kept]).decision_function(X[held])
        folds[held] = number
    expected = set_thresholds(
        ThresholdSettings(rule=rule, cross_validated=True, **given_), scores, SEVERAL > 0, folds
    )
    np.testing.assert_allclose(tuner.thresholds_, expected)


@for_each("fallback", [0, 1])
@for_each("least_f1", [0.0, 60.0, 100.1])
def test_the_fallback_of_the_tuner_is_that_of_scut_fbr(fallback: int, least_f1: float) -> None:
    tuner = ThresholdTuner(
        OneVsRestLinearClassifier(),
        rule="scut-fbr",
        criterion="f1",
        fallback=fallback,
        least_f1=least_f1,
        cv=None,
    ).fit(X, SEVERAL)
    scores = tuner.estimator_.decision_function(X)
    settings_ = ThresholdSettings(rule="scut-fbr", fallback=fallback, least_f1=least_f1)
    assert np.array_equal(tuner.thresholds_, set_thresholds(settings_, scores, SEVERAL > 0))
    if least_f1 > 100:
        assert np.array_equal(tuner.predict(X).any(axis=0), np.full(3, fallback == 1))


@for_each("per_document", [1, 2, "training", "tuned"])
def test_rcut_gives_every_document_as_many_labels(per_document: Any) -> None:
    tuner = ThresholdTuner(OneVsRestLinearClassifier(), rule="rcut", per_document=per_document, cv=None).fit(
        X, SEVERAL
    )
    expected = {"training": SEVERAL.sum() / 60, "tuned": tuner.per_document_}.get(per_document, per_document)
    assert tuner.per_document_ == pytest.approx(expected)
    number = min(max(int(np.floor(expected + 0.5)), 1), 3)
    assert set(tuner.predict(X).sum(axis=1)) == {number}


@for_each("sides", [{True: 3.0}, {False: 0.5}, {True: 2.0, False: 4.0}])
def test_class_weights_of_indicators_are_those_of_the_two_sides(sides: dict[bool, float]) -> None:
    """A weight of two counts the documents of that side twice in every category."""
    fitted = OneVsRestLinearClassifier(class_weight=sides, tol=1e-10).fit(X, SEVERAL)
    for k in range(3):
        weights = np.where(SEVERAL[:, k] > 0, sides.get(True, 1.0), sides.get(False, 1.0))
        alone = OneVsRestLinearClassifier(tol=1e-10).fit(X, SEVERAL[:, k], weights)
        np.testing.assert_allclose(fitted.coef_[k], alone.coef_[0], atol=1e-4)


@for_each("prior", [Prior(name, np.linspace(0.1, 2, 12)) for name in ("gaussian", "laplace")])
@for_each("algorithm", ["auto", "column"])
def test_priors_of_single_features_are_taken_by_an_algorithm_that_can(prior: Prior, algorithm: str) -> None:
    fitted = OneVsRestLinearClassifier(prior=prior, algorithm=algorithm, C=0.5).fit(X, SEVERAL)
    lam = lam_from_c(0.5, 60, prior.name)
    model = fit(X, SEVERAL > 0, prior=prior, lam=lam, algorithm="column", tol=1e-12)
    np.testing.assert_allclose(fitted.coef_, model.coef.T, atol=1e-4)


@for_each("cv", [3, None])
def test_expected_f1_decides_by_the_probabilities_of_the_estimator(cv: int | None) -> None:
    """Without held-out scores the thresholds are those of the documents that are decided on."""
    tuner = ThresholdTuner(OneVsRestLinearClassifier(), rule="expected-f1", cv=cv).fit(X, SEVERAL)
    chances = tuner.estimator_.predict_proba(X)
    if cv is None:
        expected = chances >= find_expected_f1_thresholds(chances)
    else:
        expected = tuner.estimator_.decision_function(X) >= tuner.thresholds_
    assert np.array_equal(tuner.predict(X), expected)
    hinge = ThresholdTuner(OneVsRestLinearClassifier("hinge"), rule="expected-f1", cv=cv)
    with pytest.raises(ValueError, match="expected-f1 needs probabilities"):
        hinge.fit(X, SEVERAL)
