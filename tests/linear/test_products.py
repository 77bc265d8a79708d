"""Products, conversions and pieces of sparse matrices against scipy, in memory and mapped from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.linear import mapped_arrays as mapped
from textcat.linear.mapped_arrays import (
    append_constant,
    convert_to_columns,
    select_rows,
    split_into_pieces,
    split_rows,
)
from textcat.linear.products import (
    SparseWeights,
    multiply_matrix,
    multiply_transposed,
    multiply_transposed_by_rows,
)
from textcat.store.arrays import read_matrix, write_matrix


def draw(seed: int, rows: int, columns: int, density: float = 0.3) -> sp.csr_matrix:
    """A sparse matrix with empty rows and columns."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < density)
    dense[rng.random(rows) < 0.2] = 0.0
    return sp.csr_matrix(dense)


shapes = st.tuples(st.integers(0, 999), st.integers(1, 40), st.integers(1, 20), st.integers(1, 9))


@given(shapes, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_products_are_those_of_scipy_for_any_width_and_number_of_jobs(shape: Any, jobs: int) -> None:
    """One to four categories have a kernel of their own; the number of jobs changes no bit."""
    seed, rows, columns, width = shape
    X, rng = draw(seed, rows, columns), np.random.default_rng(seed)
    W, V = rng.normal(size=(columns, width)), rng.normal(size=(rows, width))
    forward, backward = multiply_matrix(X, W, jobs), multiply_transposed(X.tocsc(), V, jobs)
    np.testing.assert_allclose(forward, X @ W, atol=1e-12)
    np.testing.assert_allclose(backward, X.T @ V, atol=1e-12)
    np.testing.assert_allclose(multiply_transposed_by_rows(X, V), X.T @ V, atol=1e-12)
    assert np.array_equal(forward, multiply_matrix(X, W))
    assert np.array_equal(backward, multiply_transposed(X.tocsc(), V))


@given(
    shapes,
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(["csr", "csc", "coo"]),
    st.sampled_from([0.05, 0.3, 1.0]),
    st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_sparse_times_sparse_is_a_dense_product(
    shape: Any, dtype: Any, form: str, density: float, jobs: int
) -> None:
    """Features with weights for few categories and for most of them are multiplied in two ways."""
    seed, rows, columns, width = shape
    X, W = draw(seed, rows, columns).astype(dtype).asformat(form), draw(seed + 1, columns, width, density)
    found = SparseWeights(W.tocsc()).multiply(X, jobs)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, (X.astype(np.float64) @ W).toarray(), atol=1e-6)
    assert np.array_equal(found, SparseWeights(W).multiply(X))


@given(shapes, st.sampled_from([1.0, -2.5]), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_a_constant_column_and_columns_are_made_piece_by_piece(shape: Any, value: float, piece: int) -> None:
    """Whatever the size of a piece, the results are those of scipy."""
    seed, rows, columns, _ = shape
    X = draw(seed, rows, columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "ENTRIES_PER_PIECE", piece)
        extended = append_constant(X, value)
        turned = convert_to_columns(X.indptr, X.indices, X.data, columns)
        slices = list(split_rows(X.indptr))
        pieces = list(split_into_pieces(X.nnz))
    assert np.array_equal(extended.toarray(), np.column_stack([X.toarray(), np.full(rows, value)]))
    assert extended.has_canonical_format
    expected = X.tocsc()
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(turned, part), getattr(expected, part))
    assert [row for part in slices for row in range(part.start, part.stop)] == list(range(rows))
    for part in slices:
        entries = X.indptr[part.stop] - X.indptr[part.start]
        assert entries <= piece or part.stop == part.start + 1
    assert [entry for part in pieces for entry in range(part.start, part.stop)] == list(range(X.nnz))
    assert all(part.stop - part.start <= piece for part in pieces)


@for_each("chosen", [[], [0], [5, 3, 3, 19], list(range(20))])
@for_each("form", ["csr", "csc", "dense", "mapped"])
def test_chosen_rows_are_those_of_the_matrix(chosen: list[int], form: str, tmp_path: Path) -> None:
    X = draw(3, 20, 7)
    given_: Any = X
    if form == "mapped":
        write_matrix(tmp_path, "X", sp.csr_array(X))
        given_ = read_matrix(tmp_path, "X", mapped=True)
    elif form == "dense":
        given_ = X.toarray()
    elif form == "csc":
        given_ = X.tocsc()
    found = select_rows(given_, np.array(chosen, dtype=np.int64))
    dense = found.toarray() if sp.issparse(found) else found
    assert np.array_equal(dense, X.toarray()[chosen])
