"""The solvers benchmark: its rows, and that peers must reach the same accuracy."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.solver_peers import PROBLEMS, SOLVER_PEERS, BenchmarkProblem, SolverPeer, compute_objective
from benchmarks.solvers import OWN_SOLVER, bench_solvers
from tests.linear.fast.problems import make
from tests.linear.fast.problems import objective as plain_objective
from tests.loops import for_each

SCIKIT_LEARN = next(peer for peer in SOLVER_PEERS if peer.name == "scikit-learn")


@pytest.fixture(scope="module")
def data():
    X, Y = make(1, 80, 30, 4)
    Y[0, :2], Y[1, :2] = True, False
    return X, Y


@for_each("problem", PROBLEMS)
def test_objective_equals_the_plain_formula(data, problem):
    X, Y = data
    coef = np.random.default_rng(0).normal(size=(X.shape[1], Y.shape[1]))
    expected = plain_objective(X, Y, coef, problem.loss, problem.prior, problem.C).sum()
    assert compute_objective(X, Y, coef, problem) == pytest.approx(expected, rel=1e-12)


@for_each("problem", [p for p in PROBLEMS if p.C == 1])
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
