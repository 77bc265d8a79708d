"""The exponential and softplus in forms that compile to vector instructions.

They take one number in a loop over lanes, or sixteen numbers at once (`textcat.linear.simd`).

exp(x) = 2^k exp(r) with k the nearest integer to x / ln 2 and |r| <= ln 2 / 2. exp(r) is its series, to the
last bits of each precision; 2^k is made by writing k into the exponent. Arguments beyond the range of the
exponent are clipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from textcat.compile import compile_kernel, compile_part
from textcat.linear.simd import (
    Lanes,
    choose_less,
    fused_multiply_add,
    lane_absolute,
    lane_maximum,
    lane_minimum,
    power_of_two,
    round_down,
    round_to_nearest,
    splat,
)

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.4286068203094173e-06

# Arguments are clipped to these limits, so that exp(+-limit) is finite and normal.
LIMIT_SINGLE = 80.0
LIMIT_DOUBLE = 700.0


def exponential(x: Any) -> Any:
    """Return exp(x) for one lane or sixteen, with x clipped to the limits of its precision; for kernels only."""
    raise NotImplementedError(f"{x!r}: only compiled kernels can call this")


def _exponential_single(x: Any) -> Any:
    limit = np.float32(LIMIT_SINGLE)
    x = min(max(x, -limit), limit)
    k = np.floor(x * np.float32(LOG2_E) + np.float32(0.5))
    r = (x - k * np.float32(LN2_HIGH)) - k * np.float32(LN2_LOW)
    p = np.float32(1.0 / 5040)
    p = p * r + np.float32(1.0 / 720)
    p = p * r + np.float32(1.0 / 120)
    p = p * r + np.float32(1.0 / 24)
    p = p * r + np.float32(1.0 / 6)
    p = p * r + np.float32(0.5)
    p = p * r + np.float32(1.0)
    p = p * r + np.float32(1.0)
    return p * np.int32((np.int32(k) + 127) << 23).view(np.float32)


def _exponential_double(x: Any) -> Any:
    x = min(max(x, -LIMIT_DOUBLE), LIMIT_DOUBLE)
    k = np.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 6227020800
    p = p * r + 1.0 / 479001600
    p = p * r + 1.0 / 39916800
    p = p * r + 1.0 / 3628800
    p = p * r + 1.0 / 362880
    p = p * r + 1.0 / 40320
    p = p * r + 1.0 / 5040
    p = p * r + 1.0 / 720
    p = p * r + 1.0 / 120
    p = p * r + 1.0 / 24
    p = p * r + 1.0 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@compile_part
def _reduce_argument(x: Any, k: Any) -> Any:
    return fused_multiply_add(k, splat(x, -LN2_LOW), fused_multiply_add(k, splat(x, -LN2_HIGH), x))


def _make_lane_exponential(limit: float, coefficients: tuple[float, ...]) -> Callable[..., Any]:
    def compute_lanes(x: Any) -> Any:
        bounded = lane_maximum(splat(x, -limit), lane_minimum(splat(x, limit), x))
        k = round_to_nearest(bounded * splat(x, LOG2_E))
        r = _reduce_argument(bounded, k)
        p = splat(x, coefficients[0])
        for coefficient in coefficients[1:]:
            p = fused_multiply_add(p, r, splat(x, coefficient))
        return p * power_of_two(k)

    return compute_lanes


def exponentials_of_four(x: Any, y: Any, z: Any, w: Any) -> Any:
    """Return exp of four times sixteen lanes: four chains of operations overlap in the processor. For kernels only.

    Bits are those of `exponential` for single lanes.
    """
    raise NotImplementedError(f"{x!r}: only compiled kernels can call this")


@compile_part
def exponential_pair(x: Any, y: Any) -> Any:
    """Return exp(x) and exp(y) with the same bits; the compiler computes each only once."""
    p, q, _, _ = exponentials_of_four(x, y, x, y)
    return p, q


@compile_part
def _reduce_clipped(x: Any, limit: float) -> Any:
    """Return the remainder and the power of two of an argument within the limits."""
    low, high = splat(x, -limit), splat(x, limit)
    bounded = choose_less(low, x, choose_less(x, high, x, high), low)
    k = round_down(bounded * splat(x, LOG2_E) + splat(x, 0.5))
    return _reduce_argument(bounded, k), k


def _make_exponentials_of_four(limit: float, coefficients: tuple[float, ...]) -> Callable[..., Any]:
    def compute_four(x: Any, y: Any, z: Any, w: Any) -> Any:
        (a, k), (b, m), (c, n), (d, o) = (
            _reduce_clipped(x, limit),
            _reduce_clipped(y, limit),
            _reduce_clipped(z, limit),
            _reduce_clipped(w, limit),
        )
        p = q = r = s = splat(x, coefficients[0])
        for coefficient in coefficients[1:]:
            p = fused_multiply_add(p, a, splat(x, coefficient))
            q = fused_multiply_add(q, b, splat(x, coefficient))
            r = fused_multiply_add(r, c, splat(x, coefficient))
            s = fused_multiply_add(s, d, splat(x, coefficient))
        return p * power_of_two(k), q * power_of_two(m), r * power_of_two(n), s * power_of_two(o)

    return compute_four


def _list_coefficients(degree: int) -> tuple[float, ...]:
    return tuple(1.0 / math.factorial(k) for k in range(degree, -1, -1))


_SINGLE, _DOUBLE = (LIMIT_SINGLE, _list_coefficients(7)), (LIMIT_DOUBLE, _list_coefficients(13))
_LANES_SINGLE, _LANES_DOUBLE = _make_lane_exponential(*_SINGLE), _make_lane_exponential(*_DOUBLE)
_FOUR_SINGLE, _FOUR_DOUBLE = _make_exponentials_of_four(*_SINGLE), _make_exponentials_of_four(*_DOUBLE)


@overload(exponentials_of_four)
def _choose_exponentials_of_four(x: Any, y: Any, z: Any, w: Any) -> Any:
    if isinstance(x, Lanes):
        return _FOUR_SINGLE if x.dtype == types.float32 else _FOUR_DOUBLE
    return None


@overload(exponential)
def _choose_exponential(x: Any) -> Any:
    if isinstance(x, Lanes):
        return _LANES_SINGLE if x.dtype == types.float32 else _LANES_DOUBLE
    return _exponential_single if x == types.float32 else _exponential_double


@compile_kernel
def lane_softplus(x: Any) -> Any:
    """Return log(1 + exp(x)) in each lane, in float64: max(x, 0) + 2 artanh(e / (2 + e)), e = exp(-|x|)."""
    e = exponential(splat(x, 0.0) - lane_absolute(x))
    s = e / (splat(x, 2.0) + e)
    square = s * s
    series = splat(x, 1.0 / 33.0)
    for k in range(15, -1, -1):
        series = fused_multiply_add(series, square, splat(x, 1.0 / (2 * k + 1)))
    return lane_maximum(x, splat(x, 0.0)) + (s + s) * series
