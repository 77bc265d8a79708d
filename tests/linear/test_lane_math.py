from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from textcat.linear.compile import compiled
from textcat.linear.lane_math import LIMIT_DOUBLE, LIMIT_SINGLE, exponential


@compiled
def exponentials(x: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = exponential(x[i])


@pytest.mark.parametrize(
    ("dtype", "limit", "ulps"), [(np.float32, LIMIT_SINGLE, 2), (np.float64, LIMIT_DOUBLE, 2)]
)
def test_exponential_is_exact_to_the_last_bits(dtype: Any, limit: float, ulps: int) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-limit, limit, 100_000), rng.normal(size=100_000), [0.0, limit, -limit]])
    x = x.astype(dtype)
    out = np.empty_like(x)
    exponentials(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(out / exact - 1).max() <= ulps * np.finfo(dtype).eps
    assert out[200_000] == 1


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, LIMIT_SINGLE), (np.float64, LIMIT_DOUBLE)])
def test_beyond_its_limits_it_stays_finite_and_above_zero(dtype: Any, limit: float) -> None:
    x = np.array([1e6, -1e6, np.inf, -np.inf], dtype=dtype)
    out = np.empty_like(x)
    exponentials(x, out)
    assert np.isfinite(out).all()
    assert (out > 0).all()
    np.testing.assert_allclose(out[:2], np.exp([limit, -limit]), rtol=1e-5)


def test_it_is_for_kernels_only() -> None:
    with pytest.raises(NotImplementedError, match="only compiled kernels"):
        exponential(1.0)
