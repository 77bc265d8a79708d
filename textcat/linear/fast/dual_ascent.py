"""Dual ascent on one block of categories: passes over the documents, and a certificate in float64.

A pass visits documents in a new random order: in a fixed order the penalised constant follows the documents
just visited, and the gap stops falling. After a full pass only the documents that hold a noticeable part of
the gap are visited, until their part has shrunk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from textcat.linear.fast.dual_steps import relax_hinge, relax_logistic
from textcat.linear.fast.lane_losses import LOSS_NUMBERS, LaneLoss, measure_duals, measure_losses
from textcat.linear.fast.layout import (
    CategoryBlock,
    PackedRows,
    add_rows,
    make_visiting_order,
    multiply_all_rows,
    sum_lanes,
    sum_squares,
)
from textcat.linear.problem import align_lanes, allocate_lanes
from textcat.linear.simd import WIDTH

Array = NDArray[np.float64]

# Share of the gap that skipped documents may hold, also as a limit for rounding errors of the weights.
_SKIPPED_GAP_SHARE = 0.1
# The gap after a pass, as a share of the gap summed during the pass: over all documents, and over some.
_GAP_LEFT_AFTER_FULL_PASS = 0.55
_GAP_LEFT_AFTER_POLISH = 1.5
# The same after a full pass that follows another one, as a multiple of the ratio of their gaps.
_GAP_LEFT_AT_RATE = 2.0
# If full passes leave less than this share of the gap, passes over some documents do not lead faster.
_QUICK_RATE = 0.15
# At this multiple of the target the weights are recomputed, where rounding could matter.
_REBUILD_FACTOR = 30.0
# Visits are not expected to grow by more than a factor of this logarithm.
_MOST_GROWTH = 100.0
# The number of rounds of passes from which the rate of convergence is estimated.
_PACE_ROUNDS = 2
_ROOT_ACCURACY = {np.float32: 1e-2, np.float64: 1e-3}
# Documents that are processed together, so that intermediate values stay in the cache.
_DOCUMENTS_PER_TILE = 512


@dataclass(frozen=True)
class GapTarget:
    """Gaps that are small enough: `each` lane at its own, or the sum over lanes at `total`."""

    total: float
    each: Array

    def reached(self, gaps: Array) -> bool:
        """Return whether gaps by lane are small enough."""
        return self.compute_excess(gaps) <= 1.0

    def compute_excess(self, gaps: Array) -> float:
        """Return the factor by which gaps by lane are too large; at most 1 where they are small enough."""
        tiny = 1e-300
        return float(
            min((gaps / np.maximum(self.each, tiny)).max(initial=0.0), gaps.sum() / max(self.total, tiny))
        )


@dataclass
class CertifiedBlock:
    """Weights (features x 16, in the order of `PackedRows`) with margins and objectives."""

    W: NDArray[np.floating]
    margins: NDArray[np.floating]
    objective: Array
    dual_objective: Array

    @property
    def gap(self) -> Array:
        """The duality gap by lane, at least zero (rounding can make the difference negative)."""
        return np.maximum(self.objective - self.dual_objective, 0.0)


@dataclass
class DualAscent:
    """Dual variables `alpha` and weights `W` of one block, with methods that improve and certify them.

    For the logistic loss `points` holds u, with alpha = C sigma(-u).
    """

    rows: PackedRows
    block: CategoryBlock
    loss: LaneLoss
    order: np.random.Generator
    dtype: type[np.floating] = np.float32
    exact: bool = True
    passes: float = 0.0
    seen_gap: Array = field(default_factory=lambda: np.full(WIDTH, np.inf))
    swept_all: bool = False
    candidates: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        n = self.rows.documents
        self.signs = self.block.signs
        self.alpha: NDArray[np.floating] = np.zeros((n, WIDTH), self.dtype)
        self.points: NDArray[np.floating] = np.zeros((n if self._logistic else 0, WIDTH), self.dtype)
        self._again = np.empty(n, np.int64)
        self.candidates = self._again[:0]

    @property
    def _logistic(self) -> bool:
        return self.loss.name == "logistic"

    def start_at(self, margins: Array | None) -> None:
        """Set dual variables and weights from the margins y_i w'x_i, or all to zero without margins."""
        if margins is None:
            self.W = allocate_lanes((self.rows.features, WIDTH), self.dtype)
            return
        if self._logistic:
            self.points[:] = margins
        else:
            for start in range(0, self.rows.documents, _DOCUMENTS_PER_TILE):
                tile = slice(start, start + _DOCUMENTS_PER_TILE)
                costs = self.rows.importance[tile, None] * self.block.limits
                self.alpha[tile] = self.loss.dual_variable(margins[tile], costs)
        if self._logistic:
            self._measure_duals(rounded=True)
        # Passes are no more precise.
        self.W = self._combine_rows(self.signs * self.alpha)

    def rebuild_weights(self, dtype: type[np.floating]) -> None:
        """Switch to `dtype` and recompute the weights from the dual variables, summing in float64.

        The constant's weight is a sum over documents of both signs, which float32 cannot hold precisely.
        """
        self.dtype = dtype
        self.signs = self.block.signs.astype(dtype, copy=False)
        self.points = self.points.astype(dtype, copy=False)
        self.alpha = self.alpha.astype(dtype, copy=False)
        steps, _ = self._measure_duals(rounded=True)
        W = self._combine_rows(steps)
        self.W = W if W.dtype == dtype else align_lanes(W, dtype)

    def _combine_rows(self, steps: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the sum of the documents times their steps, in the precision of the steps."""
        W = allocate_lanes((self.rows.features, WIDTH), steps.dtype)
        add_rows(self.rows.spans, self.rows.indices, self.rows.values(W.dtype)[0], steps, W)
        return W

    def sweep(self, negligible: float, *, full: bool) -> Array:
        """Make one pass over all documents, or over the candidates; return the gap summed on the way, by lane."""
        n = self.rows.documents
        self.swept_all = full
        visits = make_visiting_order(self.order, np.arange(n) if full else self.candidates, self.rows.starts)
        gaps = np.zeros((1, WIDTH), self.dtype)
        kept = self._relax(visits, negligible, gaps)
        self.candidates = self._again[:kept]
        self.passes += len(visits) / max(n, 1)
        return np.asarray(gaps[0], np.float64)

    def _relax(self, visits: NDArray[np.int64], negligible: float, gaps: NDArray[np.floating]) -> int:
        rows, dtype = self.rows, self.dtype
        matrix = (rows.spans, rows.indices, *rows.values(dtype), self.signs)
        limits: NDArray[np.floating] = self.block.limits.astype(dtype)[None]
        if self._logistic:
            settings = (limits, visits, negligible, _ROOT_ACCURACY[dtype])
            return int(relax_logistic(*matrix, *settings, self.points, self.alpha, self.W, gaps, self._again))
        ridges = np.zeros_like(limits) if self.loss.name == "hinge" else 1 / (2 * limits)
        ceilings = limits if self.loss.name == "hinge" else np.full_like(limits, np.inf)
        bounds = (ceilings, ridges)
        return int(relax_hinge(*matrix, *bounds, visits, negligible, self.alpha, self.W, gaps, self._again))

    def run_passes(
        self,
        goal: GapTarget,
        most_passes: float,
        is_quicker: Callable[[NDArray[np.bool_], float, float], bool] | None = None,
    ) -> bool:
        """Make passes until the gap is expected to have reached the goal; return False if stopped before.

        Passes stop early when another method is quicker: `is_quicker(lanes, left, visits)` compares it, for the
        lanes that are not finished, with the expected number of document visits, after so many of them.
        """
        target = goal.total
        n, size = max(self.rows.documents, 1), self.block.size
        fresh = not self.has_drift(target)
        history = [PassRecord(float(self.seen_gap[:size].sum()), np.inf, self.passes * n)]
        polished = not self.swept_all
        while self.passes < most_passes:
            if not fresh and history[-1].gap <= _REBUILD_FACTOR * target:
                self.rebuild_weights(self.dtype)
                fresh = True
            before = history[-1].gap
            negligible = _SKIPPED_GAP_SHARE * max(min(before, 1e30), target) / n
            self.seen_gap = self.sweep(negligible, full=True)
            seen = self.seen_gap[:size]
            gap = float(seen.sum())
            history.append(PassRecord(gap, goal.compute_excess(seen), self.passes * n))
            rate = 1.0 if polished else gap / max(before, 1e-300)
            left = min(_GAP_LEFT_AFTER_FULL_PASS, _GAP_LEFT_AT_RATE * rate) * seen
            if goal.reached(left):
                return True
            expected = _predict_visits(history, sublinear=self.loss.name == "hinge")
            if is_quicker is not None and is_quicker(left > goal.each, expected, self.passes * n):
                return False
            polished = rate > _QUICK_RATE and len(self.candidates) < n / 2
            if polished:
                found = self._polish(_SKIPPED_GAP_SHARE * max(gap, target) / n, gap, goal)
                if goal.reached(_GAP_LEFT_AFTER_POLISH * found):
                    return True
        return False

    def has_drift(self, target: float) -> bool:
        """Return whether rounding errors that the weights collect during passes matter for such a gap."""
        lost = float(np.finfo(self.dtype).eps) * self.rows.documents * float(self.block.limits.max())
        bend = float(self.sum_dual_variables()[0].max())
        return 0.5 * lost * lost * bend > _SKIPPED_GAP_SHARE * target

    def sum_dual_variables(self) -> tuple[Array, Array]:
        """Return the sum of the dual variables by lane, and how many of them are not zero."""
        sums, counts = np.empty((1, WIDTH)), np.empty((1, WIDTH))
        sum_lanes(self.alpha, sums, counts)
        return sums[0], counts[0]

    def _polish(self, negligible: float, before: float, goal: GapTarget) -> Array:
        """Make a few passes over the candidates; return the gap of the last pass, by lane."""
        for _ in range(5):
            gap = self.sweep(negligible, full=False)[: self.block.size]
            if (
                gap.sum() <= 0.2 * before
                or goal.reached(_GAP_LEFT_AFTER_POLISH * gap)
                or not len(self.candidates)
            ):
                break
        return gap

    def estimate_dual(self) -> Array:
        """Return the dual objective by lane in the precision of the passes, for setting targets."""
        _, values = self._measure_duals(rounded=False)
        return np.asarray((values - 0.5 * _sum_squares(self.W))[: self.block.size])

    def _measure_duals(self, *, rounded: bool) -> tuple[Array, Array]:
        """Return the signed dual variables in float64, and the dual objective without its penalty by lane."""
        steps, values = np.empty(self.alpha.shape), np.empty((1, WIDTH))
        limits = self.block.limits[None]
        settings = (self.block.signs, self.rows.importance, limits, rounded)
        measure_duals(LOSS_NUMBERS[self.loss.name], self.points, self.alpha, *settings, steps, values)
        return steps, values[0]

    def certify(self) -> CertifiedBlock:
        """Compute weights, objective and dual objective from the dual variables alone, in float64.

        If not `exact`, the weights of passes in float32 are taken as they are, and margins are in float32.
        """
        signed, values = self._measure_duals(rounded=False)
        W = self._combine_rows(signed) if self.exact else self.W
        products = signed if W.dtype == np.float64 else np.empty(signed.shape, W.dtype)
        rows, block, losses = self.rows, self.block, np.empty((1, WIDTH))
        multiply_all_rows(rows.spans, rows.indices, rows.values(W.dtype)[0], W, products)
        number, limits = LOSS_NUMBERS[self.loss.name], block.limits[None]
        measure_losses(number, products, block.signs, rows.importance, limits, losses)
        penalty = 0.5 * _sum_squares(W)
        return CertifiedBlock(W, products, penalty + losses[0], values - penalty)


def _sum_squares(W: NDArray[np.floating]) -> Array:
    """Return the sums of the squared weights by lane."""
    sums = np.zeros((1, WIDTH))
    sum_squares(W, sums)
    return np.asarray(sums[0])


@dataclass(frozen=True)
class PassRecord:
    """A pass over all documents: the gap seen, the factor by which it is too large, document visits so far."""

    gap: float
    excess: float
    visits: float


def _predict_visits(history: list[PassRecord], *, sublinear: bool) -> float:
    """Return the document visits to the goal at the rate of the last rounds; 0 if there are too few to tell.

    The gap falls exponentially with the visits, or, if `sublinear`, with a power of them.
    """
    if len(history) <= _PACE_ROUNDS:
        return 0.0
    last = history[-1]
    before = history[max(1, len(history) // 2)] if sublinear else history[-1 - _PACE_ROUNDS]
    if not 0 < before.gap < np.inf:
        return 0.0
    fall = np.log(before.gap / last.gap) if 0 < last.gap < before.gap else 0.0
    if fall == 0.0:
        return np.inf
    needed = np.log(max(last.excess, 1.0)) / fall
    if sublinear:
        growth = min(needed * np.log(last.visits / before.visits), _MOST_GROWTH)
        return float(last.visits * np.expm1(growth))
    return float(needed * (last.visits - before.visits))
