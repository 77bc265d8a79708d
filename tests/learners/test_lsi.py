"""Latent axes against a dense singular value decomposition and scikit-learn's randomized one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from textcat.errors import BadDataError, UsageError
from textcat.experiment.spec.experiment import ProjectionSettings
from textcat.experiment.steps.features import scale_projection
from textcat.learners.lsi import learn_axes


def sparse_documents(documents: int, terms: int, seed: int, density: float = 0.3) -> scipy.sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    dense = rng.random((documents, terms)) * (rng.random((documents, terms)) < density)
    dense[0, 0] = 1.0
    return scipy.sparse.csr_matrix(dense)


@given(documents=st.integers(2, 25), terms=st.integers(2, 25), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_full_rank_keeps_every_inner_product(documents: int, terms: int, seed: int) -> None:
    matrix = sparse_documents(documents, terms, seed)
    found = learn_axes(matrix)
    placed = found.transform(matrix).astype(float)
    assert found.singular_values.size == np.linalg.matrix_rank(
        matrix.toarray(), tol=1e-6 * found.singular_values[0]
    )
    assert np.allclose(placed @ placed.T, (matrix @ matrix.T).toarray(), atol=1e-5)
    assert np.allclose(found.axes.T @ found.axes, np.eye(found.singular_values.size), atol=1e-6)


@pytest.mark.parametrize("solver", ["gram", "lanczos"])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
@pytest.mark.parametrize("dimensions", [1, 5, 30])
def test_truncation_is_the_best_approximation(solver: str, shape: tuple[int, int], dimensions: int) -> None:
    matrix = sparse_documents(*shape, seed=3)
    found = learn_axes(matrix, dimensions, solver=solver)  # type: ignore[arg-type]
    left, values, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
    best = left[:, :dimensions] * values[:dimensions] @ right[:dimensions]
    assert np.allclose(found.singular_values, values[:dimensions])
    assert np.allclose(found.transform(matrix) @ found.axes.T, best, atol=1e-5)


def test_agrees_with_the_randomized_decomposition_of_scikit_learn() -> None:
    from sklearn.utils.extmath import randomized_svd

    matrix = sparse_documents(120, 300, seed=5, density=0.05)
    found = learn_axes(matrix, 10)
    _, values, right = randomized_svd(matrix, 10, n_iter=30, random_state=0)
    assert np.allclose(found.singular_values, values, rtol=1e-6)
    assert np.allclose(np.abs(np.sum(found.axes * right.T, axis=0)), 1.0, atol=1e-4)


@pytest.mark.parametrize("solver", ["gram", "lanczos"])
def test_same_seed_same_axes_and_the_strongest_term_is_positive(solver: str) -> None:
    matrix = sparse_documents(40, 30, seed=9)
    first = learn_axes(matrix, 5, solver=solver)  # type: ignore[arg-type]
    second = learn_axes(matrix, 5, solver=solver)  # type: ignore[arg-type]
    assert np.array_equal(first.axes, second.axes)
    strongest = np.argmax(np.abs(first.axes), axis=0)
    assert np.all(first.axes[strongest, np.arange(5)] > 0)


def test_wrong_documents_and_settings_are_refused() -> None:
    matrix = sparse_documents(30, 20, seed=4)
    with pytest.raises(BadDataError, match="no term"):
        learn_axes(scipy.sparse.csr_matrix((4, 3)))
    with pytest.raises(UsageError, match="needs `dimensions`"):
        learn_axes(matrix, solver="lanczos")
    with pytest.raises(UsageError, match="dimensions"):
        learn_axes(matrix, 0)
    with pytest.raises(UsageError, match="tolerance"):
        learn_axes(matrix, 3, tolerance=2.0)
    with pytest.raises(BadDataError, match="terms"):
        learn_axes(matrix, 3).transform(scipy.sparse.csr_matrix((2, 5)))


@given(documents=st.integers(2, 12), terms=st.integers(2, 12), seed=st.integers(0, 999), data=st.data())
@settings(max_examples=40, deadline=None)
def test_fewer_axes_are_the_first_of_more(documents: int, terms: int, seed: int, data: st.DataObject) -> None:
    """Truncation at Q keeps the Q leading axes of the full decomposition, by falling singular values."""
    matrix = sparse_documents(documents, terms, seed)
    whole = learn_axes(matrix)
    kept = data.draw(st.integers(1, whole.singular_values.size))
    part = learn_axes(matrix, kept)
    assert (np.diff(whole.singular_values) <= 1e-9).all()
    assert part.singular_values.size == kept
    np.testing.assert_allclose(part.singular_values, whole.singular_values[:kept], atol=1e-8)
    gaps = np.abs(np.diff(whole.singular_values)) / whole.singular_values[0]
    if (gaps[:kept] > 1e-3).all():
        np.testing.assert_allclose(part.transform(matrix), whole.transform(matrix)[:, :kept], atol=1e-3)


@pytest.mark.parametrize("dimensions", [15, 16, None])
def test_lanczos_finds_fewer_axes_than_the_smaller_side(dimensions: int | None) -> None:
    matrix = sparse_documents(15, 30, seed=1)
    assert learn_axes(matrix, 14, solver="lanczos").singular_values.size == 14
    with pytest.raises(UsageError, match="below 15"):
        learn_axes(matrix, dimensions, solver="lanczos")


def test_axes_of_rounding_errors_are_dropped() -> None:
    """Documents that are copies of each other have one axis; `tolerance` drops small ones on request."""
    copies = scipy.sparse.csr_matrix(np.tile([[1.0, 2.0, 0.0]], (5, 1)))
    assert learn_axes(copies).singular_values.size == 1
    graded = scipy.sparse.csr_matrix(np.diag([1.0, 0.1, 0.01]))
    assert [learn_axes(graded, tolerance=t).singular_values.size for t in (0.0, 0.05, 0.5)] == [3, 2, 1]


@given(
    dimensions=st.sampled_from([1, 3, 12, "full"]),
    scaling=st.sampled_from(["none", "inverse"]),
    length=st.sampled_from([None, 1.0, 2.5]),
    seed=st.integers(0, 999),
)
@settings(max_examples=40, deadline=None)
def test_documents_are_scaled_by_the_printed_formula(
    dimensions: Any, scaling: Any, length: float | None, seed: int
) -> None:
    """U'x or S^-1 U'x on the leading axes, divided by its length; an empty document stays at the origin."""
    matrix = sparse_documents(20, 12, seed)
    matrix[3] = 0
    axes = learn_axes(matrix, seed=seed)
    chosen = ProjectionSettings(dimensions=dimensions, scaling=scaling, length=length)
    found = scale_projection(axes.transform(matrix), chosen, axes.singular_values)
    expected = (matrix @ axes.axes)[:, : found.shape[1]]
    if scaling == "inverse":
        expected = expected / axes.singular_values[: found.shape[1]]
    if length is not None:
        norms = np.linalg.norm(expected, axis=1, keepdims=True)
        expected = length * expected / np.where(norms > 0, norms, 1)
    assert found.dtype == np.float32
    rank = len(axes.singular_values)
    assert found.shape[1] == (rank if dimensions == "full" else min(dimensions, rank))
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert not found[3].any()
    if scaling == "inverse" and length is None:
        np.testing.assert_allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-3)
