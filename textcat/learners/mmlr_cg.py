"""MMLR-CG: the multiclass support vector machine by conjugate gradients on a series of smooth objectives.

Problem:  minimise O_g(W) = lam sum w^2 + (1/n) sum_i sum_{k!=y} (1/g) ln(1 + exp(-g (f_y(i) - f_k(i) - 2))),
          at most (categories - 1) ln 2 / g above the multiclass SVM objective, whose loss is the hinge at 2.
Inputs:   features, one category per document, lam, the schedule of g, the conjugate direction.
Outputs:  LinearModel with a joint certificate.
Paper:    zhang_jin_2003 section 4, and algorithm 1 (section 3.3) for the schedule. Intercepts are not penalised.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.special

from textcat.learners.checks import Bools, Features, Floats, check_one_category_each
from textcat.learners.parameters import MulticlassParameters
from textcat.linear.certificate import Certificate
from textcat.linear.model import LinearModel
from textcat.matrices import check_matrix

MARGIN = 2.0
REMAINING_SLOPE_SHARE = 0.1
"""A line search ends when the slope along the direction is at most this share of the slope at its start."""
MAX_TRIALS = 40


@dataclass(frozen=True)
class MarginProblem:
    """The objectives of one training set; weights have a row per feature and a last row of intercepts."""

    X: Features
    Y: Bools
    lam: float

    @property
    def shape(self) -> tuple[int, int]:
        """Features plus the intercept, by categories."""
        return self.X.shape[1] + 1, self.Y.shape[1]

    def scores(self, weights: Floats) -> Floats:
        """Return f_k(x_i), documents x categories."""
        return np.asarray(self.X @ weights[:-1] + weights[-1])

    def compute_leads(self, scores: Floats) -> Floats:
        """Return f_y - f_k; 0 in the column of y itself."""
        return scores[self.Y][:, None] - scores

    def smooth(self, weights: Floats, leads: Floats, gamma: float) -> float:
        """Return O_gamma of weights that have these leads."""
        losses = np.logaddexp(0, -gamma * (leads - MARGIN)) / gamma
        mean = np.sum(losses, where=~self.Y) / self.Y.shape[0]
        return float(mean + self.lam * np.sum(weights[:-1] ** 2))

    def pull(self, leads: Floats, gamma: float) -> Floats:
        """Return minus the slope of each loss in its lead, over n: sigmoid of gamma (2 - lead), 0 for y."""
        sigmoid = np.asarray(scipy.special.expit(gamma * (MARGIN - leads)))
        return np.asarray(sigmoid * ~self.Y / self.Y.shape[0])

    def gradient(self, weights: Floats, leads: Floats, gamma: float) -> Floats:
        """Return the slope of O_gamma in every weight."""
        pull = self.pull(leads, gamma)
        pull[self.Y] = -pull.sum(axis=1)
        slope = np.vstack([np.asarray(self.X.T @ pull), pull.sum(axis=0)])
        slope[:-1] += 2 * self.lam * weights[:-1]
        return slope


def fit_mmlr_cg(X: Features, Y: Bools, settings: MulticlassParameters | None = None) -> LinearModel:
    """Run algorithm 1 on the multiclass objective, from zero weights.

    It starts at `gamma`, and raises it by `increase` after each `steps_each` CG steps.
    """
    check_matrix(X)
    check_one_category_each(Y, X.shape[0])
    chosen = settings or MulticlassParameters()
    problem = MarginProblem(X, Y, chosen.lam)
    began = time.perf_counter()
    weights, gamma, passes = np.zeros(problem.shape), chosen.gamma, 0
    for done in range(0, chosen.steps, chosen.steps_each):
        gamma = chosen.gamma + chosen.increase * (done // chosen.steps_each)
        steps = min(chosen.steps_each, chosen.steps - done)
        weights, used = run_conjugate_gradient(problem, weights, gamma, steps)
        passes += used
    leads = problem.compute_leads(problem.scores(weights))
    certificate = Certificate(
        objective=problem.smooth(weights, leads, gamma),
        violation=float(np.max(np.abs(problem.gradient(weights, leads, gamma)))),
        passes=passes,
        seconds=time.perf_counter() - began,
        reason=f"{chosen.steps} steps done, the last at gamma {gamma:g}",
    )
    return LinearModel(
        weights[:-1],
        weights[-1],
        settings={"learner": "mmlr_cg", **chosen.model_dump()},
        kind="multiclass",
        joint_certificate=certificate,
    )


def run_conjugate_gradient(
    problem: MarginProblem, weights: Floats, gamma: float, steps: int
) -> tuple[Floats, int]:
    """Run CG steps on O_gamma from minus the gradient; return weights and the number of evaluations.

    The factor of the last direction is that of Hestenes and Stiefel, which the paper recommends.
    """
    scores = problem.scores(weights)
    slope = problem.gradient(weights, problem.compute_leads(scores), gamma)
    direction, passes = -slope, 1
    for _ in range(steps):
        if np.sum(direction * slope) >= 0:
            direction = -slope
        along = problem.scores(direction)
        step, trials = search_line(problem, weights, direction, scores, along, gamma)
        weights, scores = weights + step * direction, scores + step * along
        leads = problem.compute_leads(scores)
        new_slope = problem.gradient(weights, leads, gamma)
        change = new_slope - slope
        below = np.sum(direction * change)
        factor = np.sum(new_slope * change) / below if below != 0 else 0.0
        direction, slope = factor * direction - new_slope, new_slope
        passes += 1 + trials
    return weights, passes


def search_line(
    problem: MarginProblem, weights: Floats, direction: Floats, scores: Floats, along: Floats, gamma: float
) -> tuple[float, int]:
    """Return a step that lowers O_gamma and leaves at most a tenth of the slope, and the number of trials.

    Newton's method inside a shrinking bracket: O_gamma is convex along the direction, so the sign of the slope
    tells on which side the minimum is.
    """
    leads, change = problem.compute_leads(scores), problem.compute_leads(along)
    start = problem.smooth(weights, leads, gamma)
    first, curvature = _differentiate_along(problem, weights, direction, leads, change, gamma)
    low, high, step = 0.0, np.inf, -first / curvature if curvature > 0 else 1.0
    if first >= 0:
        return 0.0, 0
    for trial in range(1, MAX_TRIALS + 1):
        moved, moved_leads = weights + step * direction, leads + step * change
        slope, curvature = _differentiate_along(problem, moved, direction, moved_leads, change, gamma)
        lower = problem.smooth(moved, moved_leads, gamma) <= start
        if lower and abs(slope) <= REMAINING_SLOPE_SHARE * abs(first):
            return step, trial
        low, high = (step, high) if slope < 0 else (low, step)
        step = _choose_next_trial(step, slope, curvature, low, high)
    return low, MAX_TRIALS


def _choose_next_trial(step: float, slope: float, curvature: float, low: float, high: float) -> float:
    """Return Newton's step if it is inside the bracket, else the middle, or twice the step if it is open."""
    newton = step - slope / curvature if curvature > 0 else np.inf
    if low < newton < min(high, 4 * step):
        return float(newton)
    return 2 * step if np.isinf(high) else 0.5 * (low + high)


def _differentiate_along(
    problem: MarginProblem, weights: Floats, direction: Floats, leads: Floats, change: Floats, gamma: float
) -> tuple[float, float]:
    """Return the first and second derivative of O_gamma along the direction."""
    pull = problem.pull(leads, gamma)
    rest = 1 - pull * problem.Y.shape[0]
    slope = 2 * problem.lam * np.sum(weights[:-1] * direction[:-1]) - np.sum(pull * change)
    curvature = 2 * problem.lam * np.sum(direction[:-1] ** 2) + gamma * np.sum(pull * rest * change**2)
    return float(slope), float(curvature)
