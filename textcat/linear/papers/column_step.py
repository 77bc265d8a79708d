"""The step of one weight in a trust region, for a lane of categories: Gaussian, Laplace or no prior.

Slope and bend are sums over documents; `strength` is n lam_j, so that a Gaussian prior adds strength (w -
mode)^2 and a Laplace one strength |w - mode|. A radius of 0 marks a feature that the category did not
select.
"""

from __future__ import annotations

from typing import Any

from textcat.compile import compile_kernel

Array = Any

RULE_NONE, RULE_EPSILON, RULE_HALVING = 0, 1, 2


@compile_kernel
def take_gaussian_step(
    weight: Array, slope: Array, bend: Array, strength: Array, mode: Array, low: Array, high: Array,
    informed: bool,
    radius: Array, active: Array, move: Array,
) -> bool:  # fmt: skip
    """The clipped step of algorithms 1 to 4 of zhang_oles_2001 (equations 26, 27 of genkin_2004); did
    any lane move?"""
    moved = False
    for k in range(move.shape[0]):
        centre = weight[k] - mode[k] if informed else weight[k]
        curve = bend[k] + 2 * strength[k]
        step = -(slope[k] + 2 * strength[k] * centre) / curve if curve > 0 else 0.0
        step = min(max(step, -radius[k]), radius[k])
        if informed:
            step = min(max(weight[k] + step, low[k]), high[k]) - weight[k]
        step *= active[k]
        move[k] = step
        weight[k] += step
        moved |= step != 0
    return moved


@compile_kernel
def take_laplace_step(
    weight: Array, slope: Array, bend: Array, strength: Array, mode: Array, low: Array, high: Array,
    informed: bool,
    radius: Array, active: Array, move: Array,
) -> bool:  # fmt: skip
    """Algorithm 2 of genkin_2004: no step crosses the mode; at the mode both directions are tried."""
    moved = False
    for k in range(move.shape[0]):
        centre = weight[k] - mode[k] if informed else weight[k]
        up, down = slope[k] + strength[k], slope[k] - strength[k]
        if centre > 0:
            step = max(-up / bend[k], -centre) if bend[k] > 0 else -centre
        elif centre < 0:
            step = min(-down / bend[k], -centre) if bend[k] > 0 else -centre
        elif up < 0:
            step = -up / bend[k]
        elif down > 0:
            step = -down / bend[k]
        else:
            step = 0.0
        step = min(max(step, -radius[k]), radius[k])
        if informed:
            step = min(max(weight[k] + step, low[k]), high[k]) - weight[k]
        step *= active[k]
        move[k] = step
        weight[k] += step
        moved |= step != 0
    return moved


@compile_kernel
def resize_trust_region(radius: Array, move: Array, rule: int, epsilon: float) -> None:
    """The next trust region: 2 |dw| + epsilon (zhang_oles_2001) or max(2 |dw|, radius / 2) (equation 19
    of genkin_2004)."""
    if rule == RULE_NONE:
        return
    for k in range(move.shape[0]):
        if radius[k] > 0:
            size = 2 * abs(move[k])
            radius[k] = size + epsilon if rule == RULE_EPSILON else max(size, radius[k] / 2)
