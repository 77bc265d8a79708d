"""Losses of the fast algorithm: value, dual variable and conjugate as functions of the margin y_i w'x_i, C included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from textcat.compile import compile_kernel
from textcat.linear.lane_math import exponential, lane_softplus
from textcat.linear.simd import (
    WIDTH,
    fused_multiply_add,
    lane_maximum,
    load,
    narrow,
    splat,
    store,
    widen,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LaneLoss:
    """A loss C l(z), its dual variable -C l'(z), and minus its conjugate as a function of the dual variable."""

    name: str
    value: Callable[[Array, Array], Array]
    dual_variable: Callable[[Array, Array], Array]
    dual_value: Callable[[Array, Array], Array]


@compile_kernel
def _softplus(x: Any, out: Any) -> None:
    for row in range(len(x) // WIDTH):
        store(out, row, lane_softplus(load(x, row)))


# The losses as numbers, for kernels.
_LOGISTIC, _HINGE, _SQUARED_HINGE = 0, 1, 2
LOSS_NUMBERS = {"logistic": _LOGISTIC, "hinge": _HINGE, "squared_hinge": _SQUARED_HINGE}


@compile_kernel
def measure_duals(
    loss: int,
    points: Any,
    alpha: Any,
    signs: Any,
    importance: Any,
    limits: Any,
    rounded: bool,
    steps: Any,
    values: Any,
) -> None:
    """Write signed dual variables into `steps`, and their terms of the dual objective, summed by lane, into `values`.

    For the logistic loss they are C sigma(-u), u in `points`; if `rounded`, `alpha` gets them, and `steps` are
    those in its precision.
    """
    one = splat(limits, 1.0)
    zero = splat(limits, 0.0)
    quarter = splat(limits, 0.25)
    limit = load(limits, 0)
    total = zero
    for i in range(len(signs)):
        bound = limit * splat(limits, importance[i])
        if loss == _LOGISTIC:
            u = widen(load(points, i))
            a = bound / (one + exponential(u))
            total = total + fused_multiply_add(u, a, bound * lane_softplus(zero - u))
            if rounded:
                store(alpha, i, narrow(a, alpha))
                a = widen(load(alpha, i))
        else:
            a = widen(load(alpha, i))
            total = total + a
            if loss == _SQUARED_HINGE:
                total = total - quarter * a * a / bound
        store(steps, i, widen(load(signs, i)) * a)
    store(values, 0, total)


@compile_kernel
def measure_losses(loss: int, margins: Any, signs: Any, importance: Any, limits: Any, values: Any) -> None:
    """Multiply the products x_i'w in `margins` by the signs; write the losses, summed by lane, into `values`."""
    one = splat(limits, 1.0)
    zero = splat(limits, 0.0)
    limit = load(limits, 0)
    total = zero
    for i in range(len(signs)):
        bound = limit * splat(limits, importance[i])
        margin = widen(load(signs, i)) * widen(load(margins, i))
        store(margins, i, narrow(margin, margins))
        if loss == _LOGISTIC:
            value = lane_softplus(zero - margin)
        else:
            value = lane_maximum(zero, one - margin)
            if loss == _SQUARED_HINGE:
                value = value * value
        total = fused_multiply_add(bound, value, total)
    store(values, 0, total)


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x)) without overflow."""
    padded = np.zeros(-(-x.size // WIDTH) * WIDTH)
    padded[: x.size] = x.ravel()
    out = np.empty_like(padded)
    _softplus(padded, out)
    return out[: x.size].reshape(x.shape)


def _entropy(a: Array, C: Array) -> Array:
    """Return C log C - a log a - (C - a) log(C - a), zero at both ends."""
    p = np.clip(a / C, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p), 0.0) + np.where(p < 1, (1 - p) * np.log1p(-p), 0.0)
    return np.asarray(-C * terms)


LANE_LOSSES = {
    loss.name: loss
    for loss in (
        LaneLoss("logistic", lambda z, C: C * softplus(-z), lambda z, C: C * expit(-z), _entropy),
        LaneLoss(
            "hinge",
            lambda z, C: C * np.maximum(0.0, 1 - z),
            lambda z, C: np.where(z < 1, C, 0.0),
            lambda a, C: a,
        ),
        LaneLoss(
            "squared_hinge",
            lambda z, C: C * np.maximum(0.0, 1 - z) ** 2,
            lambda z, C: 2 * C * np.maximum(0.0, 1 - z),
            lambda a, C: a - a * a / (4 * C),
        ),
    )
}
