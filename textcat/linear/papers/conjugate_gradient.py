"""MLR-CG: nonlinear conjugate gradient on a smooth objective, a block of categories in lanes (zhang_jin_2003).

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + lam w^2, the constant free when it is not penalized.
Output: weights and certificates. The step along a direction is found by Newton's method inside a bracket.

With the modified logistic loss and a growing gamma this is algorithm 1 of zhang_jin_2003: after every
`steps` steps gamma grows by delta and the direction starts again from minus the gradient. Built-in losses have
compiled derivatives; second derivatives of registered losses are estimated by differences.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from textcat.compile import compile_kernel
from textcat.linear.algorithm_options import GradientOptions
from textcat.linear.certificate import BlockResult, Progress, compute_objective, measure, signs_of
from textcat.linear.lane_math import exponential
from textcat.linear.losses import LOGISTIC, LOSS_CODES, SQUARED, Loss, modified_logistic
from textcat.linear.problem import Floats, LinearProblem
from textcat.linear.products import multiply_matrix, multiply_transposed
from textcat.parallel.executors import run_in_threads

Array = Any


@compile_kernel
def differentiate_along(
    state: Array, ray: Array, weights: Array, signs: Array, loss: int, sharpness: float, reach: Array,
    slope: Array,
    bend: Array,
) -> None:  # fmt: skip
    """Compute both derivatives of sum_i c_i f at state + reach * ray, by lane (state is w.x - m y)."""
    for k in range(slope.shape[0]):
        slope[k] = 0.0
        bend[k] = 0.0
    for i in range(state.shape[0]):
        if loss == LOGISTIC:
            for k in range(slope.shape[0]):
                z = sharpness * signs[i, k] * (state[i, k] + reach[k] * ray[i, k])
                a = 1.0 / (1.0 + exponential(z))
                pull = weights[i, k] * ray[i, k]
                slope[k] -= pull * signs[i, k] * a
                bend[k] += pull * ray[i, k] * (sharpness * (a * (1.0 - a)))
        else:
            for k in range(slope.shape[0]):
                e = state[i, k] + reach[k] * ray[i, k]
                pull = 2.0 * weights[i, k] * ray[i, k]
                counts = 1.0 if loss == SQUARED or signs[i, k] * e < 0 else 0.0
                slope[k] += pull * e * counts
                bend[k] += pull * ray[i, k] * counts


@compile_kernel
def fill_slopes(state: Array, weights: Array, signs: Array, loss: int, sharpness: float, out: Array) -> None:
    """Compute c_i f'(r_i) y_i of each document and lane."""
    for i in range(state.shape[0]):
        if loss == LOGISTIC:
            for k in range(state.shape[1]):
                y = signs[i, k]
                out[i, k] = -weights[i, k] * y / (1.0 + exponential(sharpness * y * state[i, k]))
        else:
            for k in range(state.shape[1]):
                e = state[i, k]
                counts = 2.0 if loss == SQUARED or signs[i, k] * e < 0 else 0.0
                out[i, k] = weights[i, k] * e * counts


# A compromise between rounding errors, large for small steps, and curvature, large for large steps.
DIFFERENCE_STEP = 1e-5


def compute_slopes(loss: Loss, state: Floats, weights: Floats, signs: Floats) -> Floats:
    """Return c_i f'(r_i) y_i of each document and lane; the state is w.x - m y."""
    if loss.name not in LOSS_CODES:
        return np.asarray(weights * loss.derivative(signs * state + loss.target) * signs)
    out = np.empty(state.shape)
    fill_slopes(state, weights, signs, LOSS_CODES[loss.name], loss.gamma, out)
    return out


def compute_derivatives_along(
    loss: Loss, state: Floats, ray: Floats, weights: Floats, signs: Floats, reach: Floats
) -> tuple[Floats, Floats]:
    """Return the first and second derivative of sum_i c_i f at state + reach * ray, by lane."""
    slope, bend = np.empty(reach.shape), np.empty(reach.shape)
    if loss.name in LOSS_CODES:
        differentiate_along(state, ray, weights, signs, LOSS_CODES[loss.name], loss.gamma, reach, slope, bend)
        return slope, bend
    margins = signs * (state + reach * ray) + loss.target
    slope = (weights * ray * signs * loss.derivative(margins)).sum(axis=0)
    bend = (weights * ray * ray * estimate_second_derivative(loss.derivative, margins)).sum(axis=0)
    return slope, bend


def estimate_second_derivative(derivative: Callable[[Floats], Floats], where: Floats) -> Floats:
    """Estimate the second derivative by central differences, at least 0 as losses and penalties are convex."""
    step = DIFFERENCE_STEP * (1.0 + np.abs(where))
    return np.maximum((derivative(where + step) - derivative(where - step)) / (2 * step), 0.0)


MAX_LINE_STEPS = 40
LINE_TOLERANCE = 1e-8
# Documents are summed in parts of this size, so that sums do not depend on the number of threads.
DOCUMENTS_PER_PART = 65_536


class ConjugateDescent:
    """Weights, scores, gradient and direction of a block; `step` makes one step in each lane."""

    def __init__(self, problem: LinearProblem, block: slice, options: GradientOptions, start: Floats) -> None:
        self.problem, self.block, self.options = problem, block, options
        self.free = problem.free(block)
        self.signs = signs_of(problem, block)
        ones = np.ones(self.signs.shape)
        self.documents = ones if problem.weights is None else problem.weights[:, block].copy()
        self.strength = np.broadcast_to(problem.penalty.strength[:, block], start.shape)
        self.weights = start * self.free
        self.scores = multiply_matrix(problem.rows, self.weights, options.jobs)
        self.objective = self._objective()
        self.gradient = self._gradient()
        self.direction = -self.gradient

    def _state(self) -> Floats:
        return np.asarray(self.scores - self.problem.loss.target * self.signs)

    def _objective(self) -> Floats:
        return compute_objective(self.problem, self.block, self.weights, self.scores)

    def _gradient(self) -> Floats:
        slopes = compute_slopes(self.problem.loss, self._state(), self.documents, self.signs)
        pulled = (
            multiply_transposed(self.problem.columns, slopes, self.options.jobs)
            * self.free
            / self.problem.documents
        )
        return np.asarray(pulled + 2 * self.strength * self.weights)

    def restart(self, gamma: float) -> None:
        """Set a new gamma and restart the direction from minus the gradient."""
        if self.problem.loss.name == "modified_logistic" and gamma != self.problem.loss.gamma:
            self.problem = replace(self.problem, loss=modified_logistic(gamma))
        self.scores = multiply_matrix(self.problem.rows, self.weights, self.options.jobs)
        self.objective = self._objective()
        self.gradient = self._gradient()
        self.direction = -self.gradient

    def step(self, running: Any) -> None:
        """Do one line search and compute the next conjugate direction."""
        uphill = (self.direction * self.gradient).sum(axis=0) >= 0
        self.direction = np.where(uphill, -self.gradient, self.direction) * running
        ray = multiply_matrix(self.problem.rows, self.direction, self.options.jobs)
        reach = self._zero_useless_steps(self._line_search(ray), ray)
        self.weights = self.weights + reach * self.direction
        self.scores = self.scores + reach * ray
        before, self.gradient = self.gradient, self._gradient()
        self.direction = self._conjugate(before) * self.direction - self.gradient

    def _conjugate(self, before: Floats) -> Floats:
        """Return the factor of the old direction: Hestenes-Stiefel, Fletcher-Reeves or Polak-Ribiere."""
        change = self.gradient - before
        if self.options.direction == "HS":
            above, below = self.gradient * change, self.direction * change
        elif self.options.direction == "FR":
            above, below = self.gradient * self.gradient, before * before
        else:
            above, below = self.gradient * change, before * before
        divisor = below.sum(axis=0)
        return np.asarray(above.sum(axis=0) / np.where(divisor == 0, np.inf, divisor))

    def _zero_useless_steps(self, reach: Floats, ray: Floats) -> Floats:
        """Set steps that do not lower the objective to zero.

        On a plateau the slope is a rounding error, and a search along a free constant would diverge. The
        direction then restarts from minus the gradient.
        """
        here = self.objective
        with np.errstate(over="ignore", invalid="ignore"):
            there = compute_objective(
                self.problem, self.block, self.weights + reach * self.direction, self.scores + reach * ray
            )
        lower = there <= here
        self.objective = np.where(lower, there, here)
        return np.where(lower, reach, 0.0)

    def _differentiate_losses(self, state: Floats, ray: Floats, reach: Floats) -> tuple[Floats, Floats]:
        """Return slope and curvature of the losses at a reach, summed over parts of the documents in order."""
        starts = range(0, len(state), DOCUMENTS_PER_PART)
        parts = np.empty((2, len(starts), len(reach)))

        def one(number: int) -> None:
            part = slice(starts[number], starts[number] + DOCUMENTS_PER_PART)
            parts[:, number] = compute_derivatives_along(
                self.problem.loss, state[part], ray[part], self.documents[part], self.signs[part], reach
            )

        run_in_threads(self.options.jobs, [partial(one, number) for number in range(len(starts))])
        slope, bend = parts.sum(axis=1)
        return slope, bend

    def _line_search(self, ray: Floats) -> Floats:
        """Return the reach that minimizes the objective along the direction, by bracketed Newton steps."""
        n, state = self.problem.documents, self._state()
        curve = 2 * (self.strength * self.direction**2).sum(axis=0)
        lean = 2 * (self.strength * self.direction * self.weights).sum(axis=0)
        reach, low = np.zeros(curve.shape), np.zeros(curve.shape)
        high = np.full(curve.shape, np.inf)
        first: Floats | None = None
        done = np.zeros(curve.shape, dtype=bool)
        for _ in range(MAX_LINE_STEPS if self.options.line_search == "exact" else 1):
            slope, bend = self._differentiate_losses(state, ray, reach)
            total, second = slope / n + lean + curve * reach, bend / n + curve
            first = np.abs(total) if first is None else first
            done |= np.abs(total) <= LINE_TOLERANCE * first
            if done.all():
                break
            low, high = np.where(total < 0, reach, low), np.where(total > 0, reach, high)
            newton = reach - total / np.where(second > 0, second, np.inf)
            inside = (newton > low) & (newton < high) & (second > 0)
            halfway = np.where(np.isfinite(high), (low + high) / 2, 2 * low + 1)
            reach = np.where(done, reach, np.where(inside, newton, halfway))
        return reach


def solve_block(problem: LinearProblem, block: slice, options: GradientOptions, start: Floats) -> BlockResult:
    """Descend in one block of categories until its stopping rule holds for each of them; a pass is one
    step."""
    began = time.perf_counter()
    descent = ConjugateDescent(problem, block, options, start)
    progress = Progress(options.stop, options.tol, options.max_passes, start.shape[1])
    progress.begin(descent.scores, lambda: measure(problem, block, np.zeros_like(start)))
    gamma = options.gamma
    while progress.running.any():
        if progress.passes and progress.passes % options.steps == 0:
            gamma += options.delta
            descent.restart(gamma)
        descent.step(progress.running)
        progress.end_pass(lambda: descent.scores, lambda: measure(descent.problem, block, descent.weights))
    final = measure(descent.problem, block, descent.weights)
    return BlockResult(descent.weights, progress.certificates(final, began))
