"""Time `textcat.linear.fit(..., algorithm="fast")` and other solvers to the same accuracy, on one thread.

Accuracy is the distance of the objective from a certified lower bound (the dual objective of a tighter solve),
relative, summed over the categories. The tolerance of each solver is tightened until it is accurate enough, and
its time is that of the loosest tolerance that is. A peer has a limited number of seconds per problem; its row
shows what it has reached by then. Where no peer is accurate enough, ratios are to the nearest one, with a note.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.machine import collect_machine_facts
from benchmarks.peers import SOLVER_PEERS, CategoryFit, SolverPeer, fit_quietly
from benchmarks.problems import PROBLEMS, BenchmarkProblem, compute_objective
from textcat.linear import LinearModel, fit
from textcat.linear.regularization import lam_from_c
from textcat.parallel.threads import limit_to_one_thread

Labels = NDArray[np.bool_]

OWN_SOLVER = "textcat lanes"


@dataclass(frozen=True)
class SolverRow:
    """One solver on one problem. `ratio` is its processor time over that of the fastest peer that got there, or,
    where none did, of the peer named in `note`.
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
    note: str | None = None
    skipped: str | None = None


def bench_solvers(
    matrix: sp.csr_matrix,
    labels: Labels,
    *,
    problems: Iterable[BenchmarkProblem] = PROBLEMS,
    peers: Iterable[SolverPeer] = SOLVER_PEERS,
    accuracy: float = 1e-5,
    repeats: int = 3,
    patience: float = 40.0,
    said: Callable[[str], object] = lambda name: None,
) -> dict[str, Any]:
    """Measure on a matrix that has its constant column; rows and machine facts, JSON-able; `repeats` at least
    1.

    `said` hears which problem is next. A peer has `patience` seconds a problem: it is stopped between two
    categories when these are over, and not started with a tighter tolerance when the last run makes that hopeless.
    """
    rows: list[SolverRow] = []
    peers = tuple(peers)
    with limit_to_one_thread():
        for problem in problems:
            said(problem.name)
            with _time_compiling() as compiling:
                bound = _compute_lower_bound(matrix, labels, problem, accuracy / 20)
                ours = _measure_own_solver(matrix, labels, problem, accuracy, bound, repeats)
            rows += _add_ratios(
                [replace(ours, compile_seconds=compiling.duration if compiling.done else 0.0)]
                + [_measure_peer(peer, matrix, labels, problem, accuracy, bound, patience) for peer in peers]
            )
    return {"machine": collect_machine_facts(), "accuracy": accuracy, "rows": [asdict(row) for row in rows]}


def _time_compiling() -> Any:
    """A stopwatch that runs while kernels are compiled: the first time on a machine, they are cached on disk."""
    from numba.core.event import install_timer

    return install_timer("numba:compile", lambda seconds: None)


def _fit(matrix: sp.csr_matrix, labels: Labels, problem: BenchmarkProblem, tol: float) -> LinearModel:
    lam = lam_from_c(problem.C, matrix.shape[0], problem.prior)
    return fit(
        matrix, labels, loss=problem.loss, prior=problem.prior, lam=lam, algorithm="fast", bias=0.0,
        tol=tol, max_passes=10_000,
    )  # fmt: skip


def _compute_lower_bound(
    matrix: sp.csr_matrix, labels: Labels, problem: BenchmarkProblem, tol: float
) -> float:
    """Return the dual objective, summed over the categories, of a tight solution."""
    certificates = _fit(matrix, labels, problem, tol).certificate
    bounds = [(each.objective or 0.0) - (each.gap or 0.0) for each in certificates]
    return problem.C * matrix.shape[0] * sum(bounds)


def _measure_own_solver(
    matrix: sp.csr_matrix,
    labels: Labels,
    problem: BenchmarkProblem,
    accuracy: float,
    bound: float,
    repeats: int,
) -> SolverRow:
    """Time the loosest tolerance of a category at which the sum is accurate enough, best of some repeats."""
    for tol in (10 * accuracy, 3 * accuracy, accuracy):
        runs: list[SolverRow] = []
        for _ in range(repeats):
            processor, started = time.process_time(), time.perf_counter()
            coef = _fit(matrix, labels, problem, tol).coef
            seconds, wall = time.process_time() - processor, time.perf_counter() - started
            value = compute_objective(matrix, labels, coef, problem)
            runs.append(_make_row(problem, OWN_SOLVER, seconds, wall, value, bound, accuracy, tol))
        if runs[0].reached:
            break
    return min(runs, key=_get_seconds)


def _get_seconds(row: SolverRow) -> float:
    return np.inf if row.seconds is None else row.seconds


def _make_row(
    problem: BenchmarkProblem,
    solver: str,
    seconds: float,
    wall: float,
    value: float,
    bound: float,
    accuracy: float,
    tol: float,
) -> SolverRow:
    gap = (value - bound) / abs(bound)
    return SolverRow(problem.name, solver, seconds, wall, value, gap, gap <= accuracy, tol)


def _measure_peer(
    peer: SolverPeer,
    matrix: sp.csr_matrix,
    labels: Labels,
    problem: BenchmarkProblem,
    accuracy: float,
    bound: float,
    patience: float,
) -> SolverRow:
    """Tighten the peer's tolerance until it is accurate enough."""
    why = peer.explain_absence(problem)
    if why:
        return SolverRow(problem.name, peer.name, skipped=why)
    fit = peer.prepare(matrix, problem)
    signs = np.where(labels, 1.0, -1.0)
    fit_quietly(fit, signs[:, 0], peer.tolerances[0])
    rows: list[SolverRow] = []
    left = patience
    for tol in peer.tolerances:
        processor, started = time.process_time(), time.perf_counter()
        coef = _fit_within(fit, signs, tol, left)
        seconds, wall = time.process_time() - processor, time.perf_counter() - started
        if coef is None:
            break
        value = compute_objective(matrix, labels, coef, problem)
        rows.append(_make_row(problem, peer.name, seconds, wall, value, bound, accuracy, tol))
        left -= seconds
        if rows[-1].reached or seconds > left:
            break
    if not rows:
        return SolverRow(
            problem.name, peer.name, note=f"not through at its loosest tolerance in {patience:g} s"
        )
    best = rows[-1] if rows[-1].reached else min(rows, key=_get_gap)
    return best if best.reached else replace(best, note=f"gap not reached in {patience:g} s")


def _fit_within(
    fit: CategoryFit, signs: NDArray[np.float64], tol: float, seconds: float
) -> NDArray[np.float64] | None:
    """The weights of all categories, or None when the time was over before the last one."""
    end = time.process_time() + seconds
    columns: list[NDArray[np.float64]] = []
    for column in signs.T:
        if columns and time.process_time() > end:
            return None
        columns.append(fit_quietly(fit, column, tol))
    return np.column_stack(columns)


def _get_gap(row: SolverRow) -> float:
    return np.inf if row.gap is None else row.gap


def _add_ratios(rows: list[SolverRow]) -> list[SolverRow]:
    """The ratios to the fastest peer that got there, or else to the nearest; without those that do not apply."""
    kept = [row for row in rows if not row.skipped or "not installed" in row.skipped]
    peers = [row for row in kept if row.solver != OWN_SOLVER and row.seconds is not None]
    if not peers:
        return kept
    fastest = min(
        peers, key=lambda row: (not row.reached, _get_seconds(row) if row.reached else _get_gap(row))
    )
    note = (
        None if fastest.reached else f"ratio to {fastest.solver}, which stopped at a gap of {fastest.gap:.1e}"
    )
    return [
        row
        if row.seconds is None
        else replace(row, ratio=_get_seconds(row) / _get_seconds(fastest), note=row.note or note)
        for row in kept
    ]
