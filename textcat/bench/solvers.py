"""How fast the lanes are beside other solvers: seconds of processor time to the same accuracy, on one thread.

Accuracy is the objective's distance from a certified lower bound (the dual objective of a tighter solve),
relative, summed over the
categories. A peer's tolerance is tightened until it gets there, and its time is that of the loosest tolerance
that does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.bench.machine import machine_facts
from textcat.bench.peers import PEERS, Peer, quietly
from textcat.bench.problems import EIGHT, Problem, objective
from textcat.linear.lanes import solve

Labels = NDArray[np.bool_]

OURS = "textcat lanes"


@dataclass(frozen=True)
class Row:
    """One solver on one problem. `ratio` is its processor time over that of the fastest peer; None where it
    cannot be said.
    """

    problem: str
    solver: str
    seconds: float | None = None
    wall_seconds: float | None = None
    objective: float | None = None
    gap: float | None = None
    reached: bool = False
    tolerance: float | None = None
    compile_seconds: float = 0.0
    ratio: float | None = None
    skipped: str | None = None


def bench_solvers(
    matrix: sp.csr_matrix,
    labels: Labels,
    *,
    problems: Iterable[Problem] = EIGHT,
    peers: Iterable[Peer] = PEERS,
    accuracy: float = 1e-5,
    repeats: int = 3,
    patience: float = 120.0,
) -> dict[str, Any]:
    """Measure on a matrix that has its constant column; rows and machine facts, JSON-able; `repeats` at least
    1.

    A peer that took more than `patience` seconds without getting there is not run again with a tighter
    tolerance.
    """
    rows: list[Row] = []
    peers = tuple(peers)
    with _one_thread():
        for problem in problems:
            bound = float(_solve(matrix, labels, problem, accuracy / 20).dual_objective.sum())
            rows += _compared(
                [_ours(matrix, labels, problem, accuracy, bound, repeats)]
                + [_peer(peer, matrix, labels, problem, accuracy, bound, patience) for peer in peers]
            )
    return {"machine": machine_facts(), "accuracy": accuracy, "rows": [asdict(row) for row in rows]}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep linear algebra libraries to one thread where that can be asked for."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        yield
        return
    with threadpool_limits(1):
        yield


def _solve(matrix: sp.csr_matrix, labels: Labels, problem: Problem, tol: float) -> Any:
    return solve(matrix, labels, loss=problem.loss, prior=problem.prior, C=problem.C, tol=tol)


def _ours(
    matrix: sp.csr_matrix, labels: Labels, problem: Problem, accuracy: float, bound: float, repeats: int
) -> Row:
    """The best of some repetitions, after compiling on a corner of the data."""
    corner = slice(0, min(64, len(labels)))
    started = time.perf_counter()
    _solve(matrix[corner], labels[corner], problem, accuracy)
    compiling = time.perf_counter() - started
    runs: list[Row] = []
    for _ in range(repeats):
        processor, started = time.process_time(), time.perf_counter()
        coef = _solve(matrix, labels, problem, accuracy).coef
        seconds, wall = time.process_time() - processor, time.perf_counter() - started
        value = objective(matrix, labels, coef, problem)
        runs.append(_row(problem, OURS, seconds, wall, value, bound, accuracy, accuracy))
    return replace(min(runs, key=_seconds), compile_seconds=compiling)


def _seconds(row: Row) -> float:
    return np.inf if row.seconds is None else row.seconds


def _row(
    problem: Problem,
    solver: str,
    seconds: float,
    wall: float,
    value: float,
    bound: float,
    accuracy: float,
    tol: float,
) -> Row:
    gap = (value - bound) / abs(bound)
    return Row(problem.name, solver, seconds, wall, value, gap, gap <= accuracy, tol)


def _peer(
    peer: Peer,
    matrix: sp.csr_matrix,
    labels: Labels,
    problem: Problem,
    accuracy: float,
    bound: float,
    patience: float,
) -> Row:
    """Tighten the peer's tolerance until it is accurate enough."""
    why = peer.missing(problem)
    if why:
        return Row(problem.name, peer.name, skipped=why)
    fit = peer.prepare(matrix, problem)
    signs = np.where(labels, 1.0, -1.0)
    quietly(fit, signs[:, 0], peer.tolerances[0])
    spent = 0.0
    for tol in peer.tolerances:
        processor, started = time.process_time(), time.perf_counter()
        coef = np.column_stack([quietly(fit, column, tol) for column in signs.T])
        seconds, wall = time.process_time() - processor, time.perf_counter() - started
        value = objective(matrix, labels, coef, problem)
        row = _row(problem, peer.name, seconds, wall, value, bound, accuracy, tol)
        spent += seconds
        if row.reached or spent > patience:
            break
    return row


def _compared(rows: list[Row]) -> list[Row]:
    """The ratios to the fastest peer that got there, without those that do not apply."""
    times = [_seconds(row) for row in rows if row.solver != OURS and row.reached]
    fastest = min(times, default=None)
    kept = [row for row in rows if not row.skipped or "not installed" in row.skipped]
    return [
        row if fastest is None or row.seconds is None else replace(row, ratio=row.seconds / fastest)
        for row in kept
    ]
