"""Losses of the fast algorithm: value, dual variable and conjugate as functions of the margin y_i w'x_i, C included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.linear.lane_math import exponential, lane_softplus
from textcat.linear.simd import WIDTH, load, splat, store

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


@compile_kernel
def _sigmoid(x: Any, out: Any) -> None:
    one = splat(x, 1.0)
    for row in range(len(x) // WIDTH):
        store(out, row, one / (one + exponential(splat(x, 0.0) - load(x, row))))


def _apply_in_lanes(kernel: Callable[[Array, Array], None], x: Array) -> Array:
    """Apply a kernel to all numbers of an array, sixteen at a time."""
    padded = np.zeros(-(-x.size // WIDTH) * WIDTH)
    padded[: x.size] = x.ravel()
    out = np.empty_like(padded)
    kernel(padded, out)
    return out[: x.size].reshape(x.shape)


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x)) without overflow."""
    return _apply_in_lanes(_softplus, x)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return _apply_in_lanes(_sigmoid, x)


def _entropy(a: Array, C: Array) -> Array:
    """Return C log C - a log a - (C - a) log(C - a), zero at both ends."""
    p = np.clip(a / C, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p), 0.0) + np.where(p < 1, (1 - p) * np.log1p(-p), 0.0)
    return np.asarray(-C * terms)


LANE_LOSSES = {
    loss.name: loss
    for loss in (
        LaneLoss("logistic", lambda z, C: C * softplus(-z), lambda z, C: C * sigmoid(-z), _entropy),
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
