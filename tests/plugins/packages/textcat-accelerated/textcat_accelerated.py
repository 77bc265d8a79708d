"""Accelerated gradient descent with a constant step, for smooth losses and the Gaussian prior."""

import time
from functools import partial

import numpy as np

from textcat.linear import Algorithm, BlockResult, Options, Progress
from textcat.linear.certificate import measure, penalty_slope, pull_of, scores_of, signs_of


def descend(problem, block, options, start):
    began, free, signs = time.perf_counter(), problem.free(block), signs_of(problem, block)
    longest = problem.rows.multiply(problem.rows).sum(axis=1).max()
    heaviest = 1.0 if problem.weights is None else problem.weights.max()
    step = 1.0 / (problem.loss.curvature * heaviest * longest + 2 * problem.penalty.strength.max())
    weights, ahead, momentum = start * free, start * free, 1.0
    progress = Progress(options.stop, options.tol, options.max_passes, start.shape[1])
    progress.begin(scores_of(problem, weights), lambda: measure(problem, block, np.zeros_like(start)))
    while progress.running.any():
        dual = problem.loss.derivative(scores_of(problem, ahead) * signs)
        slope = penalty_slope(problem.penalty, block, ahead, pull_of(problem, block, dual))
        before, weights = weights, ahead - step * slope * free * progress.running
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = weights + (momentum - 1) / grown * (weights - before) * progress.running
        momentum = grown
        progress.end_pass(partial(scores_of, problem, weights), partial(measure, problem, block, weights))
    return BlockResult(weights, progress.certificates(measure(problem, block, weights), began))


def cannot(request):
    """Return why a request cannot be solved; None if it can."""
    if not request.loss.smooth or request.prior != "gaussian":
        return "accelerated descent needs a smooth loss and the Gaussian prior"
    return None


ACCELERATED = Algorithm(descend, Options, cannot=cannot)
