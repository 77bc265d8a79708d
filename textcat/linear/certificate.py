"""Certificates: the distance of any solution from the optimum, in double precision, and the rules that stop by it.

The gap is the objective less the value of a feasible point of the dual (equations 14 to 16 of
zhang_oles_2001, here for any penalty): with v_i in the domain of the conjugate k and G = (1/n) sum_i c_i
v_i y_i x_i,

    dual = -(1/n) sum_i c_i k(v_i) + sum_j min over w of [G_j w + lam_j pen(w - mode_j)].

A dual point comes from the row algorithm, or from the weights as v_i = f'(r_i), then scaled until it is
feasible: under a Laplace prior |G_j| <= lam_j must hold, for an unpenalized constant G must be 0 there.
The gap is an upper bound of the distance to the optimum, whatever algorithm found the two points.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.linear.problem import Floats, LinearProblem, Penalty
from textcat.linear.products import multiply_matrix


@dataclass(frozen=True)
class Certificate:
    """How a problem was solved, and how close its solution is to the optimum.

    `violation` is the largest component of the least subgradient: NaN if it was not measured, None for
    learners that do not define it. `gap` is the objective minus the value of a feasible dual point, so no
    solution is better by more than that; None where nothing bounds the optimum. `objective` is None for
    learners that minimise nothing. `passes` counts what the algorithm repeats: passes over the data, or pair
    steps of the SMO. Where small weights were dropped, `pruned_share` is the share of the nonzero weights that
    were, and `pruned_change` the largest change of a training document's score; the other fields are those before.
    """

    objective: float | None
    violation: float | None = None
    gap: float | None = None
    passes: int = 0
    seconds: float = 0.0
    reason: str = ""
    pruned_share: float | None = None
    pruned_change: float | None = None

    def as_dict(self) -> dict[str, float | int | str | None]:
        """Return the fields as JSON-able data, without a violation or pruning where there is none."""
        fields = asdict(self)
        optional = ("violation", "pruned_share", "pruned_change")
        return {name: value for name, value in fields.items() if name not in optional or value is not None}


@dataclass(frozen=True)
class OptimalityMeasures:
    """Objective, optimality violation and duality gap of each category of a block."""

    objective: Floats
    violation: Floats
    gap: Floats

    def is_within(self, tolerance: float, start: Floats) -> NDArray[np.bool_]:
        """Return whether the relative gap is within the tolerance, by category.

        Where there is no gap, the violation relative to that at the start counts.
        """
        by_gap = self.gap <= tolerance * np.abs(self.objective)
        by_violation = ~np.isfinite(self.gap) & (self.violation <= tolerance * start)
        return np.asarray(by_gap | by_violation)


def signs_of(problem: LinearProblem, block: slice) -> Floats:
    """Return the labels of a block as -1 and +1."""
    return np.where(problem.positive[:, block], 1.0, -1.0)


def scores_of(problem: LinearProblem, weights: Floats) -> Floats:
    """Return the scores, documents x categories, of a block."""
    return multiply_matrix(problem.rows, weights)


def apply_document_weights(problem: LinearProblem, block: slice, values: Floats) -> Floats:
    """Multiply values by the weights of documents."""
    return values if problem.weights is None else problem.weights[:, block] * values


def compute_objective(
    problem: LinearProblem, block: slice, weights: Floats, scores: Floats | None = None
) -> Floats:
    """Return (1/n) sum of losses + penalty, for each category of a block."""
    scores = scores_of(problem, weights) if scores is None else scores
    losses = apply_document_weights(problem, block, problem.loss.value(scores * signs_of(problem, block)))
    return np.asarray(losses.sum(axis=0) / problem.documents + problem.penalty.values(weights, block))


def pull_of(problem: LinearProblem, block: slice, dual: Floats) -> Floats:
    """Return G = (1/n) X' (c v y) on the selected features: the slope of the loss when v = f'(r)."""
    pulled = problem.matrix.pull(apply_document_weights(problem, block, dual) * signs_of(problem, block))
    return pulled * problem.free(block) / problem.documents


def penalty_slope(penalty: Penalty, block: slice, weights: Floats, slope: Floats) -> Floats:
    """Return the least subgradient of loss plus penalty at each weight."""
    strength = penalty.strength[:, block]
    if penalty.prior == "laplace":
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - strength, 0.0)
        return np.where(weights == 0, at_zero, slope + strength * np.sign(weights))
    return np.asarray(slope + 2 * np.where(weights == 0, 0.0, strength) * weights)


def balance_dual(problem: LinearProblem, block: slice, dual: Floats) -> Floats:
    """Scale one side of the dual point down so that G is 0 at the unpenalized constant."""
    weighted = apply_document_weights(problem, block, dual)
    inside = problem.positive[:, block]
    on_positive, on_negative = (weighted * inside).sum(axis=0), (weighted * ~inside).sum(axis=0)
    same = on_positive * on_negative > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink_positive = np.where(same, np.minimum(1.0, on_negative / on_positive), 0.0)
        shrink_negative = np.where(same, np.minimum(1.0, on_positive / on_negative), 0.0)
    return np.asarray(dual * np.where(inside, shrink_positive, shrink_negative))


def _compute_laplace_scale(penalty: Penalty, block: slice, pull: Floats) -> Floats:
    strength = np.broadcast_to(penalty.strength[:, block], pull.shape)
    excess = np.abs(pull)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = np.where(excess > strength, strength / excess, 1.0)
    return np.asarray(allowed.min(axis=0, initial=1.0))


def _minimise_penalty_term(penalty: Penalty, block: slice, pull: Floats) -> Floats:
    """Return min over w of [G w + lam pen(w)], summed over features; a Laplace prior's pull is within its strength."""
    if penalty.prior == "laplace":
        return np.zeros(pull.shape[1])
    strength = np.broadcast_to(penalty.strength[:, block], pull.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        best = np.where(pull == 0, 0.0, 0.0 - pull / (2 * strength))
        value = pull * best + np.where(best == 0, 0.0, strength * (best * best))
    return np.asarray(np.where(np.isnan(value), -np.inf, value).sum(axis=0))


def compute_dual_value(problem: LinearProblem, block: slice, dual: Floats) -> Floats:
    """Return the dual objective at a point made feasible; -inf where the prior gives no bound."""
    penalty = problem.penalty
    if problem.bias != 0.0 and not np.any(penalty.strength[-1:, block]):
        dual = balance_dual(problem, block, dual)
    pull = pull_of(problem, block, dual)
    if problem.bias != 0.0 and not np.any(penalty.strength[-1:, block]):
        pull[-1] = 0.0
    if penalty.prior == "laplace":
        scale = _compute_laplace_scale(penalty, block, pull)
        dual, pull = dual * scale, pull * scale
    if problem.loss.conjugate is None:
        raise ValueError(f"the {problem.loss.name} loss has no conjugate, and its problem no dual")
    conjugate = (
        apply_document_weights(problem, block, problem.loss.conjugate(dual)).sum(axis=0) / problem.documents
    )
    return np.asarray(_minimise_penalty_term(penalty, block, pull) - conjugate)


def measure(
    problem: LinearProblem, block: slice, weights: Floats, dual: Floats | None = None
) -> OptimalityMeasures:
    """Return objective, violation and gap of a block; `dual` is the algorithm's dual point, if it has one."""
    scores = scores_of(problem, weights)
    objective = compute_objective(problem, block, weights, scores)
    slope = problem.loss.derivative(scores * signs_of(problem, block))
    if problem.loss.smooth:
        violation = np.abs(penalty_slope(problem.penalty, block, weights, pull_of(problem, block, slope)))
        violation = (violation * problem.free(block)).max(axis=0, initial=0.0)
    else:
        violation = np.full(objective.shape, np.nan)
    if problem.loss.conjugate is None:
        gap = np.full(objective.shape, np.nan)
    else:
        gap = objective - compute_dual_value(problem, block, slope if dual is None else dual)
    return OptimalityMeasures(objective, violation, gap)


@dataclass
class BlockResult:
    """Weights (features x categories of a block), certificates, and dual variables if the algorithm has any."""

    weights: Floats
    certificates: list[Certificate]
    dual: Floats | None = None


def sum_changes(before: Floats, now: Floats) -> tuple[Floats, Floats]:
    """Return the sums over rows of the absolute changes and of the absolute new scores."""
    if now.shape[1] == 1 or not (before.flags.c_contiguous and now.flags.c_contiguous):
        # numpy adds numbers that lie next to each other in another order than row after row.
        return np.abs(now - before).sum(axis=0), np.abs(now).sum(axis=0)
    change, size = np.zeros((2, now.shape[1]))
    add_changes(before, now, change, size)
    return change, size


@compile_kernel
def add_changes(before: Floats, now: Floats, change: Floats, size: Floats) -> None:
    """Add each row's absolute changes and absolute new scores to the sums, as numpy does for several columns."""
    for i in range(now.shape[0]):
        for k in range(now.shape[1]):
            change[k] += abs(now[i, k] - before[i, k])
            size[k] += abs(now[i, k])


class Progress:
    """Counts passes and retires categories whose stopping rule holds; solvers freeze retired lanes."""

    def __init__(self, stop: str, tol: float, max_passes: int, width: int) -> None:
        self.stop, self.tol, self.max_passes = stop, tol, max_passes
        self.passes = 0
        self.running: NDArray[np.bool_] = np.ones(width, dtype=bool)
        self._done = np.full(width, max_passes)
        self._reasons = ["passes"] * width
        self._scores: Floats | None = None
        self._start = np.ones(width)
        self._next_check = 1

    def begin(self, scores: Floats, measured: Callable[[], OptimalityMeasures]) -> None:
        """Record the scores or the violation at the start."""
        if self.stop == "scores":
            self._scores = scores.copy()
        elif self.stop == "optimality":
            self._start = measured().violation

    def end_pass(
        self, scores: Callable[[], Floats], measured: Callable[[], OptimalityMeasures], settled: bool = True
    ) -> None:
        """Count a pass and retire categories; `settled` is False while the problem itself still changes."""
        self.passes += 1
        if self.stop == "scores":
            now = scores()
            if self._scores is not None and settled:
                change, size = sum_changes(self._scores, now)
                self._retire(change <= self.tol * (1 + size), "scores")
            self._scores = now
        elif self.stop == "optimality" and settled and self.passes >= self._next_check:
            self._next_check = self.passes + max(1, self.passes // 4)
            self._retire(measured().is_within(self.tol, self._start), "optimality")
        if self.passes >= self.max_passes:
            self.running[:] = False

    def _retire(self, done: NDArray[np.bool_], reason: str) -> None:
        for k in np.flatnonzero(done & self.running):
            self.running[k] = False
            self._done[k] = self.passes
            self._reasons[k] = reason

    def certificates(self, final: OptimalityMeasures, began: float) -> list[Certificate]:
        """Return one certificate per category; a block's seconds are divided in proportion to passes."""
        spent = time.perf_counter() - began
        share = self._done / max(int(self._done.sum()), 1)
        return [
            Certificate(
                float(final.objective[k]),
                float(final.violation[k]),
                float(final.gap[k]) if np.isfinite(final.gap[k]) else None,
                int(self._done[k]),
                float(spent * share[k]),
                self._reasons[k],
            )
            for k in range(len(self._reasons))
        ]
