"""Weights with shared rows: few bytes, nearly the same scores, and the same answers in any batch."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.errors import BadDataError
from textcat.linear.model import LinearModel
from textcat.linear.shared_rows import LEAST_PART, SharedRows

DRAW = np.random.default_rng(5)
# Twelve documents with dual variables for seven categories; terms 0 to 399 occur in one document each.
DUAL = DRAW.normal(size=(12, 7)) * (DRAW.random((12, 7)) < 0.6)
TERMS = sp.csr_array(
    (DRAW.uniform(0.1, 1, 500), (np.r_[:400, 400:450, 400:450], DRAW.integers(12, size=500))), shape=(450, 12)
)
COEF = TERMS @ DUAL
INTERCEPT = DRAW.normal(size=7)
DOCUMENTS = sp.csr_array(sp.random_array((60, 450), density=0.1, rng=DRAW))


@pytest.mark.parametrize("weights", [np.asarray, sp.csc_matrix], ids=["dense", "sparse"])
def test_terms_of_one_document_share_a_row(weights):
    shared = SharedRows.pack(weights(COEF))
    assert len(np.unique(shared.rows[:400])) == 12
    assert len(shared.starts) - 1 <= 12 + 50
    largest = np.abs(COEF).max(axis=1, keepdims=True)
    assert (np.abs(shared.toarray() - COEF) <= largest / LEAST_PART + 1e-7).all()
    assert np.array_equal(shared[:, [3, 1]], shared.toarray()[:, [3, 1]])


def test_scores_are_those_of_the_weights_and_the_same_one_by_one():
    model = LinearModel(COEF, INTERCEPT, [], {"loss": "hinge"}).share_rows()
    expected = DOCUMENTS @ model.coef.toarray() + INTERCEPT
    scores = model.scores(DOCUMENTS)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scores, DOCUMENTS @ COEF + INTERCEPT, atol=0.02)
    assert np.array_equal(np.vstack([model.scores(DOCUMENTS[[row]]) for row in range(60)]), scores)
    assert model.scores(sp.csr_array((0, 450))).shape == (0, 7)
    again = LinearModel.from_arrays(model.to_arrays(), json.loads(json.dumps(model.describe())))
    assert np.array_equal(again.scores(DOCUMENTS), scores)
    assert np.array_equal(again.category_weights(2), model.coef.toarray()[:, 2])


def test_a_model_without_weights_has_the_intercepts_as_scores():
    model = LinearModel(np.zeros((4, 3)), np.array([1.0, 2.0, 3.0])).share_rows()
    assert model.scores(sp.csr_array(np.eye(4))).tolist() == [[1.0, 2.0, 3.0]] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"rows": np.array([0, 99], np.uint32)},
        {"rows": np.array([0.0, 1.0])},
        {"indices": np.array([200], np.uint8)},
        {"lengths": np.array([9], np.uint8)},
        {"lengths": np.zeros(0, np.uint8)},
        {"scales": np.zeros(3, np.float16)},
        {"data": np.zeros(2)},
        {"factor": np.zeros(2)},
        {"shape": np.array([2])},
    ],
)
def test_parts_that_do_not_fit_are_refused(change):
    arrays = SharedRows.pack(np.array([[1.0, 2.0], [2.0, 4.0]])).to_arrays()
    SharedRows.from_arrays(arrays)
    with pytest.raises(BadDataError):
        SharedRows.from_arrays(arrays | change)
