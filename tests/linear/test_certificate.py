"""Weak duality, slopes and bounds of every objective, at any weights and any dual point."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.problems import make
from tests.loops import for_each
from textcat.linear.certificate import (
    OptimalityMeasures,
    apply_document_weights,
    balance_dual,
    compute_dual_value,
    compute_objective,
    measure,
    penalty_slope,
    pull_of,
    scores_of,
    signs_of,
)
from textcat.linear.losses import find_loss
from textcat.linear.priors import Prior, make_penalty
from textcat.linear.problem import (
    LinearProblem,
    ProblemMatrix,
    compute_document_weights,
    make_matrix_with_bias,
)

LOSSES = ("squared", "squared_hinge", "hinge", "logistic", "modified_logistic")
ALL = slice(0, 3)


def pose(
    seed: int,
    loss: str,
    prior: str,
    bias: float,
    penalize_bias: bool,
    variances: bool,
    weighted: bool,
    masked: bool,
) -> LinearProblem:
    """A small problem with everything that a request can have."""
    rng = np.random.default_rng(seed)
    small = make(seed, documents=12, features=6, categories=3, binary=False)
    rows = make_matrix_with_bias(small.X, bias)
    shape, constant = (rows.shape[1], 3), bias != 0.0
    given: dict[str, Any] = {}
    if variances:
        given["variance"] = np.where(rng.random(6) < 0.5, np.nan, rng.random(6) + 0.1)
    penalty = make_penalty(Prior(prior, **given), rng.random(3) * 0.2, shape, 12, constant, penalize_bias)
    weights = compute_document_weights(small.Y, rng.random(12) * 2, "balanced") if weighted else None
    mask = None
    if masked:
        mask = rng.random(shape) < 0.6
        mask[-1] = True
    return LinearProblem(ProblemMatrix(rows, None), small.Y, mask, weights, find_loss(loss), penalty, bias)


def draw_weights(problem: LinearProblem, rng: np.random.Generator) -> np.ndarray:
    """Weights that the problem allows: zero where the mask says so."""
    weights = rng.normal(size=(problem.features, 3)) * problem.free(ALL)
    weights[rng.random(weights.shape) < 0.3] = 0.0
    return weights


def draw_dual(problem: LinearProblem, rng: np.random.Generator) -> np.ndarray:
    """Dual variables in the domain of the conjugate."""
    return -rng.random((problem.documents, 3)) * (0.999 if problem.loss.name != "squared" else 5)


problems = st.builds(
    pose,
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(LOSSES),
    prior=st.sampled_from(["gaussian", "laplace", "none"]),
    bias=st.sampled_from([0.0, 1.0, -2.0]),
    penalize_bias=st.booleans(),
    variances=st.booleans(),
    weighted=st.booleans(),
    masked=st.booleans(),
)


@given(problems, st.integers(0, 10_000))
@settings(max_examples=150, deadline=None)
def test_no_dual_point_has_a_value_above_any_objective(problem: LinearProblem, seed: int) -> None:
    """Weak duality, for any weights the problem allows and any dual point, with every kind of prior."""
    rng = np.random.default_rng(seed)
    bounds = [compute_dual_value(problem, ALL, draw_dual(problem, rng)) for _ in range(3)]
    objectives = [compute_objective(problem, ALL, draw_weights(problem, rng)) for _ in range(6)]
    for bound, objective in itertools.product(bounds, objectives):
        assert (bound <= objective + 1e-9 * (1 + np.abs(objective))).all()


@given(problems, st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_a_gap_bounds_what_any_other_weights_could_gain(problem: LinearProblem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = draw_weights(problem, rng)
    measured = measure(problem, ALL, weights)
    for other in (draw_weights(problem, rng), weights * 0.5, weights * 0.0):
        gain = measured.objective - compute_objective(problem, ALL, other)
        assert (gain <= measured.gap + 1e-9 * (1 + np.abs(measured.objective))).all()
    assert np.isnan(measured.violation).all() == (not problem.loss.smooth)


@given(problems, st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_the_slope_is_that_of_the_objective(problem: LinearProblem, seed: int) -> None:
    """Where neither loss nor penalty has a corner, the subgradient is the limit of differences."""
    rng = np.random.default_rng(seed)
    weights, step = rng.normal(size=(problem.features, 3)) * problem.free(ALL), 1e-6
    if not problem.loss.smooth:
        return
    derivative = problem.loss.derivative(scores_of(problem, weights) * signs_of(problem, ALL))
    slope = penalty_slope(problem.penalty, ALL, weights, pull_of(problem, ALL, derivative))
    for j, k in itertools.product(range(problem.features), range(3)):
        if not problem.free(ALL)[j, k] or abs(weights[j, k]) < 10 * step:
            continue
        ends = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[j, k] += sign * step
            ends.append(compute_objective(problem, ALL, moved)[k])
        assert slope[j, k] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=2e-4)


@for_each(("slope", "expected"), [(0.0, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.7, 0.2), (-0.7, -0.2), (0.5, 0.0)])
def test_a_laplace_weight_at_zero_moves_only_against_a_larger_slope(slope: float, expected: float) -> None:
    penalty = make_penalty(Prior("laplace"), 0.5, (1, 1), 1, False, True)
    found = penalty_slope(penalty, slice(0, 1), np.zeros((1, 1)), np.array([[slope]]))
    assert found[0, 0] == pytest.approx(expected)


@given(problems, st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_balanced_dual_has_no_pull_on_the_constant(problem: LinearProblem, seed: int) -> None:
    """Only one side is scaled, and only down; a category of one side alone is set to 0."""
    dual = draw_dual(problem, np.random.default_rng(seed))
    balanced = balance_dual(problem, ALL, dual)
    weighted = apply_document_weights(problem, ALL, balanced) * signs_of(problem, ALL)
    np.testing.assert_allclose(weighted.sum(axis=0), 0.0, atol=1e-12)
    assert (np.abs(balanced) <= np.abs(dual)).all()
    one_sided = problem.positive.all(axis=0) | ~problem.positive.any(axis=0)
    assert not balanced[:, one_sided].any()


@for_each(
    ("gap", "violation", "within"),
    [
        (0.009, 9.0, True),
        (0.011, 0.0, False),
        (np.nan, 0.02, True),
        (np.nan, 0.03, False),
        (np.inf, 0.02, True),
    ],
)
def test_the_gap_decides_and_without_one_the_violation(gap: float, violation: float, within: bool) -> None:
    """Relative to the objective, -1 here, and to the violation at the start, 2."""
    found = OptimalityMeasures(np.array([-1.0]), np.array([violation]), np.array([gap]))
    assert found.is_within(0.01, np.array([2.0])).tolist() == [within]
