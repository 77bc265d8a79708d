"""Check what losses, priors and algorithms of plugins lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from textcat.linear.certificate import BlockResult
from textcat.linear.losses import LOSS_NAMES
from textcat.linear.priors import ALL_PRIORS
from textcat.linear.problem import Floats, LinearProblem
from textcat.plugins import Plugin, find_plugin, report_plugin_errors

SolveBlock = Callable[..., BlockResult]


def check_solver(plugin: Plugin, solve_block: SolveBlock) -> SolveBlock:
    """Return the solver of a plugin with checks of what it returns; it may change its copy of the start."""

    def solve(problem: LinearProblem, block: slice, options: Any, start: Floats) -> BlockResult:
        with report_plugin_errors(plugin, "failed"):
            result = solve_block(problem, block, options, start.copy())
            if not isinstance(result, BlockResult):
                raise TypeError(f"it must return a BlockResult, not {result!r:.80}")
            weights = np.asarray(result.weights)
            if weights.dtype.kind != "f" or weights.shape != start.shape:
                raise TypeError(f"its weights must be numbers of shape {start.shape}, not {weights!r:.80}")
            if len(result.certificates) != start.shape[1]:
                raise ValueError(f"it returned {len(result.certificates)} certificates, not {start.shape[1]}")
            if not np.isfinite(weights).all():
                raise ValueError("its weights are not finite")
        return result

    return solve


def check_finite(results: Sequence[Any], loss: str, prior: str) -> None:
    """Raise StageFailedError if the loss or the prior of a plugin led to weights or objectives that are not finite."""
    used = (find_plugin("losses", loss, LOSS_NAMES), find_plugin("priors", prior, ALL_PRIORS))
    for plugin in filter(None, used):
        with report_plugin_errors(plugin, "failed"):
            for result in results:
                objectives = [certificate.objective or 0.0 for certificate in result.certificates]
                weights = getattr(result, "weights", 0.0)
                if not (np.isfinite(weights).all() and np.isfinite(objectives).all()):
                    raise ValueError("it led to weights or an objective that are not finite")
