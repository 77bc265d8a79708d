"""Time `textcat.linear.fit(..., algorithm="fast")` and other solvers to the same accuracy, on one thread.

Accuracy is the relative distance of the objective, summed over the categories, from a certified lower bound:
the dual objective of a tighter solve. The tolerance of each solver is tightened until it reaches the accuracy; the
time of this last run counts. Each peer has a limited time per problem; if it is over, its row has what was
reached, and a note says so.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.solver_peers import (
    PROBLEMS,
    SOLVER_PEERS,
    BenchmarkProblem,
    CategoryFit,
    SolverPeer,
    compute_objective,
    fit_quietly,
)
from textcat.corpora import Document, count_categories
from textcat.linear import LinearModel, fit
from textcat.linear.regularization import lam_from_c
from textcat.parallel.executors import limit_to_one_thread
from textcat.text.counting import count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings

Labels = NDArray[np.bool_]

OWN_SOLVER = "textcat"


@dataclass(frozen=True)
class SolverRow:
    """One solver on one problem.

    `ratio` is its processor time divided by textcat's.
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


def make_matrix(documents: Sequence[Document], fields: tuple[str, ...]) -> tuple[sp.csr_matrix, Labels]:
    """Return vectors (log TF x IDF, length 1, a constant column) and labels of the training documents.

    The categories are those with training and test documents.
    """
    settings = TextSettings(tokenizer="alphanumeric", fields=fields)
    counted = count_terms((each for each in documents if each.split == "train"), settings)
    weighted = VectorSettings(weighting="log_tf_idf", cosine=True)
    vectors = Vectorizer.fit(counted, settings=weighted).transform(counted)
    constant = sp.csr_array(np.ones((vectors.shape[0], 1)))
    matrix = sp.csr_matrix(sp.hstack([vectors, constant], format="csr"))
    return matrix, counted.make_sparse_labels(count_categories(documents).in_both()).toarray()


def bench_solvers(
    matrix: sp.csr_matrix,
    labels: Labels,
    *,
    problems: Iterable[BenchmarkProblem] = PROBLEMS,
    peers: Sequence[SolverPeer] = SOLVER_PEERS,
    accuracy: float = 1e-5,
    repeats: int = 3,
    patience: float = 40.0,
    wanted: Container[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield each row when it is measured; the matrix has a constant column.

    A peer has `patience` seconds per problem: it is stopped between two categories when they are over, and not started
    with a tighter tolerance if the time of the last run makes success impossible. `wanted` holds the names of the rows
    to measure, as `name_row` makes them; textcat's own row is measured for each problem, because ratios need it.
    """
    with limit_to_one_thread():
        for problem in problems:
            with _time_compiling() as compiling:
                bound = _compute_lower_bound(matrix, labels, problem, accuracy / 20)
                ours = _measure_own_solver(matrix, labels, problem, accuracy, bound, repeats)
            spent = compiling.duration if compiling.done else 0.0
            yield asdict(replace(ours, compile_seconds=spent, ratio=1.0))
            for peer in peers:
                if not peer.solves_problem(problem):
                    continue
                if wanted is not None and name_row(problem, peer.name) not in wanted:
                    continue
                row = _measure_peer(peer, matrix, labels, problem, accuracy, bound, patience)
                known = row.seconds is not None
                yield asdict(replace(row, ratio=_get_seconds(row) / _get_seconds(ours)) if known else row)


def name_row(problem: BenchmarkProblem, solver: str) -> str:
    """Return the name by which `--only` finds a row, such as "L1 logistic C=1, celer"."""
    return f"{problem.name}, {solver}"


def _time_compiling() -> Any:
    """Return a timer of kernel compilation, which happens once per machine; the kernels are cached on disk."""
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
    """Tighten the peer's tolerance until it reaches the accuracy, and return its row."""
    why = peer.explain_absence()
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
    """Return the weights of all categories; None if the time was over before the last one."""
    end = time.process_time() + seconds
    columns: list[NDArray[np.float64]] = []
    for column in signs.T:
        if columns and time.process_time() > end:
            return None
        columns.append(fit_quietly(fit, column, tol))
    return np.column_stack(columns)


def _get_gap(row: SolverRow) -> float:
    return np.inf if row.gap is None else row.gap
