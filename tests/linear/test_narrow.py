"""A category solved on its own features only equals the category solved together with all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.linear.problems import make
from textcat.linear import fit
from textcat.linear import training as narrow
from textcat.linear.blocks import BlockProblem, divide_block, estimate_column_pass, estimate_row_pass
from textcat.linear.problem import LANE_STEP, make_matrix_with_bias
from textcat.linear.training import FitSettings, make_problem

SETTINGS: list[dict[str, Any]] = [
    {"loss": "squared", "algorithm": "column"},
    {"loss": "squared_hinge", "algorithm": "column", "options": {"continuation": 5}},
    {"loss": "logistic", "prior": "laplace", "algorithm": "column"},
    {"loss": "hinge", "algorithm": "row"},
    {"loss": "logistic", "algorithm": "conjugate_gradient", "penalize_bias": False},
]
SINGLE: list[dict[str, Any]] = [
    {"loss": "squared_hinge", "algorithm": "row", "options": {"precision": "float32"}},
    {"loss": "squared", "algorithm": "column", "options": {"precision": "float32"}},
]


def masked(documents: int = 200, terms: int = 300, categories: int = 40, kept: int = 6) -> Any:
    generator = np.random.default_rng(7)
    X = sp.random_array((documents, terms), density=0.05, format="csr", random_state=generator)
    Y = generator.random((documents, categories)) < 0.2
    mask = np.zeros((terms, categories), dtype=bool)
    for category in range(categories):
        mask[generator.choice(terms, kept if category else terms // 2, replace=False), category] = True
    return X, Y, mask


def posed(mask: Any, X: Any, Y: Any) -> Any:
    settings = FitSettings(mask=mask)
    return make_problem(X, Y, settings, settings.read_algorithm_options())


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: f"{each['loss']}-{each['algorithm']}")
def test_weights_and_certificates_are_those_of_the_whole(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y, mask = masked()
    options = {"stop": "passes", **settings.get("options", {})}
    chosen = {**settings, "options": options, "lam": 1e-3, "max_passes": 12, "mask": mask, "seed": 3}
    small = fit(X, Y, **chosen)
    monkeypatch.setattr(narrow, "divide_blocks", lambda problem, blocks: blocks)
    monkeypatch.setattr(BlockProblem, "narrow", False)
    whole = fit(X, Y, **chosen)
    np.testing.assert_allclose(small.coef, whole.coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(small.intercept, whole.intercept, rtol=1e-9, atol=1e-12)
    assert not small.coef[~mask].any()
    for one, other in zip(small.certificate, whole.certificate, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-12)
        assert one.passes == other.passes


def test_a_prior_of_single_weights_follows_its_features() -> None:
    from textcat.linear.priors import Prior

    X, Y, mask = masked()
    prior = Prior("gaussian", variance=np.linspace(0.1, 2.0, X.shape[1]))
    model = fit(X, Y, mask=mask, prior=prior, tol=1e-9)
    one = mask[:, 1]
    alone = Prior("gaussian", variance=np.linspace(0.1, 2.0, X.shape[1])[one])
    rows = make_matrix_with_bias(X, 0.0)
    expected = fit(rows[:, one], Y[:, [1]], prior=alone, tol=1e-9)
    np.testing.assert_allclose(model.coef[one, 1], expected.coef[:, 0], atol=1e-6)


def each_feature_is_selected_by_most(categories: int = 70) -> Any:
    X, Y, _ = masked(categories=categories)
    generator = np.random.default_rng(3)
    return X, Y, generator.random((X.shape[1], categories)) < np.linspace(0.98, 0.8, categories)


@pytest.mark.parametrize(
    "settings", SETTINGS + SINGLE, ids=lambda each: f"{each['loss']}-{each['algorithm']}"
)
@pytest.mark.parametrize("selected", [masked, each_feature_is_selected_by_most])
def test_the_number_of_threads_changes_no_bit(settings: dict[str, Any], selected: Any) -> None:
    X, Y, mask = selected(categories=70)
    options = {"stop": "passes", **settings.get("options", {})}
    chosen = {**settings, "options": options, "lam": 1e-3, "max_passes": 70, "mask": mask, "seed": 3}
    one, three = fit(X, Y, **chosen), fit(X, Y, **chosen, n_jobs=3)
    assert np.array_equal(one.coef, three.coef)
    assert np.array_equal(one.intercept, three.intercept)
    for single, shared in zip(one.certificate, three.certificate, strict=True):
        assert (single.objective, single.gap, single.passes) == (shared.objective, shared.gap, shared.passes)


@pytest.mark.parametrize("estimate", [estimate_column_pass, estimate_row_pass])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("width", [1, 2, 9, 16, 17, 40, 63])
def test_parts_hold_each_category_once_and_share_the_work(estimate: Any, threads: int, width: int) -> None:
    X, Y, mask = masked(categories=70)
    problem = posed(mask, X, Y)
    parts = divide_block(problem, slice(5, 5 + width), estimate, threads)
    held = np.concatenate([part.categories for part in parts])
    assert sorted(held) == list(range(5, 5 + width))
    assert all(len(part.categories) > 1 for part in parts) or width == 1
    whole = estimate(problem, np.arange(5, 5 + width))
    assert threads > 1 or sum(part.cost for part in parts) <= whole
    largest = max(parts, key=lambda part: part.cost)
    assert (
        largest.cost * threads <= 1.1 * sum(p.cost for p in parts) or len(largest.categories) < LANE_STEP + 2
    )


def test_a_part_of_a_model_to_start_from_is_that_of_its_categories() -> None:
    X, Y, mask = each_feature_is_selected_by_most(40)
    settings: dict[str, Any] = {"algorithm": "row", "loss": "hinge", "lam": 1e-2, "mask": mask, "bias": 0.0}
    settings["options"] = {"keep_dual": True, "order": "given"}
    first = fit(X, Y, **settings, n_jobs=2, tol=1e-8)
    again = fit(X, Y, **settings, n_jobs=2, init=first, tol=1e-7)
    assert {each.passes for each in again.certificate} == {1}
    np.testing.assert_allclose(again.coef, first.coef, atol=1e-4)


def test_the_fast_algorithm_keeps_to_the_selected_features() -> None:
    """It has no columns to choose from, and solves on all features."""
    X, Y, mask = masked(categories=5)
    mask[:50] = False
    model = fit(X, Y, "logistic", lam=1e-2, algorithm="fast", tol=1e-10, mask=mask)
    exact = fit(X, Y, "logistic", lam=1e-2, algorithm="column", tol=1e-10, mask=mask)
    assert not np.asarray(model.coef)[~mask].any()
    np.testing.assert_allclose(model.coef, exact.coef, atol=1e-4)


@pytest.mark.parametrize("bias", [1.0, 0.0])
@pytest.mark.parametrize(
    ("algorithm", "loss", "prior"),
    [
        ("fast", "logistic", "gaussian"),
        ("fast", "hinge", "gaussian"),
        ("fast", "squared_hinge", "laplace"),
        ("column", "logistic", "laplace"),
        ("row", "hinge", "gaussian"),
        ("conjugate_gradient", "logistic", "gaussian"),
    ],
)
def test_features_that_no_category_selects_may_be_left_out(
    algorithm: str, loss: str, prior: str, bias: float
) -> None:
    small = make(8, documents=40, features=12, categories=5, binary=False)
    mask = np.random.default_rng(0).random((12, 5)) < 0.6
    mask[::3] = False
    settings: dict[str, Any] = {
        "algorithm": algorithm, "loss": loss, "prior": prior, "bias": bias, "lam": 0.05, "tol": 1e-9,
        "max_passes": 20_000,
    }  # fmt: skip
    used = mask.any(axis=1)
    whole = fit(small.X, small.Y, mask=mask, **settings)
    cut = fit(small.X[:, used], small.Y, mask=mask[used], **settings)
    assert not whole.coef[~mask].any()
    np.testing.assert_allclose(whole.coef[used], cut.coef, atol=1e-4)
    np.testing.assert_allclose(whole.intercept, cut.intercept, atol=1e-4)
