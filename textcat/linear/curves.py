"""Slope and curvature of any smooth loss, and of any smooth penalty: compiled for those of this room, by its derivative
and differences of it for one from elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from textcat.linear import gradient_kernels as kernels
from textcat.linear.losses import Loss
from textcat.linear.problem import Floats

LOSS_CODES = {
    "squared": kernels.SQUARED,
    "squared_hinge": kernels.SQUARED_HINGE,
    "logistic": kernels.LOGISTIC,
    "modified_logistic": kernels.LOGISTIC,
}
# Between the rounding of the derivative, large for small steps, and its bending, large for large ones.
STEP = 1e-5


def slopes_of(loss: Loss, state: Floats, weights: Floats, signs: Floats) -> Floats:
    """c_i f'(r_i) y_i of each document and lane; the state is w.x - m y."""
    if loss.name not in LOSS_CODES:
        return np.asarray(weights * loss.derivative(signs * state + loss.target) * signs)
    out = np.empty(state.shape)
    kernels.slopes(state, weights, signs, LOSS_CODES[loss.name], loss.gamma, out)
    return out


def along(
    loss: Loss, state: Floats, ray: Floats, weights: Floats, signs: Floats, reach: Floats
) -> tuple[Floats, Floats]:
    """First and second derivative of sum_i c_i f at state + reach * ray, in each lane."""
    slope, bend = np.empty(reach.shape), np.empty(reach.shape)
    if loss.name in LOSS_CODES:
        kernels.along(state, ray, weights, signs, LOSS_CODES[loss.name], loss.gamma, reach, slope, bend)
        return slope, bend
    margins = signs * (state + reach * ray) + loss.target
    slope = (weights * ray * signs * loss.derivative(margins)).sum(axis=0)
    bend = (weights * ray * ray * second_derivative(loss.derivative, margins)).sum(axis=0)
    return slope, bend


def second_derivative(derivative: Callable[[Floats], Floats], where: Floats) -> Floats:
    """By central differences of the first; never below 0, as losses and penalties are convex."""
    step = STEP * (1.0 + np.abs(where))
    return np.maximum((derivative(where + step) - derivative(where - step)) / (2 * step), 0.0)
