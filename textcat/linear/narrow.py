"""Blocks of categories that select few features, each solved on the features that it selects.

A lane costs the nonzeros of every feature that any category of its block may use. Where each category keeps
features of its own it can be cheaper to solve them apart. The weights do not depend on the division: a lane
never moves a feature that its category did not select.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.linear.problem import Bools, Floats, Matrix, Penalty, Problem, lanes_of
from textcat.linear.progress import BlockResult

# What it costs to come to a number of the matrix, in lanes that are then worked on.
READING = 8

SolveBlock = Callable[..., BlockResult]


def divided(problem: Problem, blocks: list[slice]) -> list[slice]:
    """The blocks, halved again and again wherever the halves together cost less than the whole."""
    if problem.mask is None:
        return blocks
    sizes = np.diff(problem.columns.indptr)
    return [part for block in blocks for part in _cheapest(problem.mask, sizes, problem.documents, block)[1]]


def _cheapest(mask: Bools, sizes: NDArray[Any], documents: int, block: slice) -> tuple[int, list[slice]]:
    """The least cost of a pass, in lanes times the numbers that each reads, and the division that has it."""
    width = block.stop - block.start
    cost = (READING + lanes_of(width)) * (documents + int(sizes[mask[:, block].any(axis=1)].sum()))
    if width < 2:
        return cost, [block]
    middle = block.start + width // 2
    halves = [
        _cheapest(mask, sizes, documents, half)
        for half in (slice(block.start, middle), slice(middle, block.stop))
    ]
    apart = sum(each for each, _ in halves)
    return (apart, [part for _, parts in halves for part in parts]) if apart < cost else (cost, [block])


def solve_narrow(
    solve_block: SolveBlock, problem: Problem, block: slice, options: Any, start: Floats, *, dual: bool
) -> BlockResult:
    """Solve a block on its features; `dual` says that `start` holds dual variables, not weights."""
    used = np.asarray(problem.free(block).any(axis=1))
    if used.all():
        return solve_block(problem, block, options, start)
    found = solve_block(_of_features(problem, used), block, options, start if dual else start[used])
    weights = np.zeros((problem.features, found.weights.shape[1]))
    weights[used] = found.weights
    return replace(found, weights=weights)


def _of_features(problem: Problem, used: NDArray[np.bool_]) -> Problem:
    """The same problem on some of the features."""
    columns = problem.columns[:, used]
    mask = None if problem.mask is None else problem.mask[used]
    penalty = _penalty_of(problem.penalty, used)
    return replace(problem, matrix=Matrix(columns.tocsr(), columns), mask=mask, penalty=penalty)


def _penalty_of(penalty: Penalty, used: NDArray[np.bool_]) -> Penalty:
    mode, low, high = (
        values if values is None else values[used] for values in (penalty.mode, penalty.low, penalty.high)
    )
    return replace(penalty, strength=penalty.strength[used], mode=mode, low=low, high=high)
