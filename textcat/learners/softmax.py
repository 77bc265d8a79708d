"""Polytomous logistic regression: the softmax of linear scores gives the probability of each category.

Problem:  minimise (1/n) sum_i [log sum_k exp(f_k(i)) - f_y(i)] + lam * penalty(W), f_k = w_k.x + bias * b_k,
          where the penalty is the sum of squares (Gaussian prior) or of absolute values (Laplace prior).
Inputs:   features, one category per document, prior, lam. A Gaussian prior of variance tau is
          lam = 1 / (2 tau n), a Laplace prior with parameter lambda is lam = lambda / n.
Outputs:  LinearModel with a joint certificate (objective, optimality violation, duality gap).
Paper:    genkin_2004 section 7; the priors of its equations 10 and 11 on the weights of every category.

Algorithm "dual": coordinate ascent in the dual (`textcat.learners.softmax_dual`); Gaussian prior on all weights.
Its passes grow with the square of a feature that all documents share, such as a large constant; L-BFGS-B, which
scales features, takes over after `DUAL_PASSES`.
Algorithm "lbfgs": rounds of L-BFGS-B. The Laplace penalty is linear in each orthant, where L-BFGS-B finds exact zeros
at the bounds. Near the optimum the objective is flat to within rounding while the gradient is not, so Newton
steps finish the solution.
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
from textcat.learners.checks import Bools, Features, Floats, check_one_category_each, require_positive
from textcat.learners.softmax_dual import ascend_softmax_dual
from textcat.linear.certificate import Certificate
from textcat.linear.model import LinearModel
from textcat.matrices import check_matrix

PriorName = Literal["gaussian", "laplace"]
AlgorithmName = Literal["lbfgs", "dual"]

DUAL_PASSES = 500
MAX_NEWTON_STEPS = 5
MAX_INNER_STEPS = 100
SMALL_VIOLATION_SHARE = 1e-2
"""Under a Laplace prior the violation must fall below this share of the penalty, however small that is."""


@dataclass(frozen=True)
class SoftmaxProblem:
    """The objective of one training set; weights have a row per feature and a last row of constants."""

    X: Features
    Y: Bools
    prior: PriorName
    lam: float
    bias: float = 1.0
    penalize_bias: bool = True
    weights: Floats | None = None

    @property
    def total(self) -> float:
        """The divisor of sums over documents: their number, or the sum of their weights."""
        return float(self.Y.shape[0] if self.weights is None else self.weights.sum())

    def apply_weights(self, values: Floats) -> Floats:
        """Multiply the values of each document by its weight."""
        if self.weights is None:
            return values
        return values * (self.weights if values.ndim == 1 else self.weights[:, None])

    @property
    def shape(self) -> tuple[int, int]:
        """Features plus the constant, by categories."""
        return self.X.shape[1] + 1, self.Y.shape[1]

    def compute_penalties(self) -> Floats:
        """Return lam for every row of weights, 0 for an unpenalised constant."""
        lam = np.full((self.shape[0], 1), self.lam)
        lam[-1] *= self.penalize_bias
        return lam

    def compute_units(self) -> Floats:
        """Return the root of a bound on the curvature in each row of weights.

        The solver and the violation use these units, so that the scale of a feature changes nothing.
        """
        squares = self.X.multiply(self.X) if scipy.sparse.issparse(self.X) else self.X * self.X
        mean = squares.mean(axis=0) if self.weights is None else squares.T @ self.weights / self.total
        power = np.append(np.asarray(mean, dtype=np.float64).ravel(), self.bias**2)
        curvature = power[:, None] / 4
        if self.prior == "gaussian":
            curvature = curvature + 2 * self.compute_penalties()
        return np.sqrt(np.where(curvature > 0, curvature, 1.0))

    def scores(self, weights: Floats) -> Floats:
        """Return f_k(x_i), documents x categories."""
        return np.asarray(self.X @ weights[:-1] + self.bias * weights[-1])

    def multiply_backward(self, residual: Floats) -> Floats:
        """Multiply the transposed features, constant included, by documents x categories."""
        return np.vstack([np.asarray(self.X.T @ residual), self.bias * residual.sum(axis=0)])

    def compute_loss_and_residual(self, weights: Floats) -> tuple[float, Floats]:
        """Return the mean loss and its slope in every score: (probability - label) / n, weighted."""
        scores = self.scores(weights)
        normaliser = scipy.special.logsumexp(scores, axis=1, keepdims=True)
        loss = float(np.sum(self.apply_weights(normaliser[:, 0] - scores[self.Y]))) / self.total
        return loss, self.apply_weights(np.exp(scores - normaliser) - self.Y) / self.total

    def compute_probabilities(self, weights: Floats) -> Floats:
        """Return the probability of each category, documents x categories."""
        return np.asarray(scipy.special.softmax(self.scores(weights), axis=1))

    def compute_least_subgradient(self, weights: Floats, slope: Floats) -> Floats:
        """Return the least subgradient of the objective where the loss has the gradient `slope`."""
        lam = self.compute_penalties()
        if self.prior == "gaussian":
            return slope + 2 * lam * weights
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - lam, 0)
        return np.where(weights == 0, at_zero, slope + lam * np.sign(weights))

    def compute_downhill(self, weights: Floats) -> Floats:
        """Return minus the least subgradient of the objective."""
        return -self.compute_least_subgradient(
            weights, self.multiply_backward(self.compute_loss_and_residual(weights)[1])
        )

    def compute_penalty(self, weights: Floats) -> float:
        """Return lam * penalty(W)."""
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
    algorithm: AlgorithmName = "lbfgs",
) -> LinearModel:
    """Train all categories in one problem; `max_passes` bounds the evaluations.

    `tol` bounds the violation ("lbfgs") or the duality gap ("dual"), relative to objectives below 1. With
    `sample_weight`, all above 0, the mean loss is the weighted mean.
    """
    check_matrix(X)
    check_one_category_each(Y, X.shape[0])
    if sample_weight is not None and not (sample_weight.shape == Y.shape[:1] and (sample_weight > 0).all()):
        raise UsageError(
            "sample_weight must have one weight above 0 for each document",
            where="softmax",
            hint="Remove the documents that should not count.",
        )
    require_positive(lam=lam, tol=tol, max_passes=max_passes)
    problem = SoftmaxProblem(X, Y, prior, lam, bias, penalize_bias, sample_weight)
    began = time.perf_counter()
    dual_gap = None
    if algorithm == "dual":
        if prior != "gaussian" or not penalize_bias:
            raise UsageError(
                "the dual algorithm needs the Gaussian prior on all weights, constants too",
                where="softmax",
                hint="Write `algorithm: lbfgs`.",
            )
        found = ascend_softmax_dual(X, Y, lam, bias, sample_weight, tol, min(max_passes, DUAL_PASSES))
        weights, passes, dual_gap = found.weights, found.passes, found.gap
        if not found.converged and passes < max_passes:
            # The gap at weights with gradient g is |g|^2 / (4 lam).
            sharp = np.sqrt(4 * lam * tol / (Y.shape[1] * np.square(problem.compute_units()).sum()))
            weights, used = _minimise(problem, min(tol, float(sharp)), max_passes - passes)
            passes, dual_gap = passes + used, np.inf
    else:
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
    if algorithm != "lbfgs":
        settings["algorithm"] = algorithm
    certificate = certify(problem, weights, tol, passes, time.perf_counter() - began, dual_gap)
    return LinearModel(
        weights[:-1], bias * weights[-1], settings=settings, kind="multiclass", joint_certificate=certificate
    )


def _minimise(problem: SoftmaxProblem, tol: float, max_passes: int) -> tuple[Floats, int]:
    """Run rounds of L-BFGS-B until the violation is small relative to the objective.

    When a round no longer lowers the objective, Newton steps finish. With the Laplace prior each round stays
    in one orthant: weights at 0 that are optimal stay there, others may move to the side that is downhill.
    """
    weights, passes, reached = np.zeros(problem.shape), 0, np.inf
    units = problem.compute_units()
    while passes < max_passes:
        loss, residual = problem.compute_loss_and_residual(weights)
        objective = loss + problem.compute_penalty(weights)
        downhill = -problem.compute_least_subgradient(weights, problem.multiply_backward(residual))
        target = tol * min(1.0, objective)
        if problem.prior == "laplace":
            target = min(target, SMALL_VIOLATION_SHARE * problem.lam / float(units.max()))
        if np.max(np.abs(downhill) / units) <= target:
            break
        if not objective < reached:
            weights = _polish_weights(problem, weights, target)
            break
        reached = objective
        side = np.where(weights != 0, np.sign(weights), np.sign(downhill))
        weights, used = _minimise_round(problem, weights, side, target, max_passes - passes)
        passes += used
    return weights, passes


def _minimise_round(
    problem: SoftmaxProblem, start: Floats, side: Floats, tol: float, max_passes: int
) -> tuple[Floats, int]:
    """Run L-BFGS-B, without bounds for the Gaussian prior, in the orthant of `side` for Laplace.

    The penalty is stiffness w^2 / 2 + tilt w there; only weights that the bounds let move are optimised.
    """
    gaussian = problem.prior == "gaussian"
    if gaussian:
        side = np.zeros(problem.shape)
    free = np.full(problem.shape, gaussian)
    free[-1] |= not problem.penalize_bias
    low, high = np.where((side < 0) | free, -np.inf, 0.0), np.where((side > 0) | free, np.inf, 0.0)
    stiffness = 2 * problem.compute_penalties() if gaussian else 0.0
    tilt = problem.compute_penalties() * side
    moving = low < high
    units = np.broadcast_to(problem.compute_units(), problem.shape)[moving]

    def compute_objective(flat: Floats) -> tuple[float, Floats]:
        weights = np.zeros(problem.shape)
        weights[moving] = flat / units
        loss, residual = problem.compute_loss_and_residual(weights)
        push = stiffness * weights + tilt
        slope = problem.multiply_backward(residual) + push
        return loss + float(np.sum(0.5 * weights * (push + tilt))), slope[moving] / units

    found = scipy.optimize.minimize(
        compute_objective,
        start[moving] * units,
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(low[moving], high[moving]),
        options={"gtol": tol, "ftol": 1e-16, "maxiter": max_passes, "maxfun": 2 * max_passes, "maxcor": 30},
    )
    weights = np.zeros(problem.shape)
    weights[moving] = found.x / units
    return weights, int(found.nfev)


def _polish_weights(problem: SoftmaxProblem, weights: Floats, target: float) -> Floats:
    """Take Newton steps while they reduce the violation, until it is at most `target` (in units).

    Weights that the Laplace prior holds at 0 stay there, and no penalised weight changes its sign.
    """
    units = problem.compute_units()
    downhill = problem.compute_downhill(weights)
    for _ in range(MAX_NEWTON_STEPS):
        violation = np.max(np.abs(downhill) / units)
        if violation <= target:
            break
        trial = weights + _compute_newton_step(problem, weights, downhill, units)
        new_downhill = problem.compute_downhill(trial)
        sign_changed = problem.prior == "laplace" and bool(
            (trial * weights < 0)[problem.compute_penalties()[:, 0] > 0].any()
        )
        if sign_changed or not np.max(np.abs(new_downhill) / units) < violation:
            break
        weights, downhill = trial, new_downhill
    return weights


def _compute_newton_step(problem: SoftmaxProblem, weights: Floats, downhill: Floats, units: Floats) -> Floats:
    """Return minus the inverse Hessian times the gradient, over the free weights, by conjugate gradient."""
    moving = (weights != 0) | (problem.prior == "gaussian") | (problem.compute_penalties() == 0)
    scale = np.broadcast_to(units, problem.shape)[moving]
    probabilities = problem.compute_probabilities(weights)

    def spread(flat: Floats) -> Floats:
        whole = np.zeros(problem.shape)
        whole[moving] = flat / scale
        return whole

    def multiply_hessian(flat: Floats) -> Floats:
        direction = spread(flat)
        change = problem.scores(direction)
        curved = probabilities * (change - (probabilities * change).sum(axis=1, keepdims=True))
        product = problem.multiply_backward(problem.apply_weights(curved) / problem.total)
        if problem.prior == "gaussian":
            product = product + 2 * problem.compute_penalties() * direction
        return np.asarray(product[moving] / scale)

    size = int(moving.sum())
    hessian = LinearOperator((size, size), matvec=multiply_hessian, dtype=np.float64)
    step, _ = cg(hessian, downhill[moving] / scale, rtol=1e-6, maxiter=MAX_INNER_STEPS)
    return spread(step)


def certify(
    problem: SoftmaxProblem,
    weights: Floats,
    tol: float,
    passes: int,
    seconds: float,
    dual_gap: float | None = None,
) -> Certificate:
    """Return objective, maximum subgradient component (in units) and the smallest known duality gap.

    A solution of the dual has a `dual_gap`; the smallest gap then decides whether it has converged.
    """
    loss, residual = problem.compute_loss_and_residual(weights)
    objective = loss + problem.compute_penalty(weights)
    slope = problem.multiply_backward(residual)
    subgradient = problem.compute_least_subgradient(weights, slope)
    violation = float(np.max(np.abs(subgradient) / problem.compute_units()))
    gap = objective - _compute_dual_value(problem, residual, slope) if problem.penalize_bias else None
    converged = violation <= tol * min(1.0, objective)
    reason = "converged" if converged else "no further progress or out of passes"
    if gap is not None and dual_gap is not None:
        gap = min(gap, dual_gap)
        reason = "converged" if gap <= tol * min(1.0, objective) else "out of passes"
    return Certificate(objective, violation, gap, passes, seconds, reason)


def _compute_dual_value(problem: SoftmaxProblem, residual: Floats, slope: Floats) -> float:
    """Return the dual objective at the residual, shrunk by s until feasible: the entropy of (1 - s) y + s p."""
    shrink, cost = 1.0, 0.0
    if problem.prior == "laplace":
        shrink = min(1.0, problem.lam / max(float(np.max(np.abs(slope))), np.finfo(float).tiny))
    else:
        cost = float(np.sum(slope**2)) / (4 * problem.lam)
    moved = shrink * residual * problem.total
    mixed = problem.Y + (moved if problem.weights is None else moved / problem.weights[:, None])
    entropy = float(np.sum(problem.apply_weights(scipy.special.entr(np.maximum(mixed, 0)))))
    return float(entropy / problem.total - cost)
