"""Hinge and squared hinge: solve each category on its support vectors once passes slow down.

A round certifies the category in float64, adds to the working set the documents with a margin below one, and
solves the dual on the working set: by conjugate gradients, which need no Gram matrix, or by Newton steps on one.
Conjugate gradients are quick where few variables meet their bounds. They are tried until they have taken
half of the work of Newton steps in vain; then Newton steps finish the category, and the others of the block.
These run in float32, whose rounding errors the next certificate corrects, until that makes no more progress.

A margin moves by at most |x_i| times the move of the weights. A document far enough beyond its margin keeps a
loss of zero and needs no product: a lower bound is kept in place of its margin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.linear.fast.conjugate_steps import copy_documents, maximise_on_documents
from textcat.linear.fast.dual_ascent import CertifiedBlock, DualAscent
from textcat.linear.fast.gram import GramMatrix
from textcat.linear.fast.lane_losses import LaneLoss
from textcat.linear.fast.layout import PackedRows, add_entries, join_lanes, multiply_entries, split_lanes
from textcat.linear.fast.working_set import BoundedNewton, DualChange, maximise_on_working_set

Array = NDArray[np.float64]

# Rounding of a bound, in units of |x_i| |w|.
_ROUNDING = 1e-9


@compile_kernel
def _combine_documents(spans: Any, indices: Any, data: Any, signs: Any, alpha: Any, w: Any) -> None:
    """Compute the weights from the dual variables."""
    w[:] = 0.0
    for i in range(len(alpha)):
        if alpha[i] != 0.0:
            add_entries(indices, data, spans[i, 0], spans[i, 1], signs[i] * alpha[i], w)


@compile_kernel
def _update_margins(
    spans: Any, indices: Any, data: Any, signs: Any, lengths: Any, w: Any, moved: float, margins: Any
) -> None:
    """Lower the margins by the most that they can fall; compute those that may be below 1."""
    for i in range(len(margins)):
        margins[i] -= moved * lengths[i]
        if margins[i] < 1.0:
            margins[i] = signs[i] * multiply_entries(indices, data, spans[i, 0], spans[i, 1], w)


@dataclass
class CategoryState:
    """One category with its objectives. `margins` are exact below 1, and lower bounds above.

    `alpha`, `margins` and `w` are changed in place. `ceilings` are the largest values of the dual variables, `ridges`
    the loss's part of the diagonal of the dual's matrix.
    """

    rows: PackedRows
    loss: LaneLoss
    signs: Array
    limits: Array
    alpha: Array
    margins: Array
    w: Array
    lengths: Array
    ceilings: Array = field(init=False)
    ridges: Array = field(init=False)
    objective: float = field(init=False)
    dual_objective: float = field(init=False)

    def __post_init__(self) -> None:
        bounded = self.loss.name == "hinge"
        self.ceilings = self.limits if bounded else np.full_like(self.limits, np.inf)
        self.ridges = np.zeros_like(self.limits) if bounded else 1 / (2 * self.limits)
        self._update_objectives()

    @property
    def gap(self) -> float:
        """The duality gap, at least zero."""
        return max(self.objective - self.dual_objective, 0.0)

    def move(self, documents: NDArray[np.int64], values: Array) -> None:
        """Set the dual variables of some documents and zero all others; update weights, margins, objectives.

        Margins are recomputed for these documents and for those whose lower bound falls below 1.
        """
        self.alpha[:] = 0.0
        self.alpha[documents] = values
        matrix, step = (self.rows.spans, self.rows.indices, self.rows.data), self.w.copy()
        _combine_documents(*matrix, self.signs, self.alpha, self.w)
        step -= self.w
        moved = float(np.linalg.norm(step)) + _ROUNDING * float(np.linalg.norm(self.w))
        self.margins[documents] = -np.inf
        _update_margins(*matrix, self.signs, self.lengths, self.w, moved, self.margins)
        self._update_objectives()

    def _update_objectives(self) -> None:
        penalty = 0.5 * float(self.w @ self.w)
        below, used = np.flatnonzero(self.margins < 1), np.flatnonzero(self.alpha > 0)
        losses = self.loss.value(self.margins[below], self.limits[below])
        self.objective = penalty + float(losses.sum())
        self.dual_objective = float(self.loss.dual_value(self.alpha[used], self.limits[used]).sum()) - penalty


# A Gram matrix of more documents than this costs more than it saves.
_MAX_DOCUMENTS = 3000
_NEW_DOCUMENTS = 200
_MAX_ROUNDS = 30
# Cost of finishing a category with s thousand support vectors, in document visits of a pass: a constant part,
# a part times s^2 and a part times s^3.
_VISIT_COSTS = (6_000.0, 60_000.0, 30_000.0)
# Conjugate gradients may take so many products with a document for each visit that a Gram matrix would cost. A
# visit takes as long as four.
_PRODUCTS_PER_VISIT = 2.0
# The working set is solved to a gap of this share of the category's target, or of its present gap.
_INNER_SHARE = 0.5
_ROUND_SHARE = 0.01
# After a round in float32 that leaves more than this share of the gap, rounds are in float64.
_FLOAT32_GAP_RATIO = 0.3


@dataclass
class FinishTiming:
    """Decides after each round of passes whether to finish now on the support vectors.

    Passes remove support vectors, which makes the finish cheaper: it waits as long as a round saves more than it costs.
    """

    ascent: DualAscent
    cost: float = np.inf
    visits: float = 0.0

    def is_quicker(self, lanes: NDArray[np.bool_], left: float, visits: float) -> bool:
        """Return whether to finish some lanes after `visits` document visits, of which `left` more are expected."""
        cost = self._estimate_cost(lanes)
        saved, spent = self.cost - cost, visits - self.visits
        self.cost, self.visits = cost, visits
        return cost < left and saved < spent

    def _estimate_cost(self, lanes: NDArray[np.bool_]) -> float:
        """Return the cost of finishing the lanes, in document visits; infinity if one has too many support vectors."""
        sizes = self.ascent.sum_dual_variables()[1][: len(lanes)] / 1000.0
        if sizes.max(initial=0) * 1000.0 > _MAX_DOCUMENTS:
            return np.inf
        return _estimate_visits(sizes[lanes])


def _estimate_visits(sizes: Array) -> float:
    """Return the cost of Newton steps on working sets of so many thousand documents, in document visits of a pass."""
    fixed, square, cube = _VISIT_COSTS
    return float((fixed + square * sizes**2 + cube * sizes**3).sum())


def solve_on_support_vectors(ascent: DualAscent, tol: float) -> CertifiedBlock:
    """Solve each category to a gap of `tol`, unless its working set gets too large; return the certified block."""
    found, size = ascent.certify(), ascent.block.size
    lanes = np.flatnonzero(found.gap[:size] > tol * found.objective[:size])
    blocks = (ascent.alpha, found.margins, found.W)
    signs, *values = (split_lanes(block, lanes, np.float64) for block in (ascent.block.signs, *blocks))
    lengths = np.sqrt(ascent.rows.norms)
    iterative = True
    for k, lane in enumerate(lanes):
        limits = ascent.block.limits[lane] * ascent.rows.importance
        alpha, margins, w = (part[k] for part in values)
        category = CategoryState(ascent.rows, ascent.loss, signs[k], limits, alpha, margins, w, lengths)
        iterative = _solve_category(category, tol, iterative)
        found.objective[lane], found.dual_objective[lane] = category.objective, category.dual_objective
    for block, part in zip(blocks, values, strict=True):
        join_lanes(part, lanes, block)
        block[:, size:] = block[:, size - 1 : size]
    found.objective[size:], found.dual_objective[size:] = (
        found.objective[size - 1],
        found.dual_objective[size - 1],
    )
    return found


def _solve_category(category: CategoryState, tol: float, iterative: bool) -> bool:
    """Run rounds until the gap is at most `tol` of the objective or the working set gets too large.

    Return whether conjugate gradients led to their target, if they were tried.
    """
    gram, newton = GramMatrix(category.rows, category.signs, category.ridges, np.float32), BoundedNewton()
    for _ in range(_MAX_ROUNDS):
        gap, target = category.gap, tol * category.objective
        if gap <= target:
            break
        wanted = _choose_working_set(category)
        size = np.count_nonzero(wanted)
        if not 0 < size <= _MAX_DOCUMENTS:
            break
        aim = max(_INNER_SHARE * target, _ROUND_SHARE * gap)
        if iterative:
            iterative = _take_conjugate_steps(category, np.flatnonzero(wanted), aim)
            continue
        grown = gram.grow(wanted)
        led = _solve_working_set(category, gram, newton, aim)
        if category.gap > _FLOAT32_GAP_RATIO * gap and not (led and grown) and gram.dtype is np.float32:
            gram, newton = (
                GramMatrix(category.rows, category.signs, category.ridges, np.float64),
                BoundedNewton(),
            )
    return iterative


def _take_conjugate_steps(category: CategoryState, own: NDArray[np.int64], aim: float) -> bool:
    """Move the category towards the optimum on its working set by conjugate gradients; return whether these led there.

    They may take half of the work that Newton steps on a Gram matrix would.
    """
    rows = category.rows
    matrix, features = copy_documents(rows, own, category.signs)
    alpha, w = category.alpha[own], category.w[features]
    bounds = (rows.norms[own], category.ceilings[own], category.ridges[own])
    most = _PRODUCTS_PER_VISIT * _estimate_visits(np.array([len(own) / 1000.0]))
    gap, _ = maximise_on_documents(matrix, *bounds, alpha, w, aim, most)
    category.move(own, alpha)
    return bool(gap <= aim)


def _solve_working_set(category: CategoryState, gram: GramMatrix, newton: BoundedNewton, aim: float) -> bool:
    """Move the category to the optimum on its working set; return whether the element type allowed it.

    The gradient is computed from the exact margins.
    """
    own = gram.chosen
    alpha, ceilings, ridges = category.alpha[own], category.ceilings[own], category.ridges[own]
    gradient = 1.0 - category.margins[own] - ridges * alpha
    part = DualChange(gram.Q, *(v.astype(gram.dtype) for v in (-alpha, ceilings - alpha, ridges, gradient)))
    led = maximise_on_working_set(part, newton, aim)
    alpha = np.clip(alpha + part.change, 0.0, ceilings)
    alpha[part.change == part.low] = 0.0
    at_ceiling = part.change == part.high
    alpha[at_ceiling] = ceilings[at_ceiling]
    category.move(own, alpha)
    return led


def _choose_working_set(category: CategoryState) -> NDArray[np.bool_]:
    """Return the support vectors and the documents with a margin below one, at most half as many of these."""
    used = category.alpha > 0
    violators = np.flatnonzero(~used & (category.margins < 1))
    most = max(_NEW_DOCUMENTS, int(used.sum()) // 2)
    if len(violators) > most:
        violators = violators[np.argpartition(category.margins[violators], most)[:most]]
    used[violators] = True
    return np.asarray(used)
