from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from textcat.compile import compile_kernel
from textcat.linear.lane_math import LIMIT_DOUBLE, LIMIT_SINGLE, exponential
from textcat.linear.simd import WIDTH, load, store


@compile_kernel
def exponentials(x: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = exponential(x[i])


@compile_kernel
def sixteen_exponentials(x: Any, out: Any) -> None:
    for row in range(x.shape[0] // WIDTH):
        store(out, row, exponential(load(x, row)))


@pytest.mark.parametrize(
    ("dtype", "limit", "ulps"), [(np.float32, LIMIT_SINGLE, 2), (np.float64, LIMIT_DOUBLE, 2)]
)
@pytest.mark.parametrize("kernel", [exponentials, sixteen_exponentials])
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


@pytest.mark.parametrize("kernel", [exponentials, sixteen_exponentials])
@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, LIMIT_SINGLE), (np.float64, LIMIT_DOUBLE)])
def test_beyond_its_limits_it_stays_finite_and_above_zero(kernel: Any, dtype: Any, limit: float) -> None:
    x = np.array([1e6, -1e6, np.inf, -np.inf] * 4, dtype=dtype)
    out = np.empty_like(x)
    kernel(x, out)
    assert np.isfinite(out).all()
    assert (out > 0).all()
    np.testing.assert_allclose(out[:2], np.exp([limit, -limit]), rtol=1e-5)


def test_it_is_for_kernels_only() -> None:
    with pytest.raises(NotImplementedError, match="only compiled kernels"):
        exponential(1.0)
