"""Gaussian prior: all blocks up their duals until the certified gaps are small enough, in float32 first and
in float64 where needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.linear.fast.dual_ascent import Ascent, Certificate, Goal
from textcat.linear.fast.lane_losses import LOSSES, sigmoid
from textcat.linear.fast.layout import Block, Rows
from textcat.linear.fast.support_vectors import expected_visits, finish

Array = NDArray[np.float64]

# Relative gap below which float32 weights are not trusted to lead.
_SINGLE_FLOOR = 2e-6
# Losses whose dual variables are mostly zero at the optimum.
_SPARSE = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class Aim:
    """When to stop: relative gap `tol`, of the sum over categories or of each category; passes at most, a
    block.
    """

    tol: float
    each: bool
    max_passes: float

    def reached(self, certificates: Sequence[Certificate], sizes: Sequence[int]) -> bool:
        """Whether the certificates show the gap asked for."""
        gaps, objectives = _joined(certificates, sizes)
        if self.each:
            return bool(np.all(gaps <= self.tol * objectives))
        return bool(gaps.sum() <= self.tol * objectives.sum())

    def target(self, own: Array, average: float) -> float:
        """The gap a block may keep: for the sum, half in proportion to its objective, half an equal share."""
        if self.each:
            return self.tol * max(float(own.min()), 1e-12)
        return self.tol * 0.5 * (float(own.sum()) + average)

    def goal(self, own: Array, target: float) -> Goal:
        """The same for a block on its way; where each category counts, it may stop when every one has its gap."""
        return Goal(target, self.tol * np.maximum(own, 1e-12) if self.each else None)

    def goal_in_single(self, own: Array, target: float) -> Goal:
        """As far towards that as weights in float32 lead."""
        goal, floor = self.goal(own, target), _SINGLE_FLOOR * own
        return Goal(
            max(target, float(floor.sum())), None if goal.each is None else np.maximum(goal.each, floor)
        )


def _joined(certificates: Sequence[Certificate], sizes: Sequence[int]) -> tuple[Array, Array]:
    gaps = np.concatenate([c.gap[:size] for c, size in zip(certificates, sizes, strict=True)])
    values = np.concatenate([c.objective[:size] for c, size in zip(certificates, sizes, strict=True)])
    return gaps, values


def maximise(
    rows: Rows,
    blocks: list[Block],
    loss: str,
    aim: Aim,
    seeds: list[tuple[int, int]],
    margins: list[Array] | None = None,
) -> tuple[list[Ascent], list[Certificate]]:
    """Solve every block; `margins` (y_i w'x_i, documents x 16 a block) starts from known weights."""
    ascents = [
        Ascent(rows, block, LOSSES[loss], np.random.default_rng(seed))
        for seed, block in zip(seeds, blocks, strict=True)
    ]
    for number, ascent in enumerate(ascents):
        ascent.start_at(_constant_only(rows, ascent.block, loss) if margins is None else margins[number])
    worth = [_set_off(ascent, aim) for ascent in ascents]
    average = sum(float(own.sum()) for own in worth) / max(len(ascents), 1)
    certificates = [_settle(ascent, own, average, aim) for ascent, own in zip(ascents, worth, strict=True)]
    return ascents, _insist(ascents, certificates, aim)


def _set_off(ascent: Ascent, aim: Aim) -> Array:
    """First passes, until the dual objective says roughly what the optimum will be; by lane."""
    while True:
        for _ in range(2):
            ascent.seen_gap = ascent.sweep(0.0, full=True)
        worth = ascent.dual_estimate()
        near = ascent.seen_gap.sum() <= worth.sum() or (ascent.loss.name != "logistic" and worth.sum() > 0)
        if near or ascent.passes >= aim.max_passes:
            return np.maximum(worth, 1e-12)


def _settle(ascent: Ascent, own: Array, average: float, aim: Aim) -> Certificate:
    """Climb with float32 as far as it leads; where it leads too slowly, finish on the support vectors if
    there are any.
    """
    target = aim.target(own, average)
    reachable = aim.goal_in_single(own, target)
    if ascent.loss.name not in _SPARSE:
        ascent.climb(reachable, aim.max_passes)
        return ascent.certify()
    if ascent.climb(reachable, aim.max_passes, lambda: expected_visits(ascent)):
        return ascent.certify()
    return _finished(ascent, own, target, aim)


def _finished(ascent: Ascent, own: Array, target: float, aim: Aim) -> Certificate:
    """Finish on the support vectors; each category's share of the target as that of the block."""
    ascent.alpha = ascent.alpha.astype(np.float64)
    share = 0.5 * (own / float(own.sum()) + 1 / len(own))
    certificate = finish(ascent, aim.tol * own if aim.each else target * share)
    ascent.gather(np.float64)
    return certificate


def _insist(ascents: list[Ascent], certificates: list[Certificate], aim: Aim) -> list[Certificate]:
    """Go on, in float64, wherever a block keeps more of the gap than its share, until the sum is small
    enough.
    """
    sizes = [ascent.block.size for ascent in ascents]
    tightened = 1.0
    while not aim.reached(certificates, sizes) and min(a.passes for a in ascents) < aim.max_passes:
        _, objectives = _joined(certificates, sizes)
        average = float(objectives.sum()) / len(ascents)
        for number, ascent in enumerate(ascents):
            own = certificates[number].objective[: sizes[number]]
            target = tightened * aim.target(own, average)
            if not aim.goal(own, target).reached(certificates[number].gap[: sizes[number]]):
                certificates[number] = _improved(ascent, own, target, aim)
        tightened *= 0.5
    return certificates


def _improved(ascent: Ascent, own: Array, target: float, aim: Aim) -> Certificate:
    """One more attempt at a block: passes as long as these lead, finishing where that applies, passes in float64."""
    if ascent.dtype is np.float32 and target > _SINGLE_FLOOR * float(own.sum()):
        sparse = ascent.loss.name in _SPARSE
        ascent.gather(np.float32)
        way_out = (lambda: expected_visits(ascent)) if sparse else None
        if ascent.climb(aim.goal(own, target), aim.max_passes, way_out):
            return ascent.certify()
    if ascent.loss.name in _SPARSE:
        certificate = _finished(ascent, own, target, aim)
        if aim.goal(own, target).reached(certificate.gap[: len(own)]):
            return certificate
    elif ascent.dtype is np.float32:
        ascent.gather(np.float64)
    ascent.climb(aim.goal(own, target), aim.max_passes)
    return ascent.certify()


def _constant_only(rows: Rows, block: Block, loss: str) -> Array | None:
    """Margins of the best model that has only the constant, when the loss is logistic; nowhere to start from
    else.
    """
    if loss != "logistic":
        return None
    weights = rows.importance[:, None] * block.limits
    positive = (weights * (block.signs > 0)).sum(axis=0)
    total = weights.sum(axis=0)
    b = np.log((positive + 0.01) / (total - positive + 0.01))
    for _ in range(50):
        p = sigmoid(b)
        b -= (b - positive + total * p) / (1 + total * p * (1 - p))
    return np.asarray(block.signs * b)
