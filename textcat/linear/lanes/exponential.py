"""exp and log(1 + exp) in sixteen lanes at once: argument reduction to |r| <= ln(2)/2 and a Taylor polynomial
by Horner's
rule.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from textcat.linear.lanes.compile import compiled
from textcat.linear.lanes.vector import Lanes, fused, larger, magnitude, nearest, power_of_two, smaller, splat

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125
_LN2_LOW = 1.42860682030941723212e-6


def exponential(x: Any) -> Any:
    """exp(x) in each lane; the argument is clipped so that the result is a normal number."""
    raise NotImplementedError("only inside compiled kernels")


@overload(exponential)
def _exponential(x: Any) -> Any:
    if not isinstance(x, Lanes):
        return None
    return _exponential32 if x.dtype.bitwidth == 32 else _exponential64


@compiled
def _reduced(x: Any, k: Any) -> Any:
    return fused(k, splat(x, -_LN2_LOW), fused(k, splat(x, -_LN2_HIGH), x))


def _exponential32(x: Any) -> Any:
    bounded = larger(splat(x, -87.0), smaller(splat(x, 87.0), x))
    k = nearest(bounded * splat(x, _LOG2E))
    r = _reduced(bounded, k)
    p = splat(x, 1.0 / 720.0)
    p = fused(p, r, splat(x, 1.0 / 120.0))
    p = fused(p, r, splat(x, 1.0 / 24.0))
    p = fused(p, r, splat(x, 1.0 / 6.0))
    p = fused(p, r, splat(x, 0.5))
    p = fused(p, r, splat(x, 1.0))
    p = fused(p, r, splat(x, 1.0))
    return p * power_of_two(k)


def _exponential64(x: Any) -> Any:
    bounded = larger(splat(x, -700.0), smaller(splat(x, 700.0), x))
    k = nearest(bounded * splat(x, _LOG2E))
    r = _reduced(bounded, k)
    p = splat(x, 1.0 / 6227020800.0)
    p = fused(p, r, splat(x, 1.0 / 479001600.0))
    p = fused(p, r, splat(x, 1.0 / 39916800.0))
    p = fused(p, r, splat(x, 1.0 / 3628800.0))
    p = fused(p, r, splat(x, 1.0 / 362880.0))
    p = fused(p, r, splat(x, 1.0 / 40320.0))
    p = fused(p, r, splat(x, 1.0 / 5040.0))
    p = fused(p, r, splat(x, 1.0 / 720.0))
    p = fused(p, r, splat(x, 1.0 / 120.0))
    p = fused(p, r, splat(x, 1.0 / 24.0))
    p = fused(p, r, splat(x, 1.0 / 6.0))
    p = fused(p, r, splat(x, 0.5))
    p = fused(p, r, splat(x, 1.0))
    p = fused(p, r, splat(x, 1.0))
    return p * power_of_two(k)


@compiled
def soft_plus(x: Any) -> Any:
    """log(1 + exp(x)) in each lane, in float64: max(x, 0) + 2 artanh(e / (2 + e)) with e = exp(-|x|)."""
    e = exponential(splat(x, 0.0) - magnitude(x))
    s = e / (splat(x, 2.0) + e)
    square = s * s
    series = splat(x, 1.0 / 33.0)
    for k in range(15, -1, -1):
        series = fused(series, square, splat(x, 1.0 / (2 * k + 1)))
    return larger(x, splat(x, 0.0)) + (s + s) * series
