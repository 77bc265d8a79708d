"""Each score against its definition, computed one term and one category at a time."""

from __future__ import annotations

from math import log2, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_selection import mutual_info_classif

from tests.loops import for_each
from textcat.selection import SCORES, score_features

NAMES = tuple(SCORES)


def plain_score(name: str, x: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    n = len(y)
    has = x != 0
    a, b = int((has & y).sum()), int((~has & y).sum())
    c, d = int((has & ~y).sum()), int((~has & ~y).sum())
    if name == "document_frequency":
        return a + c
    if name == "chi_square":
        below = (a + b) * (c + d) * (a + c) * (b + d)
        return n * (a * d - b * c) ** 2 / below if below else 0.0
    if name in ("bi_normal_separation", "bi_normal_separation_zeros"):
        if not (a + b and c + d):
            return 0.0
        quantile = NormalDist().inv_cdf
        tpr, fpr = (min(max(rate, 0.0005), 0.9995) for rate in (a / (a + b), c / (c + d)))
        return abs(quantile(tpr) - quantile(fpr))
    if name == "pearson":
        labels = np.where(y, 1.0, -1.0)
        dx, dy = x - x.mean(), labels - labels.mean()
        below = sqrt((dx**2).sum()) * sqrt((dy**2).sum())
        return abs((dx * dy).sum()) / below if below > 1e-9 else 0.0
    impurity = {"gini_gain": gini, "gini_per_document": gini, "information_gain": entropy}[name]
    branches = [(a + c, a), (b + d, b)]
    gain = impurity((a + b) / n) - sum(
        size / n * impurity(inside / size) for size, inside in branches if size
    )
    return gain * n / max(a + c, 1) if name == "gini_per_document" else gain


def gini(p: float) -> float:
    return 1 - p**2 - (1 - p) ** 2


def entropy(p: float) -> float:
    return -sum(q * log2(q) for q in (p, 1 - p) if q > 0)


def random_problem(
    seed: int, documents: int, terms: int, categories: int
) -> tuple[csr_array, NDArray[np.bool_]]:
    random = np.random.default_rng(seed)
    dense = random.exponential(size=(documents, terms)) * (random.random((documents, terms)) < 0.3)
    return csr_array(dense), random.random((documents, categories)) < 0.3


@pytest.mark.parametrize("name", NAMES)
@given(
    seed=st.integers(0, 10_000),
    documents=st.integers(1, 25),
    terms=st.integers(1, 6),
    categories=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_score_is_its_definition(name: str, seed: int, documents: int, terms: int, categories: int) -> None:
    X, Y = random_problem(seed, documents, terms, categories)
    dense = X.toarray()
    expected = [[plain_score(name, dense[:, j], Y[:, k]) for k in range(categories)] for j in range(terms)]
    np.testing.assert_allclose(score_features(name, X, Y), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_order_of_documents_terms_and_categories_moves_nothing_but_places(name: str, seed: int) -> None:
    X, Y = random_problem(seed, 20, 7, 4)
    random = np.random.default_rng(seed + 1)
    rows, terms, categories = random.permutation(20), random.permutation(7), random.permutation(4)
    moved = score_features(name, csr_array(X.toarray()[rows][:, terms]), Y[rows][:, categories])
    np.testing.assert_allclose(
        moved, score_features(name, X, Y)[terms][:, categories], rtol=1e-12, atol=1e-12
    )


@for_each("name", NAMES)
def test_terms_beyond_one_block_are_scored_alike(name: str) -> None:
    X, Y = random_problem(3, 30, 5000, 3)
    whole = score_features(name, X, Y)
    for term in (0, 2047, 2048, 4095, 4096, 4999):
        alone = score_features(name, csr_array(X.toarray()[:, [term]]), Y)
        np.testing.assert_allclose(whole[[term]], alone, rtol=1e-12, atol=1e-15)


@for_each("name", NAMES)
def test_limits_give_zero_and_never_nan(name: str) -> None:
    everywhere, nowhere = np.ones(4), np.zeros(4)
    some = np.array([1.0, 0.0, 1.0, 0.0])
    X = csr_array(np.column_stack([everywhere, nowhere, some]))
    Y = np.column_stack([np.ones(4), np.zeros(4), some]).astype(bool)
    scores = score_features(name, X, Y)
    assert np.isfinite(scores).all()
    if name != "document_frequency":
        assert (scores[:2] == 0).all()
        assert (scores[:, :2] == 0).all()
        assert scores[2, 2] > 0


def test_stored_zeros_are_absent_terms() -> None:
    X = csr_array((np.array([0.0, 2.0]), np.array([0, 0]), np.array([0, 1, 2, 2])), shape=(3, 1))
    Y = np.array([[True], [False], [False]])
    assert score_features("document_frequency", X, Y).tolist() == [[1.0]]
    assert X.nnz == 2


def test_only_zero_rates_of_bi_normal_separation_can_be_moved() -> None:
    # Of 10,000 documents outside the category one has the first term and none has the second.
    labels = np.zeros((10_002, 1), dtype=bool)
    labels[:2] = True
    dense = np.zeros((10_002, 2))
    dense[0] = 1.0
    dense[2, 0] = 1.0
    clipped = score_features("bi_normal_separation", csr_array(dense), labels)[:, 0]
    moved = score_features("bi_normal_separation_zeros", csr_array(dense), labels)[:, 0]
    assert clipped[0] == clipped[1] == moved[1] == pytest.approx(-NormalDist().inv_cdf(0.0005))
    assert moved[0] == pytest.approx(-NormalDist().inv_cdf(0.0001))


def test_information_gain_agrees_with_scikit_learn() -> None:
    X, Y = random_problem(5, 200, 8, 1)
    peer = mutual_info_classif((X.toarray() != 0).astype(int), Y[:, 0], discrete_features=True)
    np.testing.assert_allclose(score_features("information_gain", X, Y)[:, 0], peer / np.log(2), atol=1e-12)


def test_for_one_category_gini_gain_chi_square_and_pearson_of_presence_rank_alike() -> None:
    X, Y = random_problem(7, 60, 40, 3)
    present = csr_array((X.toarray() != 0).astype(float))
    n, share = len(Y), Y.mean(axis=0)
    chi_square = score_features("chi_square", X, Y)
    np.testing.assert_allclose(
        score_features("gini_gain", X, Y), chi_square * 2 * share * (1 - share) / n, atol=1e-15
    )
    np.testing.assert_allclose(score_features("pearson", present, Y) ** 2, chi_square / n, atol=1e-12)


def test_pearson_of_a_constant_weight_is_zero_in_spite_of_rounding() -> None:
    X = csr_array(np.full((7, 1), 0.1))
    Y = np.array([[True], [False], [True], [False], [False], [True], [False]])
    assert score_features("pearson", X, Y)[0, 0] == 0.0


def test_gini_per_document_is_the_gain_over_the_share_of_documents_with_the_term() -> None:
    dense = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=float)
    labels = np.array([[1], [1], [0], [0]], dtype=bool)
    gain = score_features("gini_gain", csr_array(dense), labels)[:, 0]
    found = score_features("gini_per_document", csr_array(dense), labels)[:, 0]
    # By hand: the first term splits 2p(1-p) = 1/2 completely and is in half of the documents.
    assert found[0] == pytest.approx(0.5 / 0.5)
    assert found[1] == pytest.approx(gain[1] / 0.75)
    assert found[2] == 0.0
