from __future__ import annotations

from typing import Any

import numpy as np

from tests.loops import for_each
from textcat.compile import compile_kernel
from textcat.linear.lane_math import (
    LIMIT_DOUBLE,
    LIMIT_SINGLE,
    exponential,
    exponential_pair,
    exponentials_of_four,
)
from textcat.linear.simd import WIDTH, load, store


@compile_kernel
def exponentials(x: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = exponential(x[i])


@compile_kernel
def sixteen_exponentials(x: Any, out: Any) -> None:
    for row in range(x.shape[0] // WIDTH):
        store(out, row, exponential(load(x, row)))


@compile_kernel
def exponentials_of_pairs(x: Any, out: Any) -> None:
    for row in range(0, x.shape[0] // WIDTH, 2):
        p, q = exponential_pair(load(x, row), load(x, row + 1))
        store(out, row, p)
        store(out, row + 1, q)


@compile_kernel
def exponentials_of_fours(x: Any, out: Any) -> None:
    for row in range(0, x.shape[0] // WIDTH, 4):
        p, q, r, s = exponentials_of_four(load(x, row), load(x, row + 1), load(x, row + 2), load(x, row + 3))
        store(out, row, p)
        store(out, row + 1, q)
        store(out, row + 2, r)
        store(out, row + 3, s)


@for_each("kernel", [exponentials_of_pairs, exponentials_of_fours])
@for_each(("dtype", "limit"), [(np.float32, LIMIT_SINGLE), (np.float64, LIMIT_DOUBLE)])
def test_exponentials_of_several_vectors_are_exact_and_have_the_same_bits(
    kernel: Any, dtype: Any, limit: float
) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-1.1 * limit, 1.1 * limit, 64_000), rng.normal(size=64_000)])
    x = x.astype(dtype)
    out, shifted = np.empty_like(x), np.empty_like(x)
    kernel(x, out)
    exact = np.exp(np.clip(x, -limit, limit).astype(np.longdouble))
    assert np.abs(out / exact - 1).max() <= 2 * np.finfo(dtype).eps
    kernel(np.roll(x, WIDTH), shifted)
    assert np.array_equal(np.roll(shifted, -WIDTH), out)


@for_each(("dtype", "limit", "ulps"), [(np.float32, LIMIT_SINGLE, 2), (np.float64, LIMIT_DOUBLE, 2)])
@for_each("kernel", [exponentials, sixteen_exponentials])
def test_exponential_is_exact_to_the_last_bits(kernel: Any, dtype: Any, limit: float, ulps: int) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.uniform(-limit, limit, 100_000),
            rng.normal(size=100_000),
            np.repeat([0.0, limit, -limit, 1.0], 16),
        ]
    )
    x = x.astype(dtype)
    out = np.empty_like(x)
    kernel(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(out / exact - 1).max() <= ulps * np.finfo(dtype).eps
    assert out[200_000] == 1


@for_each("kernel", [exponentials, sixteen_exponentials])
@for_each(("dtype", "limit"), [(np.float32, LIMIT_SINGLE), (np.float64, LIMIT_DOUBLE)])
def test_beyond_its_limits_it_stays_finite_and_above_zero(kernel: Any, dtype: Any, limit: float) -> None:
    x = np.array([1e6, -1e6, np.inf, -np.inf] * 4, dtype=dtype)
    out = np.empty_like(x)
    kernel(x, out)
    assert np.isfinite(out).all()
    assert (out > 0).all()
    np.testing.assert_allclose(out[:2], np.exp([limit, -limit]), rtol=1e-5)
