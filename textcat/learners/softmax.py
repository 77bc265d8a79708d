"""Polytomous logistic regression: the softmax of linear scores gives the probability of each category.

Near the optimum the objective is flat to within rounding and a descent can no longer tell which way is down; the
gradient still can. Weights that the Laplace prior holds at 0 stay there, and no weight changes its sign.

Problem:  minimise (1/n) sum_i [log sum_k exp(f_k(i)) - f_y(i)] + lam * penalty(W), f_k = w_k.x + bias * b_k,
          the penalty being the sum of squares (Gaussian prior) or of absolute values (Laplace prior).
Inputs:   features, one category a document, prior, lam. A Gaussian prior of variance tau is
          lam = 1 / (2 tau n), a Laplace prior with parameter lambda is lam = lambda / n.
Outputs:  MulticlassModel with a certificate (objective, optimality violation, duality gap).
Paper:    genkin_2004 section 7; the priors of its equations 10 and 11 on the weights of every category.
The Laplace penalty is linear in each orthant, where L-BFGS-B finds exact zeros at the bounds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.special
from scipy.sparse.linalg import LinearOperator, cg

from textcat.errors import UsageError
from textcat.learners.multiclass_model import (
    Bools,
    Features,
    Floats,
    MulticlassCertificate,
    MulticlassModel,
    check_one_category_each,
)

MAX_NEWTON_STEPS = 5
MAX_INNER_STEPS = 100


def polish_weights(problem: SoftmaxProblem, weights: Floats, aim: float) -> Floats:
    """Weights whose violation, in units, is at `aim` or as near to it as Newton steps bring it."""
    units = problem.compute_units()
    downhill = problem.compute_downhill(weights)
    for _ in range(MAX_NEWTON_STEPS):
        violation = np.max(np.abs(downhill) / units)
        if violation <= aim:
            break
        trial = weights + _compute_newton_step(problem, weights, downhill, units)
        ahead = problem.compute_downhill(trial)
        turned = problem.prior == "laplace" and bool(
            (trial * weights < 0)[problem.compute_penalties()[:, 0] > 0].any()
        )
        if turned or not np.max(np.abs(ahead) / units) < violation:
            break
        weights, downhill = trial, ahead
    return weights


def _compute_newton_step(problem: SoftmaxProblem, weights: Floats, downhill: Floats, units: Floats) -> Floats:
    """Minus the inverse Hessian times the gradient, over the weights that move, by conjugate gradient."""
    moving = (weights != 0) | (problem.prior == "gaussian") | (problem.compute_penalties() == 0)
    scale = np.broadcast_to(units, problem.shape)[moving]
    chances = problem.probabilities(weights)

    def spread(flat: Floats) -> Floats:
        whole = np.zeros(problem.shape)
        whole[moving] = flat / scale
        return whole

    def curved(flat: Floats) -> Floats:
        direction = spread(flat)
        change = problem.scores(direction)
        bent = chances * (change - (chances * change).sum(axis=1, keepdims=True))
        product = problem.multiply_backward(problem.apply_weights(bent) / problem.total)
        if problem.prior == "gaussian":
            product = product + 2 * problem.compute_penalties() * direction
        return np.asarray(product[moving] / scale)

    size = int(moving.sum())
    hessian = LinearOperator((size, size), matvec=curved, dtype=np.float64)
    step, _ = cg(hessian, downhill[moving] / scale, rtol=1e-6, maxiter=MAX_INNER_STEPS)
    return spread(step)


PriorName = Literal["gaussian", "laplace"]

SMALL_VIOLATION_SHARE = 1e-2
"""A violation counts as small only well below the Laplace penalty itself, however small that is."""


@dataclass(frozen=True)
class SoftmaxProblem:
    """The objective of one training set; weights have a row a feature and a last row of constants."""

    X: Features
    Y: Bools
    prior: PriorName
    lam: float
    bias: float = 1.0
    penalize_bias: bool = True
    weights: Floats | None = None

    @property
    def total(self) -> float:
        """What a sum over documents is divided by: their number, or their weights together."""
        return float(self.Y.shape[0] if self.weights is None else self.weights.sum())

    def apply_weights(self, values: Floats) -> Floats:
        """Each document's values times its weight."""
        if self.weights is None:
            return values
        return values * (self.weights if values.ndim == 1 else self.weights[:, None])

    @property
    def shape(self) -> tuple[int, int]:
        """Features plus the constant, by categories."""
        return self.X.shape[1] + 1, self.Y.shape[1]

    def compute_penalties(self) -> Floats:
        """lam for every row of weights, 0 for a constant that is left free."""
        lam = np.full((self.shape[0], 1), self.lam)
        lam[-1] *= self.penalize_bias
        return lam

    def compute_units(self) -> Floats:
        """The root of a bound on the curvature in each row of weights: descents and violations count in it.

        A feature measured in other units, even a million times larger, then gives the same course.
        """
        squares = self.X.multiply(self.X) if scipy.sparse.issparse(self.X) else self.X * self.X
        mean = squares.mean(axis=0) if self.weights is None else squares.T @ self.weights / self.total
        power = np.append(np.asarray(mean, dtype=np.float64).ravel(), self.bias**2)
        curvature = power[:, None] / 4
        if self.prior == "gaussian":
            curvature = curvature + 2 * self.compute_penalties()
        return np.sqrt(np.where(curvature > 0, curvature, 1.0))

    def scores(self, weights: Floats) -> Floats:
        """f_k(x_i), documents x categories."""
        return np.asarray(self.X @ weights[:-1] + self.bias * weights[-1])

    def multiply_backward(self, residual: Floats) -> Floats:
        """The transposed features, constant included, times documents x categories."""
        return np.vstack([np.asarray(self.X.T @ residual), self.bias * residual.sum(axis=0)])

    def compute_loss_and_residual(self, weights: Floats) -> tuple[float, Floats]:
        """Mean loss, and its slope in every score: (probability - label) / n, by the documents' weights."""
        scores = self.scores(weights)
        normaliser = scipy.special.logsumexp(scores, axis=1, keepdims=True)
        loss = float(np.sum(self.apply_weights(normaliser[:, 0] - scores[self.Y]))) / self.total
        return loss, self.apply_weights(np.exp(scores - normaliser) - self.Y) / self.total

    def probabilities(self, weights: Floats) -> Floats:
        """Of each category, documents x categories."""
        return np.asarray(scipy.special.softmax(self.scores(weights), axis=1))

    def compute_least_subgradient(self, weights: Floats, slope: Floats) -> Floats:
        """Of the objective, where the loss has the gradient `slope`."""
        lam = self.compute_penalties()
        if self.prior == "gaussian":
            return slope + 2 * lam * weights
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - lam, 0)
        return np.where(weights == 0, at_zero, slope + lam * np.sign(weights))

    def compute_downhill(self, weights: Floats) -> Floats:
        """Minus the least subgradient of the objective."""
        return -self.compute_least_subgradient(
            weights, self.multiply_backward(self.compute_loss_and_residual(weights)[1])
        )

    def penalty(self, weights: Floats) -> float:
        """lam * penalty."""
        size = weights**2 if self.prior == "gaussian" else np.abs(weights)
        return float(np.sum(self.compute_penalties() * size))


def fit_softmax(
    X: Features,
    Y: Bools,
    *,
    prior: PriorName = "gaussian",
    lam: float = 1e-4,
    bias: float = 1.0,
    penalize_bias: bool = True,
    tol: float = 1e-7,
    max_passes: int = 5000,
    sample_weight: Floats | None = None,
) -> MulticlassModel:
    """Train all categories in one problem; `tol` bounds the violation, `max_passes` the iterations.

    With weights of documents, all above 0, the mean loss is the weighted mean.
    """
    check_one_category_each(X, Y)
    if sample_weight is not None and not (sample_weight.shape == Y.shape[:1] and (sample_weight > 0).all()):
        raise UsageError(
            "sample_weight does not hold one weight above 0 a document",
            where="softmax",
            hint="Give a number above 0 for each document; leave out the documents that should not count.",
        )
    if lam <= 0 or tol <= 0 or max_passes < 1:
        raise UsageError(
            f"lam {lam}, tol {tol}, max_passes {max_passes}", where="softmax", hint="Give numbers above 0."
        )
    problem = SoftmaxProblem(X, Y, prior, lam, bias, penalize_bias, sample_weight)
    began = time.perf_counter()
    weights, passes = _minimise(problem, tol, max_passes)
    settings = {
        "learner": "softmax",
        "prior": prior,
        "lam": lam,
        "bias": bias,
        "penalize_bias": penalize_bias,
        "tol": tol,
        "max_passes": max_passes,
    }
    return MulticlassModel(
        weights[:-1],
        bias * weights[-1],
        certificate=certify(problem, weights, tol, passes, time.perf_counter() - began),
        settings=settings,
    )


def _minimise(problem: SoftmaxProblem, tol: float, max_passes: int) -> tuple[Floats, int]:
    """Solve, and solve again from there while the violation is not small beside the objective reached.

    Where the objective says no more, Newton's method goes on from there.
    With the Laplace prior each round stays in one orthant, where the penalty is linear: weights at 0 that are
    optimal stay there, others may move to the side that is downhill.
    """
    weights, passes, reached = np.zeros(problem.shape), 0, np.inf
    units = problem.compute_units()
    while passes < max_passes:
        loss, residual = problem.compute_loss_and_residual(weights)
        objective = loss + problem.penalty(weights)
        downhill = -problem.compute_least_subgradient(weights, problem.multiply_backward(residual))
        aim = tol * min(1.0, objective)
        if problem.prior == "laplace":
            aim = min(aim, SMALL_VIOLATION_SHARE * problem.lam / float(units.max()))
        if np.max(np.abs(downhill) / units) <= aim:
            break
        if not objective < reached:
            weights = polish_weights(problem, weights, aim)
            break
        reached = objective
        side = np.where(weights != 0, np.sign(weights), np.sign(downhill))
        weights, used = _minimise_round(problem, weights, side, aim, max_passes - passes)
        passes += used
    return weights, passes


def _minimise_round(
    problem: SoftmaxProblem, weights: Floats, side: Floats, tol: float, max_passes: int
) -> tuple[Floats, int]:
    """One call of L-BFGS-B: without bounds for the Gaussian prior, in the orthant of `side` for Laplace."""
    if problem.prior == "gaussian":
        side = np.zeros(problem.shape)
    free = np.full(problem.shape, problem.prior == "gaussian")
    free[-1] |= not problem.penalize_bias
    box = (np.where((side < 0) | free, -np.inf, 0.0), np.where((side > 0) | free, np.inf, 0.0))
    stiffness = 2 * problem.compute_penalties() if problem.prior == "gaussian" else 0.0
    return _minimise_in_box(
        problem, weights, stiffness, problem.compute_penalties() * side, box, tol, max_passes
    )


def _minimise_in_box(
    problem: SoftmaxProblem,
    start: Floats,
    stiffness: Floats | float,
    tilt: Floats | float,
    box: tuple[Floats, Floats],
    tol: float,
    max_passes: int,
) -> tuple[Floats, int]:
    """L-BFGS-B on loss + stiffness w^2 / 2 + tilt w between bounds, over weights that the bounds let move."""
    moving = box[0] < box[1]
    units = np.broadcast_to(problem.compute_units(), problem.shape)[moving]

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights = np.zeros(problem.shape)
        weights[moving] = flat / units
        loss, residual = problem.compute_loss_and_residual(weights)
        push = stiffness * weights + tilt
        slope = problem.multiply_backward(residual) + push
        return loss + float(np.sum(0.5 * weights * (push + tilt))), slope[moving] / units

    found = scipy.optimize.minimize(
        objective,
        start[moving] * units,
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(box[0][moving], box[1][moving]),
        options={"gtol": tol, "ftol": 1e-16, "maxiter": max_passes, "maxfun": 2 * max_passes, "maxcor": 30},
    )
    weights = np.zeros(problem.shape)
    weights[moving] = found.x / units
    return weights, int(found.nfev)


def certify(
    problem: SoftmaxProblem, weights: Floats, tol: float, passes: int, seconds: float
) -> MulticlassCertificate:
    """Objective, largest component of the least subgradient (in units), and duality gap of any weights."""
    loss, residual = problem.compute_loss_and_residual(weights)
    objective = loss + problem.penalty(weights)
    slope = problem.multiply_backward(residual)
    violation = float(
        np.max(np.abs(problem.compute_least_subgradient(weights, slope)) / problem.compute_units())
    )
    return MulticlassCertificate(
        objective=objective,
        violation=violation,
        gap=objective - _compute_dual_value(problem, residual, slope)
        if problem.penalize_bias
        else float("nan"),
        passes=passes,
        seconds=seconds,
        reason="converged"
        if violation <= tol * min(1.0, objective)
        else "no further progress or out of passes",
    )


def _compute_dual_value(problem: SoftmaxProblem, residual: Floats, slope: Floats) -> float:
    """The dual objective at the residual, shrunk by s until feasible: the entropy of (1 - s) y + s p."""
    shrink, cost = 1.0, 0.0
    if problem.prior == "laplace":
        shrink = min(1.0, problem.lam / max(float(np.max(np.abs(slope))), np.finfo(float).tiny))
    else:
        cost = float(np.sum(slope**2)) / (4 * problem.lam)
    moved = shrink * residual * problem.total
    mixed = problem.Y + (moved if problem.weights is None else moved / problem.weights[:, None])
    entropy = float(np.sum(problem.apply_weights(scipy.special.entr(np.maximum(mixed, 0)))))
    return float(entropy / problem.total - cost)
