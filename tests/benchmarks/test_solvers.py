"""The solvers benchmark: its rows, and that peers must reach the same accuracy."""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import solvers
from benchmarks.solver_peers import PROBLEMS, SOLVER_PEERS, BenchmarkProblem, SolverPeer, compute_objective
from benchmarks.solvers import OWN_SOLVER, bench_solvers, name_row
from tests.linear.fast.problems import make
from tests.linear.fast.problems import objective as plain_objective

SCIKIT_LEARN = next(peer for peer in SOLVER_PEERS if peer.name == "scikit-learn")


@pytest.fixture(scope="module")
def data():
    X, Y = make(1, 80, 30, 4)
    Y[0, :2], Y[1, :2] = True, False
    return X, Y


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_objective_equals_the_plain_formula(data, problem):
    X, Y = data
    coef = np.random.default_rng(0).normal(size=(X.shape[1], Y.shape[1]))
    expected = plain_objective(X, Y, coef, problem.loss, problem.prior, problem.C).sum()
    assert compute_objective(X, Y, coef, problem) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.C == 1], ids=lambda problem: problem.name)
def test_all_solvers_reach_the_same_optimum(data, problem):
    rows = list(bench_solvers(*data, problems=[problem], peers=[SCIKIT_LEARN], repeats=1))
    ours, peer = rows
    assert ours["solver"] == OWN_SOLVER
    assert ours["reached"]
    assert peer["reached"]
    assert -1e-9 <= ours["gap"] <= 1e-5
    assert -1e-9 <= peer["gap"] <= 1e-5
    assert ours["ratio"] == 1.0
    assert peer["ratio"] == pytest.approx(peer["seconds"] / ours["seconds"])
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


@pytest.mark.parametrize("peer", SOLVER_PEERS, ids=lambda peer: peer.name)
def test_each_installed_peer_reaches_the_optimum(data, peer):
    problem = next(p for p in PROBLEMS if (p.loss, p.prior) in peer.solves and p.C == 1)
    if peer.explain_absence():
        pytest.skip(peer.explain_absence())
    _, row = bench_solvers(*data, problems=[problem], peers=[peer], repeats=1)
    assert row["reached"]


def test_an_absent_peer_has_a_reason_and_an_unsuitable_one_no_row(data):
    absent = SolverPeer("absent", "no_such_module", frozenset({("hinge", "gaussian")}), SCIKIT_LEARN.prepare)
    problems = [BenchmarkProblem("hinge", "gaussian", 1.0), BenchmarkProblem("logistic", "laplace", 1.0)]
    rows = list(bench_solvers(*data, problems=problems, peers=[absent], repeats=1))
    assert [(row["solver"], row["skipped"]) for row in rows] == [
        (OWN_SOLVER, None),
        ("absent", "no_such_module is not installed"),
        (OWN_SOLVER, None),
    ]
    assert [row["ratio"] for row in rows] == [1.0, None, 1.0]


def test_a_slow_peer_is_not_run_again(data):
    seen = []

    def prepare(X, problem):
        def fit(signs, tol):
            seen.append(tol)
            return np.zeros(X.shape[1])

        return fit

    lazy = SolverPeer("lazy", "numpy", frozenset({("hinge", "gaussian")}), prepare)
    problem = BenchmarkProblem("hinge", "gaussian", 1.0)
    rows = list(bench_solvers(*data, problems=[problem], peers=[lazy], repeats=1, patience=-1.0))
    assert set(seen) == {lazy.tolerances[0]}
    assert not rows[1]["reached"]


def test_each_row_comes_as_it_is_measured_and_only_the_wanted_ones(data):
    seen = []

    def watch(name):
        def prepare(X, problem):
            seen.append(name)
            return lambda signs, tol: np.full(X.shape[1], 0.01)

        return prepare

    solves = frozenset({("hinge", "gaussian")})
    peers = [SolverPeer(name, "numpy", solves, watch(name)) for name in ("one", "two", "three")]
    problem = BenchmarkProblem("hinge", "gaussian", 1.0)
    names = {name_row(problem, name) for name in ("one", "three")}
    rows = bench_solvers(*data, problems=[problem], peers=peers, repeats=1, wanted=names)
    assert (next(rows)["solver"], seen) == (OWN_SOLVER, [])
    row = next(rows)
    assert (row["solver"], seen) == ("one", ["one"])
    assert row["note"] == "gap not reached in 40 s"
    assert [row["solver"] for row in rows] == ["three"]


def test_a_peer_that_runs_out_of_time_has_no_seconds(data):
    def prepare(X, problem):
        return lambda signs, tol: np.zeros(X.shape[1])

    slow = SolverPeer("slow", "numpy", frozenset({("hinge", "gaussian")}), prepare)
    problem = BenchmarkProblem("hinge", "gaussian", 1.0)
    ours, peer = bench_solvers(*data, problems=[problem], peers=[slow], repeats=1, patience=0.0)
    assert peer["seconds"] is None
    assert peer["note"] == "not through at its loosest tolerance in 0 s"
    assert (ours["ratio"], peer["ratio"]) == (1.0, None)


def test_compile_time_is_reported_separately(data, monkeypatch):
    @contextmanager
    def stopwatch():
        yield SimpleNamespace(done=True, duration=7.0)

    monkeypatch.setattr(solvers, "_time_compiling", stopwatch)
    problem = BenchmarkProblem("hinge", "gaussian", 1.0)
    (row,) = bench_solvers(*data, problems=[problem], peers=[], repeats=1)
    assert row["compile_seconds"] == 7.0
    assert row["seconds"] < 7.0
