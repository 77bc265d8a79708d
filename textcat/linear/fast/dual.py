"""Gaussian prior: maximise the dual of a block until its certified gaps are small enough.

Passes run in float32 as long as they lead, then in float64. Hinge and squared hinge have few support vectors:
where passes get slow, each category is finished on those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from textcat.linear.fast.dual_ascent import CertifiedBlock, DualAscent, GapTarget
from textcat.linear.fast.lane_losses import LANE_LOSSES
from textcat.linear.fast.layout import CategoryBlock, PackedRows
from textcat.linear.fast.support_vectors import FinishTiming, solve_on_support_vectors

Array = NDArray[np.float64]

# Relative gap below which weights in float32 are not precise enough.
_FLOAT32_GAP_FLOOR = 2e-6
# Passes in float32 are tried again until the target is this share of the first.
_FLOAT32_LEAST_TIGHTENED = 0.2
# Losses whose dual variables are mostly zero at the optimum.
_SPARSE_LOSSES = ("hinge", "squared_hinge")
# The logistic loss starts from this share of the dual variables of the constant's model.
_START_SHARE = 0.1


@dataclass(frozen=True)
class StoppingRule:
    """When to stop: a relative gap of `tol` in every category, or after `max_passes` passes of a block."""

    tol: float
    max_passes: float

    def reached(self, found: CertifiedBlock, size: int) -> bool:
        """Return whether each of the first `size` lanes has the gap asked for."""
        return bool(np.all(found.gap[:size] <= self.tol * found.objective[:size]))

    def make_target(self, objectives: Array) -> float:
        """Return the sum of gaps at which every lane is certain to have its own."""
        return self.tol * max(float(objectives.min()), 1e-12)

    def make_gap_target(self, objectives: Array, target: float) -> GapTarget:
        """Return the target of a block: each lane at its own gap, or the sum at `target`."""
        return GapTarget(target, self.tol * np.maximum(objectives, 1e-12))

    def make_float32_gap_target(self, objectives: Array, target: float) -> GapTarget:
        """Return the same target, but nothing below what float32 can reach."""
        goal, floor = self.make_gap_target(objectives, target), _FLOAT32_GAP_FLOOR * objectives
        return GapTarget(max(target, float(floor.sum())), np.maximum(goal.each, floor))


def maximise_dual(
    rows: PackedRows,
    block: CategoryBlock,
    loss: str,
    rule: StoppingRule,
    seed: tuple[int, int],
    margins: Array | None = None,
    *,
    exact: bool = True,
) -> tuple[CertifiedBlock, float]:
    """Solve a block; return its certified solution and the number of passes.

    `margins` (y_i w'x_i, documents x 16) are those of weights to start from. If not `exact`, the gap may be computed
    in float32.
    """
    ascent = DualAscent(rows, block, LANE_LOSSES[loss], np.random.default_rng(seed), exact=exact)
    ascent.start_at(_choose_start_points(rows, block, loss) if margins is None else margins)
    objectives = _run_first_passes(ascent, rule)
    found = _solve_block(ascent, objectives, rule)
    return _refine_until_gap(ascent, found, rule), ascent.passes


def _run_first_passes(ascent: DualAscent, rule: StoppingRule) -> Array:
    """Run passes until the dual objective roughly predicts the optimum; return it by lane."""
    while True:
        for _ in range(2):
            ascent.seen_gap = ascent.sweep(0.0, full=True)
        worth = ascent.estimate_dual()
        near = ascent.seen_gap.sum() <= worth.sum() or (ascent.loss.name != "logistic" and worth.sum() > 0)
        if near or ascent.passes >= rule.max_passes:
            return np.maximum(worth, 1e-12)


def _solve_block(ascent: DualAscent, objectives: Array, rule: StoppingRule) -> CertifiedBlock:
    """Run passes in float32 as far as they lead; finish on the support vectors where passes are too slow."""
    target = rule.make_target(objectives)
    reachable = rule.make_float32_gap_target(objectives, target)
    if ascent.loss.name not in _SPARSE_LOSSES:
        ascent.run_passes(reachable, rule.max_passes)
        return ascent.certify()
    if ascent.run_passes(reachable, rule.max_passes, FinishTiming(ascent).is_quicker):
        return ascent.certify()
    return _finish_on_support_vectors(ascent, rule)


def _finish_on_support_vectors(ascent: DualAscent, rule: StoppingRule) -> CertifiedBlock:
    ascent.alpha = ascent.alpha.astype(np.float64)
    ascent.exact = True
    # The weights of float64 are computed when passes go on.
    ascent.dtype = np.float64
    return solve_on_support_vectors(ascent, rule.tol)


def _refine_until_gap(ascent: DualAscent, found: CertifiedBlock, rule: StoppingRule) -> CertifiedBlock:
    """Continue with a smaller target each time, until every lane has its gap or the passes are used up."""
    size, tightened = ascent.block.size, 1.0
    while not rule.reached(found, size) and ascent.passes < rule.max_passes:
        objectives = found.objective[:size]
        goal = rule.make_gap_target(objectives, tightened * rule.make_target(objectives))
        if not goal.reached(found.gap[:size]):
            found = _improve_block(ascent, objectives, goal, rule, tightened)
        tightened *= 0.5
    return found


def _improve_block(
    ascent: DualAscent, objectives: Array, goal: GapTarget, rule: StoppingRule, tightened: float
) -> CertifiedBlock:
    """Try passes in float32, the finish on support vectors, and passes in float64, in this order."""
    target = goal.total
    sparse = ascent.loss.name in _SPARSE_LOSSES
    precise_enough = target > _FLOAT32_GAP_FLOOR * float(objectives.sum()) or (
        rule.tol > _FLOAT32_GAP_FLOOR and tightened >= _FLOAT32_LEAST_TIGHTENED
    )
    if ascent.dtype is np.float32 and precise_enough:
        if ascent.has_drift(target):
            ascent.rebuild_weights(np.float32)
        is_quicker = FinishTiming(ascent).is_quicker if sparse else None
        if ascent.run_passes(goal, rule.max_passes, is_quicker):
            return ascent.certify()
    if sparse:
        found = _finish_on_support_vectors(ascent, rule)
        if goal.reached(found.gap[: len(objectives)]):
            return found
    if sparse or ascent.dtype is np.float32:
        ascent.rebuild_weights(np.float64)
    ascent.run_passes(goal, rule.max_passes)
    return ascent.certify()


def _choose_start_points(rows: PackedRows, block: CategoryBlock, loss: str) -> Array | None:
    """Return points of the logistic loss to start from, None (all dual variables zero) for other losses.

    The dual variables are a share of those of the best model of the constant alone: most of them are small at
    the optimum, and larger ones would take passes to remove.
    """
    if loss != "logistic":
        return None
    positive = (rows.importance @ (block.signs > 0)) * block.limits
    total = rows.importance.sum() * block.limits
    b = np.log((positive + 0.01) / (total - positive + 0.01))
    for _ in range(50):
        p = expit(b)
        b -= (b - positive + total * p) / (1 + total * p * (1 - p))
    of_positive, of_negative = (np.log((1 + np.exp(margin)) / _START_SHARE - 1) for margin in (b, -b))
    return np.asarray(np.where(block.signs > 0, of_positive, of_negative))
