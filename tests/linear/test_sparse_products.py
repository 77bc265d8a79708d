"""Products of sparse documents and sparse weights: against scipy, by blocks of categories, in threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.linear import products
from textcat.linear.model import LinearModel
from textcat.linear.products import SparseWeights


def make_matrices(seed: int = 3) -> tuple[sp.csr_array, sp.csc_matrix]:
    """Documents, and weights of which some rows are full and some empty."""
    random = np.random.default_rng(seed)
    documents = sp.random_array((57, 40), density=0.3, rng=random, format="csr")
    weights = random.normal(size=(40, 23)) * (random.random((40, 23)) < random.random((40, 1)) ** 3)
    return documents, sp.csc_matrix(weights.astype(np.float32))


@pytest.mark.parametrize("share", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("jobs", [1, 3])
def test_products_are_those_of_scipy(share: float, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "DENSE_SHARE", share)
    documents, weights = make_matrices()
    found = SparseWeights(weights).multiply(documents, jobs)
    np.testing.assert_allclose(found, documents.toarray() @ weights.toarray().astype(float), rtol=1e-12)
    assert np.array_equal(found, SparseWeights(weights).multiply(documents.tocsc(), 1))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("width", [1, 7, 23, 100])
def test_blocks_of_categories_have_the_scores_of_all(dense: bool, width: int) -> None:
    documents, weights = make_matrices()
    model = LinearModel(weights.toarray().astype(float) if dense else weights, np.arange(23.0))
    parts = [model.select_categories(first, first + width) for first in range(0, 23, width)]
    blocks = [part.scores_in_threads(documents, 2) for part in parts]
    assert np.array_equal(np.hstack(blocks), model.scores(documents))
    part = model.select_categories(3, 9)
    assert np.array_equal(part.scores(documents), model.scores(documents)[:, 3:9])
