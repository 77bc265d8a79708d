"""Products of packed matrices: against double precision, for every width and every number of rows left over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from textcat.learners import gpd_kernels
from textcat.learners.gpd_kernels import PackedMatrix


@pytest.mark.parametrize("columns", [16, 32, 48, 64, 80, 96])
@pytest.mark.parametrize(("rows", "depth"), [(1, 1), (8, 5), (23, 40), (64, 3)])
def test_product_is_that_of_double_precision(columns: int, rows: int, depth: int) -> None:
    rng = np.random.default_rng(rows)
    matrix, thin = (
        rng.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns))
    )
    out = np.full((rows + 1, columns), 7, dtype=np.float32)
    PackedMatrix(matrix).multiply(thin, out[:rows])
    assert out[:rows] == pytest.approx(matrix.astype(float) @ thin.astype(float), abs=1e-5)
    assert (out[rows] == 7).all()


def test_depth_is_divided_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    depth = 2 * gpd_kernels.DEPTH + 19
    matrix, thin = (rng.standard_normal(shape).astype(np.float32) for shape in ((11, depth), (depth, 48)))
    out = np.empty((11, 48), dtype=np.float32)
    PackedMatrix(matrix).multiply(thin, out)
    assert out == pytest.approx(matrix.astype(float) @ thin.astype(float), abs=2e-3)
    PackedMatrix(np.asfortranarray(matrix)).multiply(thin, again := np.empty_like(out))
    assert np.array_equal(out, again)


@pytest.mark.parametrize("rows", [1, 8, 9, 40, 43])
def test_two_threads_give_the_same_bits(rows: int) -> None:
    rng = np.random.default_rng(rows)
    matrix, thin = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, 30), (30, 64)))
    alone, shared = np.empty((2, rows, 64), dtype=np.float32)
    PackedMatrix(matrix).multiply(thin, alone)
    with ThreadPoolExecutor(1) as team:
        PackedMatrix(matrix).multiply(thin, shared, team)
    assert np.array_equal(alone, shared)
