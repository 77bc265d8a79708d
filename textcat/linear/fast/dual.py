"""Gaussian prior: all blocks up their duals until the certified gaps are small enough, in float32 first and
in float64 where needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.linear.fast.dual_ascent import BlockCertificate, DualAscent, GapTarget
from textcat.linear.fast.lane_losses import LANE_LOSSES, sigmoid
from textcat.linear.fast.layout import CategoryBlock, PackedRows
from textcat.linear.fast.support_vectors import estimate_finish_visits, solve_on_support_vectors

Array = NDArray[np.float64]

# Relative gap below which float32 weights are not trusted to lead.
_FLOAT32_GAP_FLOOR = 2e-6
# Losses whose dual variables are mostly zero at the optimum.
_SPARSE_LOSSES = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class StoppingRule:
    """When to stop: relative gap `tol`, of the sum over categories or of each category; passes at most, a
    block.
    """

    tol: float
    each: bool
    max_passes: float

    def reached(self, certificates: Sequence[BlockCertificate], sizes: Sequence[int]) -> bool:
        """Whether the certificates show the gap asked for."""
        gaps, objectives = _join_gaps(certificates, sizes)
        if self.each:
            return bool(np.all(gaps <= self.tol * objectives))
        return bool(gaps.sum() <= self.tol * objectives.sum())

    def target(self, own: Array, average: float) -> float:
        """The gap a block may keep: for the sum, half in proportion to its objective, half an equal share."""
        if self.each:
            return self.tol * max(float(own.min()), 1e-12)
        return self.tol * 0.5 * (float(own.sum()) + average)

    def make_gap_target(self, own: Array, target: float) -> GapTarget:
        """The same for a block on its way; where each category counts, it may stop when every one has its gap."""
        return GapTarget(target, self.tol * np.maximum(own, 1e-12) if self.each else None)

    def make_float32_gap_target(self, own: Array, target: float) -> GapTarget:
        """As far towards that as weights in float32 lead."""
        goal, floor = self.make_gap_target(own, target), _FLOAT32_GAP_FLOOR * own
        return GapTarget(
            max(target, float(floor.sum())), None if goal.each is None else np.maximum(goal.each, floor)
        )


def _join_gaps(certificates: Sequence[BlockCertificate], sizes: Sequence[int]) -> tuple[Array, Array]:
    gaps = np.concatenate([c.gap[:size] for c, size in zip(certificates, sizes, strict=True)])
    values = np.concatenate([c.objective[:size] for c, size in zip(certificates, sizes, strict=True)])
    return gaps, values


def maximise_dual(
    rows: PackedRows,
    blocks: list[CategoryBlock],
    loss: str,
    aim: StoppingRule,
    seeds: list[tuple[int, int]],
    margins: list[Array] | None = None,
) -> tuple[list[DualAscent], list[BlockCertificate]]:
    """Solve every block; `margins` (y_i w'x_i, documents x 16 a block) starts from known weights."""
    ascents = [
        DualAscent(rows, block, LANE_LOSSES[loss], np.random.default_rng(seed))
        for seed, block in zip(seeds, blocks, strict=True)
    ]
    for number, ascent in enumerate(ascents):
        ascent.start_at(
            _compute_constant_margins(rows, ascent.block, loss) if margins is None else margins[number]
        )
    worth = [_run_first_passes(ascent, aim) for ascent in ascents]
    average = sum(float(own.sum()) for own in worth) / max(len(ascents), 1)
    certificates = [
        _solve_block(ascent, own, average, aim) for ascent, own in zip(ascents, worth, strict=True)
    ]
    return ascents, _refine_until_gap(ascents, certificates, aim)


def _run_first_passes(ascent: DualAscent, aim: StoppingRule) -> Array:
    """First passes, until the dual objective says roughly what the optimum will be; by lane."""
    while True:
        for _ in range(2):
            ascent.seen_gap = ascent.sweep(0.0, full=True)
        worth = ascent.estimate_dual()
        near = ascent.seen_gap.sum() <= worth.sum() or (ascent.loss.name != "logistic" and worth.sum() > 0)
        if near or ascent.passes >= aim.max_passes:
            return np.maximum(worth, 1e-12)


def _solve_block(ascent: DualAscent, own: Array, average: float, aim: StoppingRule) -> BlockCertificate:
    """Climb with float32 as far as it leads; where it leads too slowly, finish on the support vectors if
    there are any.
    """
    target = aim.target(own, average)
    reachable = aim.make_float32_gap_target(own, target)
    if ascent.loss.name not in _SPARSE_LOSSES:
        ascent.run_passes(reachable, aim.max_passes)
        return ascent.certify()
    if ascent.run_passes(reachable, aim.max_passes, lambda: estimate_finish_visits(ascent)):
        return ascent.certify()
    return _finish_on_support_vectors(ascent, own, target, aim)


def _finish_on_support_vectors(
    ascent: DualAscent, own: Array, target: float, aim: StoppingRule
) -> BlockCertificate:
    """Finish on the support vectors; each category's share of the target as that of the block."""
    ascent.alpha = ascent.alpha.astype(np.float64)
    share = 0.5 * (own / float(own.sum()) + 1 / len(own))
    certificate = solve_on_support_vectors(ascent, aim.tol * own if aim.each else target * share)
    ascent.rebuild_weights(np.float64)
    return certificate


def _refine_until_gap(
    ascents: list[DualAscent], certificates: list[BlockCertificate], aim: StoppingRule
) -> list[BlockCertificate]:
    """Go on, in float64, wherever a block keeps more of the gap than its share, until the sum is small
    enough.
    """
    sizes = [ascent.block.size for ascent in ascents]
    tightened = 1.0
    while not aim.reached(certificates, sizes) and min(a.passes for a in ascents) < aim.max_passes:
        _, objectives = _join_gaps(certificates, sizes)
        average = float(objectives.sum()) / len(ascents)
        for number, ascent in enumerate(ascents):
            own = certificates[number].objective[: sizes[number]]
            target = tightened * aim.target(own, average)
            if not aim.make_gap_target(own, target).reached(certificates[number].gap[: sizes[number]]):
                certificates[number] = _improve_block(ascent, own, target, aim)
        tightened *= 0.5
    return certificates


def _improve_block(ascent: DualAscent, own: Array, target: float, aim: StoppingRule) -> BlockCertificate:
    """One more attempt at a block: passes as long as these lead, finishing where that applies, passes in float64."""
    if ascent.dtype is np.float32 and target > _FLOAT32_GAP_FLOOR * float(own.sum()):
        sparse = ascent.loss.name in _SPARSE_LOSSES
        ascent.rebuild_weights(np.float32)
        way_out = (lambda: estimate_finish_visits(ascent)) if sparse else None
        if ascent.run_passes(aim.make_gap_target(own, target), aim.max_passes, way_out):
            return ascent.certify()
    if ascent.loss.name in _SPARSE_LOSSES:
        certificate = _finish_on_support_vectors(ascent, own, target, aim)
        if aim.make_gap_target(own, target).reached(certificate.gap[: len(own)]):
            return certificate
    elif ascent.dtype is np.float32:
        ascent.rebuild_weights(np.float64)
    ascent.run_passes(aim.make_gap_target(own, target), aim.max_passes)
    return ascent.certify()


def _compute_constant_margins(rows: PackedRows, block: CategoryBlock, loss: str) -> Array | None:
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
