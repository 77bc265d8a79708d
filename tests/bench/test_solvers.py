"""The measurements: what a row says, and that a peer is held to the same accuracy."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.linear.lanes.problems import make
from tests.linear.lanes.problems import objective as plain_objective
from textcat.bench.peers import PEERS, Peer
from textcat.bench.problems import EIGHT, Problem, objective
from textcat.bench.solvers import OURS, bench_solvers

SCIKIT_LEARN = next(peer for peer in PEERS if peer.name == "scikit-learn")


@pytest.fixture(scope="module")
def data():
    X, Y = make(1, 80, 30, 4)
    Y[0, :2], Y[1, :2] = True, False
    return X, Y


@pytest.mark.parametrize("problem", EIGHT, ids=lambda problem: problem.name)
def test_the_objective_is_the_plain_one(data, problem):
    X, Y = data
    coef = np.random.default_rng(0).normal(size=(X.shape[1], Y.shape[1]))
    expected = plain_objective(X, Y, coef, problem.loss, problem.prior, problem.C).sum()
    assert objective(X, Y, coef, problem) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("problem", [p for p in EIGHT if p.C == 1], ids=lambda problem: problem.name)
def test_everyone_gets_to_the_same_optimum(data, problem):
    result = bench_solvers(*data, problems=[problem], peers=[SCIKIT_LEARN], repeats=1)
    ours, peer = result["rows"]
    assert ours["solver"] == OURS
    assert ours["reached"]
    assert peer["reached"]
    assert -1e-9 <= ours["gap"] <= 1e-5
    assert -1e-9 <= peer["gap"] <= 1e-5
    assert peer["ratio"] == 1.0
    assert ours["ratio"] == pytest.approx(ours["seconds"] / peer["seconds"])
    assert json.loads(json.dumps(result, allow_nan=False)) == result


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_each_peer_that_is_installed_agrees(data, peer):
    problem = next(p for p in EIGHT if (p.loss, p.prior) in peer.solves and p.C == 1)
    if peer.missing(problem):
        pytest.skip(peer.missing(problem))
    _, row = bench_solvers(*data, problems=[problem], peers=[peer], repeats=1)["rows"]
    assert row["reached"]


def test_an_absent_peer_is_named_and_an_unfit_one_is_left_out(data):
    absent = Peer("absent", "no_such_module", frozenset({("hinge", "gaussian")}), SCIKIT_LEARN.prepare)
    problems = [Problem("hinge", "gaussian", 1.0), Problem("logistic", "laplace", 1.0)]
    rows = bench_solvers(*data, problems=problems, peers=[absent], repeats=1)["rows"]
    assert [(row["solver"], row["skipped"]) for row in rows] == [
        (OURS, None),
        ("absent", "no_such_module is not installed"),
        (OURS, None),
    ]
    assert all(row["ratio"] is None for row in rows)


def test_a_slow_peer_is_not_asked_again(data):
    seen = []

    def prepare(X, problem):
        def fit(signs, tol):
            seen.append(tol)
            return np.zeros(X.shape[1])

        return fit

    lazy = Peer("lazy", "numpy", frozenset({("hinge", "gaussian")}), prepare)
    problem = Problem("hinge", "gaussian", 1.0)
    rows = bench_solvers(*data, problems=[problem], peers=[lazy], repeats=1, patience=-1.0)["rows"]
    assert set(seen) == {lazy.tolerances[0]}
    assert not rows[1]["reached"]
