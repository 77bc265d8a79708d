"""The state of one block of categories on its way up the dual: passes over the documents, and a float64
certificate.

A pass visits documents in a fresh random order: in a fixed order the penalised constant follows the documents
just seen, and the
gap stops falling. After a full pass only the documents that still hold a noticeable part of the gap are
visited, until theirs has shrunk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from textcat.linear.lanes.blocks import Block, Rows
from textcat.linear.lanes.hinge import relax_hinge
from textcat.linear.lanes.logistic import relax_logistic
from textcat.linear.lanes.losses import Loss, sigmoid, softplus
from textcat.linear.lanes.order import visiting_order
from textcat.linear.lanes.rows import add_rows, all_products
from textcat.linear.lanes.vector import WIDTH

Array = NDArray[np.float64]

# Shares of the gap that may be left out of sight: by the documents passed over, and by a step not taken.
_PASSED_OVER = 0.1
# After how many rounds of passes their pace is judged, again and again.
_JUDGED = 6
_ROOT_ACCURACY = {np.float32: 1e-2, np.float64: 1e-3}


@dataclass
class Certificate:
    """What a block has reached, in float64: weights (features x 16, in the order of `Rows`) and values by
    lane.
    """

    W: Array
    margins: Array
    objective: Array
    dual_objective: Array

    @property
    def gap(self) -> Array:
        """The duality gap; rounding can take it below zero at the very end, which zero bounds."""
        return np.maximum(self.objective - self.dual_objective, 0.0)


@dataclass
class Ascent:
    """Dual variables and weights of one block. For the logistic loss `points` holds u, with alpha = C
    sigma(-u).
    """

    rows: Rows
    block: Block
    loss: Loss
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

    def start_at(self, margins: Array) -> None:
        """Dual variables from margins y_i w'x_i, and the weights that belong to them."""
        weights = self._weights()
        if self._logistic:
            self.points[:] = margins
        self.alpha[:] = self.loss.dual_variable(margins, weights)
        self.gather(self.dtype)

    def _weights(self) -> Array:
        """C by document and lane."""
        return np.asarray(self.rows.importance[:, None] * self.block.limits)

    def gather(self, dtype: type[np.floating]) -> None:
        """Go on in `dtype` with weights made anew from the dual variables."""
        self.dtype = dtype
        self.signs = self.block.signs.astype(dtype, copy=False)
        self.points = self.points.astype(dtype, copy=False)
        if self._logistic:
            self.alpha = self.loss.dual_variable(self.points.astype(np.float64), self._weights()).astype(
                dtype
            )
        self.alpha = self.alpha.astype(dtype, copy=False)
        data = self.rows.values(dtype)[0]
        self.W = np.zeros((self.rows.features, WIDTH), dtype)
        add_rows(self.rows.indptr, self.rows.indices, data, self.signs * self.alpha, self.W)

    def sweep(self, negligible: float, *, full: bool) -> Array:
        """One pass over all documents, or over those worth it; the gap seen on the way, by lane."""
        n = self.rows.documents
        visits = visiting_order(self.order, np.arange(n) if full else self.candidates, self.rows.indptr)
        gaps = np.zeros((1, WIDTH), self.dtype)
        kept = self._relax(visits, negligible, gaps)
        self.candidates = self._again[:kept]
        self.passes += len(visits) / max(n, 1)
        return np.asarray(gaps[0], np.float64)

    def _relax(self, visits: NDArray[np.int64], negligible: float, gaps: NDArray[np.floating]) -> int:
        rows, dtype = self.rows, self.dtype
        matrix = (rows.indptr, rows.indices, *rows.values(dtype), self.signs)
        limits: NDArray[np.floating] = self.block.limits.astype(dtype)[None]
        if self._logistic:
            settings = (limits, visits, negligible, _ROOT_ACCURACY[dtype])
            return int(relax_logistic(*matrix, *settings, self.points, self.alpha, self.W, gaps, self._again))
        ridges = np.zeros_like(limits) if self.loss.name == "hinge" else 1 / (2 * limits)
        ceilings = limits if self.loss.name == "hinge" else np.full_like(limits, np.inf)
        lowest = -np.inf if self.loss.name == "squared" else 0.0
        bounds = (ceilings, ridges, lowest)
        return int(relax_hinge(*matrix, *bounds, visits, negligible, self.alpha, self.W, gaps, self._again))

    def climb(
        self, target: float, most_passes: float, alternative: Callable[[], float] | None = None
    ) -> bool:
        """Passes until the gap seen in a full pass is expected to have come below `target`; False if stopped
        before.

        It stops when the passes to be expected would visit more documents than `alternative` says another way
        costs.
        """
        n, size = max(self.rows.documents, 1), self.block.size
        gaps = [float(self.seen_gap[:size].sum())]
        while self.passes < most_passes:
            negligible = _PASSED_OVER * max(min(gaps[-1], 1e30), target) / n
            self.seen_gap = self.sweep(negligible, full=True)
            gaps.append(float(self.seen_gap[:size].sum()))
            if gaps[-1] * _rate(gaps, 1) <= target:
                return True
            if alternative is not None and self._slow(gaps, target, alternative):
                return False
            if len(self.candidates) < n / 2:
                self._polish(_PASSED_OVER * max(gaps[-1], target) / n, gaps[-1])
        return False

    def _slow(self, gaps: list[float], target: float, alternative: Callable[[], float]) -> bool:
        """Whether the way to `target` at the present pace is longer than the alternative; judged every few
        rounds.
        """
        if len(gaps) % _JUDGED:
            return False
        visits = self.rows.documents + 5 * len(self.candidates)
        rate = _rate(gaps, 3)
        rounds = np.log(target / gaps[-1]) / np.log(rate) if rate < 1 else np.inf
        return bool(rounds * visits > alternative())

    def _polish(self, negligible: float, before: float) -> None:
        """A few passes over the documents that hold the gap."""
        for _ in range(5):
            gap = float(self.sweep(negligible, full=False)[: self.block.size].sum())
            if gap <= 0.2 * before or not len(self.candidates):
                return

    def dual_estimate(self) -> Array:
        """The dual objective by lane as float32 has it, for setting targets."""
        penalty = 0.5 * np.einsum("ij,ij->j", self.W, self.W)
        values = self._dual_values(self.alpha.astype(np.float64), self.points.astype(np.float64))
        return np.asarray((values.sum(axis=0) - penalty)[: self.block.size])

    def _dual_values(self, alpha: Array, points: Array) -> Array:
        weights = self._weights()
        if self._logistic:
            return np.asarray(weights * softplus(-points) + points * alpha)
        return self.loss.dual_value(alpha, weights)

    def certify(self) -> Certificate:
        """Weights, objective and dual objective in float64, from the dual variables alone."""
        rows, signs, weights = self.rows, self.block.signs.astype(np.float64), self._weights()
        W = np.zeros((rows.features, WIDTH))
        alpha = self.alpha.astype(np.float64)
        if self._logistic:
            alpha = weights * sigmoid(-self.points.astype(np.float64))
        duals = self._dual_values(alpha, self.points.astype(np.float64))
        add_rows(rows.indptr, rows.indices, rows.data, signs * alpha, W)
        margins = np.empty_like(alpha)
        all_products(rows.indptr, rows.indices, rows.data, W, margins)
        penalty = 0.5 * np.einsum("ij,ij->j", W, W)
        margins *= signs
        objective = penalty + self.loss.value(margins, weights).sum(axis=0)
        return Certificate(W, margins, objective, np.asarray(duals.sum(axis=0) - penalty))


def _rate(gaps: list[float], rounds: int) -> float:
    """By what factor the gap fell in a round, over the last few; 1 when it did not."""
    before = gaps[max(len(gaps) - 1 - rounds, 0)]
    if not 0 < before < np.inf:
        return 1.0
    return float(min(1.0, gaps[-1] / before) ** (1 / rounds))
