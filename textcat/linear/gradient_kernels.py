"""Slope and curvature of smooth losses along a ray, and the slope at a point, for a block of categories
in lanes."""

from __future__ import annotations

from typing import Any

from textcat.compile import compiled
from textcat.linear.lane_math import exponential

Array = Any

SQUARED, SQUARED_HINGE, LOGISTIC = 0, 1, 2


@compiled
def along(
    state: Array, ray: Array, weights: Array, signs: Array, loss: int, sharpness: float, reach: Array,
    slope: Array,
    bend: Array,
) -> None:  # fmt: skip
    """First and second derivative of sum_i c_i f at state + reach * ray, in each lane (state is w.x - m
    y)."""
    for k in range(slope.shape[0]):
        slope[k] = 0.0
        bend[k] = 0.0
    for i in range(state.shape[0]):
        if loss == LOGISTIC:
            for k in range(slope.shape[0]):
                z = sharpness * signs[i, k] * (state[i, k] + reach[k] * ray[i, k])
                a = 1.0 / (1.0 + exponential(z))
                pull = weights[i, k] * ray[i, k]
                slope[k] -= pull * signs[i, k] * a
                bend[k] += pull * ray[i, k] * (sharpness * (a * (1.0 - a)))
        else:
            for k in range(slope.shape[0]):
                e = state[i, k] + reach[k] * ray[i, k]
                pull = 2.0 * weights[i, k] * ray[i, k]
                counts = 1.0 if loss == SQUARED or signs[i, k] * e < 0 else 0.0
                slope[k] += pull * e * counts
                bend[k] += pull * ray[i, k] * counts


@compiled
def slopes(state: Array, weights: Array, signs: Array, loss: int, sharpness: float, out: Array) -> None:
    """c_i f'(r_i) y_i of each document and lane."""
    for i in range(state.shape[0]):
        if loss == LOGISTIC:
            for k in range(state.shape[1]):
                y = signs[i, k]
                out[i, k] = -weights[i, k] * y / (1.0 + exponential(sharpness * y * state[i, k]))
        else:
            for k in range(state.shape[1]):
                e = state[i, k]
                counts = 2.0 if loss == SQUARED or signs[i, k] * e < 0 else 0.0
                out[i, k] = weights[i, k] * e * counts
