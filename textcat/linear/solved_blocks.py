"""What happens to a solved block of categories: checks of what plugins return, and dropping of small weights.

A collection with thousands of labels has most of its weights near zero: they take the memory, and change no ranking.
Small weights are dropped, the others kept as CSC float32, and the certificates say what that cost. The constants are
kept as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from textcat.errors import StageFailedError
from textcat.linear.certificate import BlockResult, Certificate
from textcat.linear.losses import LOSS_NAMES
from textcat.linear.mapped_arrays import convert_dtype
from textcat.linear.priors import ALL_PRIORS
from textcat.linear.problem import Floats, LinearProblem
from textcat.parallel.executors import run_in_threads
from textcat.plugins import Plugin, find_plugin, report_plugin_errors

# Categories that are solved before their weights are pruned: their dense weights are in memory together.
MAX_BLOCK = 512


@dataclass(frozen=True)
class PrunedBlock:
    """Sparse weights of a block (features x categories, without the constant), its constants and certificates."""

    coef: sp.csc_matrix
    constants: Floats
    certificates: Sequence[Certificate]
    dual: None = None


def split_blocks(blocks: Sequence[slice]) -> list[slice]:
    """Split blocks of categories into blocks of at most MAX_BLOCK."""
    return [
        slice(start, min(start + MAX_BLOCK, block.stop))
        for block in blocks
        for start in range(block.start, block.stop, MAX_BLOCK)
    ]


def prune_block(problem: LinearProblem, solved: BlockResult, threshold: float, jobs: int) -> PrunedBlock:
    """Drop weights below the threshold; add the share dropped and the largest change of a score to certificates."""
    features = problem.features - (problem.bias != 0.0)
    dense, width = solved.weights[:features], solved.weights.shape[1]
    constants = solved.weights[features] if problem.bias != 0.0 else np.zeros(width)
    coef = sp.csc_matrix(np.where(np.abs(dense) >= threshold, dense, 0.0).astype(np.float32))
    used = np.count_nonzero(dense, axis=0)
    shares = 1.0 - np.diff(coef.indptr) / np.maximum(used, 1)
    changes = _measure_changes(problem, dense, coef, jobs)
    certificates = [
        replace(one, pruned_share=float(share) if any_used else 0.0, pruned_change=float(change))
        for one, share, any_used, change in zip(solved.certificates, shares, used, changes, strict=True)
    ]
    return PrunedBlock(coef, np.array(constants), certificates)


def _measure_changes(problem: LinearProblem, dense: Floats, coef: sp.csc_matrix, jobs: int) -> Floats:
    """Return the largest change of a training document's score, for each category."""
    from textcat.linear.simd import WIDTH  # noqa: PLC0415 - loads numba

    rows = problem.rows
    spans = np.stack((rows.indptr[:-1], rows.indptr[1:]), axis=1).astype(np.int64)
    matrix = (spans, rows.indices.astype(np.int32, copy=False), convert_dtype(rows.data, np.float32))
    starts = range(0, dense.shape[1], WIDTH)
    work = partial(_measure_group, problem.features, matrix, dense, coef)
    parts = run_in_threads(jobs, [partial(work, start) for start in starts])
    return np.concatenate([np.zeros(0), *parts])


def _measure_group(features: int, matrix: Any, dense: Floats, coef: sp.csc_matrix, start: int) -> Floats:
    from textcat.linear.fast.layout import multiply_all_rows  # noqa: PLC0415 - loads numba
    from textcat.linear.simd import WIDTH  # noqa: PLC0415 - loads numba

    stop = min(start + WIDTH, dense.shape[1])
    dropped = np.zeros((features, WIDTH), np.float32)
    dropped[: len(dense), : stop - start] = dense[:, start:stop] - coef[:, start:stop].toarray()
    changes = np.empty((len(matrix[0]), WIDTH), np.float32)
    spans, indices, data = matrix
    multiply_all_rows(spans, indices, data, dropped, changes)
    return np.asarray(np.abs(changes).max(axis=0, initial=0.0)[: stop - start], dtype=np.float64)


def join_pruned(blocks: Sequence[PrunedBlock]) -> sp.csc_matrix:
    """Return the weights of consecutive blocks side by side."""
    return sp.csc_matrix(sp.hstack([block.coef for block in blocks], format="csc"))


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
    """Raise StageFailedError if weights or objectives are not finite; name the plugin of the loss or the prior."""
    if all(map(_is_finite, results)):
        return
    used = (find_plugin("losses", loss, LOSS_NAMES), find_plugin("priors", prior, ALL_PRIORS))
    for plugin in filter(None, used):
        with report_plugin_errors(plugin, "failed"):
            raise ValueError("it led to weights or an objective that are not finite")
    raise StageFailedError(
        "training led to weights or an objective that are not finite",
        where="fit",
        hint="Scale the features, for example to documents of length 1; their squares must not overflow.",
    )


def _is_finite(result: BlockResult | PrunedBlock) -> bool:
    parts = (result.weights,) if isinstance(result, BlockResult) else (result.coef.data, result.constants)
    objectives = [certificate.objective or 0.0 for certificate in result.certificates]
    return all(bool(np.isfinite(part).all()) for part in (*parts, objectives))
