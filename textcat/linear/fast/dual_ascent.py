"""Dual ascent on one block of categories: passes over the documents, and a certificate in float64.

A pass visits documents in a new random order: in a fixed order the penalised constant follows the documents
just visited, and the gap stops falling. After a full pass only the documents that hold a noticeable part of
the gap are visited, until their part has shrunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from textcat.linear.fast.dual_steps import relax_hinge, relax_logistic
from textcat.linear.fast.lane_losses import LaneLoss, softplus
from textcat.linear.fast.layout import (
    CategoryBlock,
    PackedRows,
    add_rows,
    make_visiting_order,
    multiply_all_rows,
)
from textcat.linear.simd import WIDTH

Array = NDArray[np.float64]

# Share of the gap that skipped documents may hold, also as a limit for rounding errors of the weights.
_SKIPPED_GAP_SHARE = 0.1
# The gap after a pass, as a share of the gap summed during the pass: over all documents, and over some.
_GAP_LEFT_AFTER_FULL_PASS = 0.55
_GAP_LEFT_AFTER_POLISH = 1.5
# At this multiple of the target the weights are recomputed, where rounding could matter.
_REBUILD_FACTOR = 30.0
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
        return bool(np.all(gaps <= self.each)) or float(gaps.sum()) <= self.total


@dataclass
class CertifiedBlock:
    """Weights (features x 16, in the order of `PackedRows`) with margins and objectives, in float64."""

    W: Array
    margins: Array
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
    passes: float = 0.0
    seen_gap: Array = field(default_factory=lambda: np.full(WIDTH, np.inf))
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
            self.W = np.zeros((self.rows.features, WIDTH), self.dtype)
            return
        if self._logistic:
            self.points[:] = margins
        else:
            for tile in self._iterate_tiles():
                self.alpha[tile] = self.loss.dual_variable(margins[tile], self._compute_costs(tile))
        self.rebuild_weights(self.dtype)

    def _iterate_tiles(self) -> Iterator[slice]:
        """Yield slices that cover all documents."""
        return (
            slice(start, start + _DOCUMENTS_PER_TILE)
            for start in range(0, self.rows.documents, _DOCUMENTS_PER_TILE)
        )

    def _compute_costs(self, tile: slice) -> Array:
        """Return C by document and lane."""
        return np.asarray(self.rows.importance[tile, None] * self.block.limits)

    def rebuild_weights(self, dtype: type[np.floating]) -> None:
        """Switch to `dtype` and recompute the weights from the dual variables, summing in float64.

        The constant's weight is a sum over documents of both signs, which float32 cannot hold precisely.
        """
        self.dtype = dtype
        self.signs = self.block.signs.astype(dtype, copy=False)
        self.points = self.points.astype(dtype, copy=False)
        self.alpha = self.alpha.astype(dtype, copy=False)
        steps = np.empty(self.alpha.shape)
        for tile in self._iterate_tiles():
            if self._logistic:
                self.alpha[tile] = self._compute_dual(tile)[0]
            np.multiply(self.signs[tile], self.alpha[tile], out=steps[tile])
        self.W = self._combine_rows(steps).astype(dtype, copy=False)

    def _combine_rows(self, steps: Array) -> Array:
        """Return the sum of the documents times their steps, in float64."""
        W = np.zeros((self.rows.features, WIDTH))
        add_rows(self.rows.spans, self.rows.indices, self.rows.data, steps, W)
        return W

    def sweep(self, negligible: float, *, full: bool) -> Array:
        """Make one pass over all documents, or over the candidates; return the gap summed on the way, by lane."""
        n = self.rows.documents
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
        self, goal: GapTarget, most_passes: float, alternative: Callable[[], float] | None = None
    ) -> bool:
        """Make passes until the gap is expected to have reached the goal; return False if stopped before.

        Passes stop early when the expected number of document visits exceeds `alternative()`, the cost of
        another method.
        """
        target = goal.total
        n, size = max(self.rows.documents, 1), self.block.size
        fresh = not self._has_drift(target)
        gaps = [float(self.seen_gap[:size].sum())]
        visits = [self.passes * n]
        while self.passes < most_passes:
            if not fresh and gaps[-1] <= _REBUILD_FACTOR * target:
                self.rebuild_weights(self.dtype)
                fresh = True
            negligible = _SKIPPED_GAP_SHARE * max(min(gaps[-1], 1e30), target) / n
            self.seen_gap = self.sweep(negligible, full=True)
            gaps.append(float(self.seen_gap[:size].sum()))
            visits.append(self.passes * n)
            if goal.reached(_GAP_LEFT_AFTER_FULL_PASS * self.seen_gap[:size]):
                return True
            if alternative is not None and _is_slower_than_alternative(gaps, visits, target, alternative):
                return False
            if len(self.candidates) < n / 2:
                polished = self._polish(_SKIPPED_GAP_SHARE * max(gaps[-1], target) / n, gaps[-1], goal)
                if goal.reached(_GAP_LEFT_AFTER_POLISH * polished):
                    return True
        return False

    def _has_drift(self, target: float) -> bool:
        """Return whether rounding errors that the weights collect during passes matter for such a gap."""
        lost = float(np.finfo(self.dtype).eps) * self.rows.documents * float(self.block.limits.max())
        bend = float(self.alpha.sum(axis=0, dtype=np.float64).max(initial=0.0))
        return 0.5 * lost * lost * bend > _SKIPPED_GAP_SHARE * target

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
        penalty = 0.5 * np.einsum("ij,ij->j", self.W, self.W)
        values = np.zeros(WIDTH)
        for tile in self._iterate_tiles():
            values += self._compute_dual_values(tile, self.alpha[tile].astype(np.float64)).sum(axis=0)
        return np.asarray((values - penalty)[: self.block.size])

    def _compute_dual(self, tile: slice) -> tuple[Array, Array]:
        """Return the dual variables of some documents in float64, and their terms of the dual objective."""
        alpha = self.alpha[tile].astype(np.float64)
        if self._logistic:
            alpha = self.loss.dual_variable(self.points[tile].astype(np.float64), self._compute_costs(tile))
        return alpha, self._compute_dual_values(tile, alpha)

    def _compute_dual_values(self, tile: slice, alpha: Array) -> Array:
        weights = self._compute_costs(tile)
        if self._logistic:
            points = self.points[tile].astype(np.float64)
            return np.asarray(weights * softplus(-points) + points * alpha)
        return self.loss.dual_value(alpha, weights)

    def certify(self) -> CertifiedBlock:
        """Compute weights, objective and dual objective in float64 from the dual variables alone."""
        signs, products = self.block.signs, np.empty(self.block.signs.shape)
        values, losses = np.zeros((2, WIDTH))
        for tile in self._iterate_tiles():
            alpha, worth = self._compute_dual(tile)
            values += worth.sum(axis=0)
            np.multiply(signs[tile], alpha, out=products[tile])
        W = self._combine_rows(products)
        multiply_all_rows(self.rows.spans, self.rows.indices, self.rows.data, W, products)
        for tile in self._iterate_tiles():
            products[tile] *= signs[tile]
            losses += self.loss.value(products[tile], self._compute_costs(tile)).sum(axis=0)
        penalty = 0.5 * np.einsum("ij,ij->j", W, W)
        return CertifiedBlock(W, products, penalty + losses, values - penalty)


def _is_slower_than_alternative(
    gaps: list[float], visits: list[float], target: float, alternative: Callable[[], float]
) -> bool:
    """Return whether reaching `target` at the rate of the last rounds costs more than the alternative."""
    rounds = min(_PACE_ROUNDS, len(gaps) - 1)
    before = gaps[-1 - rounds]
    if len(gaps) <= _PACE_ROUNDS or not 0 < before < np.inf:
        return False
    fall = np.log(before / gaps[-1]) if gaps[-1] < before else 0.0
    if fall == 0.0:
        return True
    return bool(np.log(gaps[-1] / target) / fall * (visits[-1] - visits[-1 - rounds]) > alternative())
