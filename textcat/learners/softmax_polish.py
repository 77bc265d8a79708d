"""The last digits of polytomous logistic regression, by Newton's method on its gradient.

Near the optimum the objective is flat to within rounding and a descent can no longer tell which way is down; the
gradient still can. Weights that the Laplace prior holds at 0 stay there, and no weight changes its sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from textcat.learners.multiclass_model import Floats

if TYPE_CHECKING:
    from textcat.learners.softmax import SoftmaxProblem

MOST_STEPS = 5
MOST_INNER_STEPS = 100


def polished(problem: SoftmaxProblem, weights: Floats, aim: float) -> Floats:
    """Weights whose violation, in units, is at `aim` or as near to it as Newton steps bring it."""
    units = problem.units()
    downhill = problem.downhill(weights)
    for _ in range(MOST_STEPS):
        violation = np.max(np.abs(downhill) / units)
        if violation <= aim:
            break
        trial = weights + _newton_step(problem, weights, downhill, units)
        ahead = problem.downhill(trial)
        turned = problem.prior == "laplace" and bool(
            (trial * weights < 0)[problem.penalties()[:, 0] > 0].any()
        )
        if turned or not np.max(np.abs(ahead) / units) < violation:
            break
        weights, downhill = trial, ahead
    return weights


def _newton_step(problem: SoftmaxProblem, weights: Floats, downhill: Floats, units: Floats) -> Floats:
    """Minus the inverse Hessian times the gradient, over the weights that move, by conjugate gradient."""
    moving = (weights != 0) | (problem.prior == "gaussian") | (problem.penalties() == 0)
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
        product = problem.backward(problem.weighed(bent) / problem.total)
        if problem.prior == "gaussian":
            product = product + 2 * problem.penalties() * direction
        return np.asarray(product[moving] / scale)

    size = int(moving.sum())
    hessian = LinearOperator((size, size), matvec=curved, dtype=np.float64)
    step, _ = cg(hessian, downhill[moving] / scale, rtol=1e-6, maxiter=MOST_INNER_STEPS)
    return spread(step)
