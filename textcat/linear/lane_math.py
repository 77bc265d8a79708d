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


def exponential_pair(x: Any, y: Any) -> Any:
    """Return exp(x) and exp(y) of twice sixteen lanes, a sixth faster together; for kernels only.

    Bits are those of `exponential` for single lanes.
    """
    raise NotImplementedError(f"{x!r}: only compiled kernels can call this")


def _make_exponential_pair(limit: float, coefficients: tuple[float, ...]) -> Callable[..., Any]:
    def compute_pair(x: Any, y: Any) -> Any:
        low, high, half = splat(x, -limit), splat(x, limit), splat(x, 0.5)
        x = choose_less(low, x, choose_less(x, high, x, high), low)
        y = choose_less(low, y, choose_less(y, high, y, high), low)
        k = round_down(x * splat(x, LOG2_E) + half)
        m = round_down(y * splat(x, LOG2_E) + half)
        r, s = _reduce_argument(x, k), _reduce_argument(y, m)
        p = q = splat(x, coefficients[0])
        for coefficient in coefficients[1:]:
            p = fused_multiply_add(p, r, splat(x, coefficient))
            q = fused_multiply_add(q, s, splat(x, coefficient))
        return p * power_of_two(k), q * power_of_two(m)

    return compute_pair


def _list_coefficients(degree: int) -> tuple[float, ...]:
    return tuple(1.0 / math.factorial(k) for k in range(degree, -1, -1))


_SINGLE, _DOUBLE = (LIMIT_SINGLE, _list_coefficients(7)), (LIMIT_DOUBLE, _list_coefficients(13))
_LANES_SINGLE, _LANES_DOUBLE = _make_lane_exponential(*_SINGLE), _make_lane_exponential(*_DOUBLE)
_PAIR_SINGLE, _PAIR_DOUBLE = _make_exponential_pair(*_SINGLE), _make_exponential_pair(*_DOUBLE)


@overload(exponential_pair)
def _choose_exponential_pair(x: Any, y: Any) -> Any:
    if isinstance(x, Lanes):
        return _PAIR_SINGLE if x.dtype == types.float32 else _PAIR_DOUBLE
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
