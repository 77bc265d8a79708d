"""Latent axes against a dense singular value decomposition and scikit-learn's randomized one."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from textcat.errors import BadDataError, UsageError
from textcat.learners.lsi import LatentAxes, learn_axes


def sparse_documents(documents: int, terms: int, seed: int, density: float = 0.3) -> scipy.sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    dense = rng.random((documents, terms)) * (rng.random((documents, terms)) < density)
    dense[0, 0] = 1.0
    return scipy.sparse.csr_matrix(dense)


@given(documents=st.integers(2, 25), terms=st.integers(2, 25), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_full_rank_keeps_every_inner_product(documents: int, terms: int, seed: int) -> None:
    matrix = sparse_documents(documents, terms, seed)
    found = learn_axes(matrix, length=None)
    placed = found.transform(matrix).astype(float)
    assert found.dimensions == np.linalg.matrix_rank(matrix.toarray(), tol=1e-6 * found.singular_values[0])
    assert np.allclose(placed @ placed.T, (matrix @ matrix.T).toarray(), atol=1e-5)
    assert np.allclose(found.axes.T @ found.axes, np.eye(found.dimensions), atol=1e-6)


@pytest.mark.parametrize("solver", ["gram", "lanczos"])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
@pytest.mark.parametrize("dimensions", [1, 5, 30])
def test_truncation_is_the_best_approximation(solver: str, shape: tuple[int, int], dimensions: int) -> None:
    matrix = sparse_documents(*shape, seed=3)
    found = learn_axes(matrix, dimensions, length=None, solver=solver)  # type: ignore[arg-type]
    left, values, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
    best = left[:, :dimensions] * values[:dimensions] @ right[:dimensions]
    assert np.allclose(found.singular_values, values[:dimensions])
    assert np.allclose(found.transform(matrix) @ found.axes.T, best, atol=1e-5)


def test_agrees_with_the_randomized_decomposition_of_scikit_learn() -> None:
    from sklearn.utils.extmath import randomized_svd

    matrix = sparse_documents(120, 300, seed=5, density=0.05)
    found = learn_axes(matrix, 10, length=None)
    _, values, right = randomized_svd(matrix, 10, n_iter=30, random_state=0)
    assert np.allclose(found.singular_values, values, rtol=1e-6)
    assert np.allclose(np.abs(np.sum(found.axes * right.T, axis=0)), 1.0, atol=1e-4)


def test_axis_projection_whitens_the_training_documents() -> None:
    matrix = sparse_documents(50, 30, seed=1)
    found = learn_axes(matrix, 12, projection="axis", length=None)
    placed = found.transform(matrix).astype(float)
    assert np.allclose(placed.T @ placed, np.eye(12), atol=1e-5)


def test_a_length_leaves_an_empty_document_at_the_origin() -> None:
    matrix = sparse_documents(20, 15, seed=2)
    found = learn_axes(matrix, 4, length=2.5)
    empty = scipy.sparse.csr_matrix((1, 15))
    assert np.all(found.transform(empty) == 0)
    lengths = np.linalg.norm(found.transform(matrix), axis=1)
    assert np.all(np.isclose(lengths, 2.5, atol=1e-5) | (lengths == 0))


@pytest.mark.parametrize("solver", ["gram", "lanczos"])
def test_same_seed_same_axes_and_the_strongest_term_is_positive(solver: str) -> None:
    matrix = sparse_documents(40, 30, seed=9)
    first = learn_axes(matrix, 5, solver=solver)  # type: ignore[arg-type]
    second = learn_axes(matrix, 5, solver=solver)  # type: ignore[arg-type]
    assert np.array_equal(first.axes, second.axes)
    strongest = np.argmax(np.abs(first.axes), axis=0)
    assert np.all(first.axes[strongest, np.arange(5)] > 0)


def test_axes_are_rebuilt_from_arrays_and_description() -> None:
    matrix = sparse_documents(30, 20, seed=4)
    found = learn_axes(matrix, 5, projection="axis")
    again = LatentAxes.from_arrays(found.to_arrays(), json.loads(json.dumps(found.describe())))
    assert np.array_equal(again.transform(matrix), found.transform(matrix))


def test_wrong_documents_and_settings_are_refused() -> None:
    matrix = sparse_documents(30, 20, seed=4)
    with pytest.raises(BadDataError, match="no term"):
        learn_axes(scipy.sparse.csr_matrix((4, 3)))
    with pytest.raises(UsageError, match="needs `dimensions`"):
        learn_axes(matrix, solver="lanczos")
    with pytest.raises(UsageError, match="dimensions"):
        learn_axes(matrix, 0)
    with pytest.raises(UsageError, match="length"):
        learn_axes(matrix, 3, length=-1.0)
    with pytest.raises(UsageError, match="tolerance"):
        learn_axes(matrix, 3, tolerance=2.0)
    with pytest.raises(BadDataError, match="terms"):
        learn_axes(matrix, 3).transform(scipy.sparse.csr_matrix((2, 5)))
