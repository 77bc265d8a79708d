"""Naive Bayes against counting by hand, scikit-learn and invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.naive_bayes import MultinomialNB

from textcat.errors import BadDataError, UsageError
from textcat.learners.naive_bayes import fit_multiclass_naive_bayes, fit_naive_bayes

COUNTS = hnp.arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=st.integers(0, 3))


def log_odds_by_hand(X, y, mask, lam, document):
    selected = [j for j in range(X.shape[1]) if mask[j]]

    def log_probability(rows, j):
        total = sum(X[i, k] for i in rows for k in selected)
        return math.log((sum(X[i, j] for i in rows) + lam) / (total + lam * len(selected)))

    inside = [i for i in range(len(y)) if y[i]]
    outside = [i for i in range(len(y)) if not y[i]]
    score = math.log((len(inside) + lam) / (len(outside) + lam))
    return score + sum(
        document[j] * (log_probability(inside, j) - log_probability(outside, j)) for j in selected
    )


@given(COUNTS, st.data())
@settings(max_examples=60, deadline=None)
def test_binary_scores_are_the_log_odds_counted_by_hand(X, data):
    Y = data.draw(hnp.arrays(np.bool_, (X.shape[0], 2)))
    mask = data.draw(hnp.arrays(np.bool_, (X.shape[1], 2)))
    lam = data.draw(st.sampled_from([1e-6, 0.01, 1.0, 10.0]))
    scores = fit_naive_bayes(sp.csr_matrix(X), Y, lam, mask).scores(X)
    for i in range(X.shape[0]):
        for k in range(2):
            assert scores[i, k] == pytest.approx(
                log_odds_by_hand(X, Y[:, k], mask[:, k], lam, X[i]), abs=1e-8
            )


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("binary", [False, True])
def test_both_models_agree_with_scikit_learn_up_to_the_priors(lam, binary):
    generator = np.random.default_rng(5)
    X = generator.poisson(0.4, (60, 25))
    X = (X > 0).astype(int) if binary else X
    classes = generator.integers(0, 3, 60)
    Y = classes[:, None] == np.arange(3)
    oracle = MultinomialNB(alpha=lam).fit(X, classes)
    multiclass = fit_multiclass_naive_bayes(X, Y, lam)
    np.testing.assert_allclose(multiclass.coef, oracle.feature_log_prob_.T, rtol=1e-12)
    prior = (Y.sum(axis=0) + lam) / (60 + 3 * lam)
    np.testing.assert_allclose(multiclass.intercept, np.log(prior), rtol=1e-12)
    binary_model = fit_naive_bayes(X, Y, lam)
    for k in range(3):
        one = MultinomialNB(alpha=lam).fit(X, classes == k)
        np.testing.assert_allclose(
            binary_model.coef[:, k], one.feature_log_prob_[1] - one.feature_log_prob_[0], rtol=1e-10
        )


def test_probabilities_of_the_multiclass_model_sum_to_one_over_the_selected_features():
    X = np.array([[2, 0, 1], [0, 3, 1], [1, 1, 0]])
    model = fit_multiclass_naive_bayes(X, np.eye(3, dtype=bool), 0.1, features=[True, False, True])
    np.testing.assert_allclose(np.exp(model.coef[[0, 2]]).sum(axis=0), 1.0)
    assert not model.coef[1].any()


def test_a_masked_feature_is_as_if_it_had_never_been_read():
    generator = np.random.default_rng(3)
    X, Y = generator.poisson(0.7, (20, 6)), generator.random((20, 2)) < 0.4
    mask = np.array([True, True, False, True, False, True])
    masked, cut = fit_naive_bayes(X, Y, mask=mask), fit_naive_bayes(X[:, mask], Y)
    np.testing.assert_allclose(masked.scores(X), cut.scores(X[:, mask]), atol=1e-12)


@pytest.mark.parametrize("value", [False, True])
def test_an_empty_or_full_category_has_finite_scores(value):
    X = np.array([[1, 0], [0, 2]])
    scores = fit_naive_bayes(X, np.full((2, 1), value)).scores(X)
    assert np.isfinite(scores).all()
    assert (scores > 0).all() == value


def test_refusals_name_the_document_and_the_setting():
    with pytest.raises(BadDataError, match="document row 1"):
        fit_naive_bayes(np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([True, False]))
    with pytest.raises(UsageError, match="lam must be a positive number"):
        fit_naive_bayes(np.ones((2, 2)), np.array([True, False]), lam=0.0)
    with pytest.raises(UsageError, match="has shape"):
        fit_naive_bayes(np.ones((2, 2)), np.array([True, False, True]))
    with pytest.raises(UsageError, match="mask of shape"):
        fit_naive_bayes(np.ones((2, 2)), np.array([True, False]), mask=np.ones((3, 1)))


@given(COUNTS, st.data())
@settings(max_examples=40, deadline=None)
def test_the_multiclass_model_is_counted_by_hand(X, data):
    """Each class has its own multinomial over the features that all share."""
    Y = data.draw(hnp.arrays(np.bool_, (X.shape[0], 3)))
    features = data.draw(hnp.arrays(np.bool_, X.shape[1]))
    model = fit_multiclass_naive_bayes(sp.csr_matrix(X), Y, 0.5, features)
    chosen = np.flatnonzero(features)
    for k in range(3):
        counts = X[Y[:, k]].sum(axis=0)
        total = counts[chosen].sum() + 0.5 * len(chosen)
        for j in chosen:
            assert model.coef[j, k] == pytest.approx(math.log((counts[j] + 0.5) / total))
        prior = (Y[:, k].sum() + 0.5) / (Y.sum() + 1.5)
        assert model.intercept[k] == pytest.approx(math.log(prior))
    assert not model.coef[~features].any()


@pytest.mark.parametrize("factor", [2, 3])
def test_repeating_the_documents_is_dividing_lambda(factor):
    """Counts times k with lambda is counts with lambda / k."""
    generator = np.random.default_rng(9)
    X, Y = generator.poisson(0.6, (15, 5)), generator.random((15, 2)) < 0.4
    again = np.tile(np.arange(15), factor)
    for fit in (fit_naive_bayes, fit_multiclass_naive_bayes):
        many, once = fit(X[again], Y[again], 1.0), fit(X, Y, 1.0 / factor)
        np.testing.assert_allclose(many.coef, once.coef, atol=1e-12)
        np.testing.assert_allclose(many.intercept, once.intercept, atol=1e-12)
