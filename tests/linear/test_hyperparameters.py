"""Choosing the strength of a prior, the Jeffreys prior, and at most so many features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.problems import make
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear import Prior, fit
from textcat.linear.cross_validation import (
    GAUSSIAN_VARIANCES,
    LAPLACE_RATES,
    choose_lam_by_cross_validation,
    compute_norm_based_variance,
    convert_grid_to_lams,
)
from textcat.linear.papers.squeezer import find_critical_lam, squeeze
from textcat.parallel import start_workers


def test_grids_are_the_printed_ones() -> None:
    assert len(GAUSSIAN_VARIANCES) == 9
    assert (min(GAUSSIAN_VARIANCES), max(GAUSSIAN_VARIANCES)) == (1e-4, 1e4)
    assert len(LAPLACE_RATES) == 10
    assert min(LAPLACE_RATES) == pytest.approx(0.01)
    assert round(max(LAPLACE_RATES)) == 316
    ratios = np.array(LAPLACE_RATES[:-1]) / np.array(LAPLACE_RATES[1:])
    np.testing.assert_allclose(ratios, np.sqrt(10))


@for_each("prior", ["gaussian", "laplace"])
def test_cross_validation_is_the_plain_loop(prior: str) -> None:
    small = make(61, documents=50, binary=False)
    choice = choose_lam_by_cross_validation(
        small.X,
        small.Y,
        prior=prior,
        grid=(0.3, 1.0, 3.0, 10.0),
        folds=5,
        runs=2,
        seed=3,
        tol=1e-9,
        max_passes=5000,
    )
    part = np.random.default_rng(3).permutation(50) % 5
    by_hand = np.zeros_like(choice.likelihood)
    for run in range(2):
        kept = part != run
        for g, lam in enumerate(choice.lams):
            model = fit(
                small.X[kept],
                small.Y[kept],
                prior=prior,
                lam=lam * 50 / kept.sum(),
                tol=1e-9,
                max_passes=5000,
            )
            p = 1 / (1 + np.exp(-model.scores(small.X[~kept])))
            by_hand[g] += np.log(np.where(small.Y[~kept], p, 1 - p)).sum(axis=0)
    np.testing.assert_allclose(choice.likelihood, by_hand, rtol=5e-3, atol=5e-3)
    assert (np.diff(choice.lams) < 0).all()
    np.testing.assert_allclose(
        np.sort(choice.lams), np.sort(convert_grid_to_lams(prior, 50, (0.3, 1.0, 3.0, 10.0)))
    )
    assert len(convert_grid_to_lams(prior, 50)) == (9 if prior == "gaussian" else 10)
    np.testing.assert_array_equal(choice.lam, choice.lams[choice.likelihood.argmax(axis=0)])


def test_cross_validation_refuses_what_cannot_be_split() -> None:
    small = make(62)
    with pytest.raises(UsageError, match="cannot be drawn"):
        choose_lam_by_cross_validation(small.X, small.Y, folds=50)
    with pytest.raises(UsageError, match="no hyperparameter"):
        choose_lam_by_cross_validation(small.X, small.Y, prior="none")


def test_jeffreys_ends_at_a_stationary_point_of_its_log_penalty() -> None:
    """At a nonzero weight the slope of the loss is -1 / w: a local maximum of the posterior."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 12))
    Y = (X[:, :3] @ np.array([2.0, -2.0, 1.5]) + rng.normal(size=300) > 0)[:, None]
    model = fit(X, Y, prior="jeffreys", penalize_bias=False, tol=1e-12, max_passes=5000)
    assert model.certificate[0].reason == "fixed point"
    w = model.coef[:, 0]
    alive = w != 0
    assert alive[:3].all()
    assert alive.sum() < 12
    y = np.where(Y[:, 0], 1.0, -1.0)
    slope = X.T @ (-y / (1 + np.exp(y * model.scores(X)[:, 0])))
    np.testing.assert_allclose(slope[alive] + 1 / w[alive], 0, atol=1e-2)
    assert model.describe()["settings"]["prior"] == "jeffreys"


@for_each(
    ("settings", "reason"),
    [
        ({"prior": Prior("jeffreys", variance=np.ones(15))}, "infers each variance"),
        ({"prior": "jeffreys", "algorithm": "row"}, "one lam for all features"),
        ({"prior": "jeffreys", "loss": "hinge"}, "has a corner"),
    ],
)
def test_jeffreys_refuses_before_any_work(settings: dict[str, Any], reason: str) -> None:
    small = make(64)
    with pytest.raises(UsageError, match=reason):
        fit(small.X, small.Y, **settings)


@for_each("penalize_bias", [True, False])
@for_each("loss", ["squared", "squared_hinge", "logistic", "modified_logistic"])
def test_critical_lam_is_where_the_first_weight_appears(loss: str, penalize_bias: bool) -> None:
    small = make(65, documents=60, binary=False)
    Y = small.Y[:, 2:]
    known: dict[str, Any] = {"loss": loss, "penalize_bias": penalize_bias}
    critical = find_critical_lam(small.X, Y, **known)
    above = fit(small.X, Y, prior="laplace", lam=critical * 1.01, tol=1e-9, **known)
    below = fit(small.X, Y, prior="laplace", lam=critical * 0.97, tol=1e-9, **known)
    assert not above.coef.any()
    appeared = (below.coef != 0).any(axis=0) | (penalize_bias & (below.intercept != 0))
    assert appeared.all()


@for_each("cross_validate", [False, True])
@for_each("features", [0, 1, 3, 10, 1000])
def test_squeezed_models_keep_the_bound(features: int, cross_validate: bool) -> None:
    small = make(66, documents=80, features=40, binary=False)
    model = squeeze(small.X, small.Y[:, 1:], features, cross_validate, max_passes=200)
    kept = (model.coef != 0).sum(axis=0)
    assert (kept <= features).all()
    lams = np.array(model.settings["lam"])
    again = fit(small.X, small.Y[:, 1:], prior="laplace", lam=lams, max_passes=200)
    np.testing.assert_allclose(again.coef, model.coef, atol=1e-12)
    if 0 < features <= 10 and not cross_validate:
        assert (kept[1:] >= features - 2).all()
    with pytest.raises(UsageError, match="not -1"):
        squeeze(small.X, small.Y, -1)


@given(st.integers(0, 9999), st.booleans())
@settings(max_examples=30, deadline=None)
def test_norm_based_variances_are_computed_from_the_documents_one_by_one(seed: int, sparse: bool) -> None:
    """Equation 29: (selected features + 1) over the mean squared norm of the documents on these features."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.6)
    dense[0] += 1.0
    mask = rng.random((5, 3)) < 0.5
    X = sp.csr_matrix(dense) if sparse else dense
    assert compute_norm_based_variance(X) == pytest.approx(6 / np.mean([row @ row for row in dense]))
    found = compute_norm_based_variance(X, mask)
    for k in range(3):
        chosen = dense[:, mask[:, k]]
        size = np.mean([row @ row for row in chosen]) if mask[:, k].any() else 1.0
        assert found[k] == pytest.approx((mask[:, k].sum() + 1) / size)


QUICK: dict[str, Any] = {"grid": (0.1, 1.0, 10.0), "folds": 4, "seed": 5, "tol": 1e-8, "max_passes": 3000}


def test_of_equal_likelihoods_the_strongest_prior_wins() -> None:
    """Without features, every prior has the same model, if the constant is free."""
    small = make(64, documents=30)
    choice = choose_lam_by_cross_validation(
        sp.csr_matrix((30, 2)), small.Y, prior="gaussian", penalize_bias=False, runs=1, **QUICK
    )
    equal = np.ptp(choice.likelihood, axis=0) == 0
    assert (choice.best[equal] == 0).all()
    assert choice.lam.tolist() == choice.lams[choice.best].tolist()
    assert choice.lams[0] == choice.lams.max()


def test_executors_and_other_categories_change_no_choice() -> None:
    small = make(65, documents=40, binary=False)
    alone = choose_lam_by_cross_validation(small.X, small.Y, runs=3, **QUICK)
    with start_workers("threads", 2) as workers:
        together = choose_lam_by_cross_validation(small.X, small.Y, runs=3, executor=workers, **QUICK)
    assert np.array_equal(alone.likelihood, together.likelihood)
    one = choose_lam_by_cross_validation(small.X, small.Y[:, 2], runs=3, **QUICK)
    np.testing.assert_allclose(one.likelihood[:, 0], alone.likelihood[:, 2], rtol=1e-5)


def test_weights_are_for_training_and_held_out_documents_count_one_each() -> None:
    small = make(66, documents=40, binary=False)
    ones = choose_lam_by_cross_validation(small.X, small.Y, runs=2, sample_weight=np.ones(40), **QUICK)
    plain = choose_lam_by_cross_validation(small.X, small.Y, runs=2, **QUICK)
    np.testing.assert_allclose(ones.likelihood, plain.likelihood, rtol=1e-6)
    heavy = choose_lam_by_cross_validation(
        small.X, small.Y, runs=2, sample_weight=np.linspace(0.1, 3, 40), **QUICK
    )
    assert not np.allclose(heavy.likelihood, plain.likelihood)


@for_each("wrong", [{"runs": 0}, {"runs": 5}, {"folds": 1, "runs": 1}, {"folds": 41, "runs": 1}])
def test_parts_that_cannot_be_drawn_are_refused(wrong: dict[str, int]) -> None:
    small = make(67, documents=40)
    with pytest.raises(UsageError, match="cannot be drawn"):
        choose_lam_by_cross_validation(small.X, small.Y, **QUICK | wrong)


@for_each("prior", ["laplace", "gaussian"])
def test_a_division_of_its_own_is_that_of_the_category_alone(prior: str) -> None:
    """Held-out documents weigh 0: the first category has the likelihoods of the division that the seed draws first."""
    small = make(67, documents=40, binary=False)
    known = QUICK | {"prior": prior, "runs": 3}
    shared = choose_lam_by_cross_validation(small.X, small.Y, **known)
    own = choose_lam_by_cross_validation(small.X, small.Y, own_divisions=True, **known)
    np.testing.assert_allclose(own.likelihood[:, 0], shared.likelihood[:, 0], rtol=1e-4)
    assert not np.allclose(own.likelihood[:, 1:], shared.likelihood[:, 1:], rtol=1e-3)
    first = choose_lam_by_cross_validation(small.X, small.Y[:, :2], own_divisions=True, **known)
    np.testing.assert_allclose(first.likelihood, own.likelihood[:, :2], rtol=1e-4)


def test_stratified_parts_have_equal_shares_of_each_category() -> None:
    """Without features a model knows only how many documents are positive: equal parts are equally likely."""
    labels = np.zeros((40, 2), dtype=bool)
    labels[3:7, 0], labels[20:32, 1] = True, True
    for stratify in (True, False):
        known = QUICK | {"grid": (1.0,), "own_divisions": True, "stratify": stratify}
        sums = [
            choose_lam_by_cross_validation(np.zeros((40, 1)), labels, runs=runs, **known).likelihood[0]
            for runs in (1, 2, 3, 4)
        ]
        parts = np.diff([np.zeros(2), *sums], axis=0)
        assert np.allclose(parts, parts[0], rtol=1e-6) == stratify


@for_each("features", [0, 1, 3])
@for_each("weights", [{"sample_weight": np.full(80, 50.0)}, {"class_weight": {True: 50.0, False: 20.0}}])
def test_squeezed_models_of_weighted_documents_keep_the_bound(features: int, weights: dict[str, Any]) -> None:
    small = make(66, documents=80, features=40, binary=False)
    model = squeeze(small.X, small.Y[:, 1:], features, **weights, max_passes=200)
    assert ((model.coef != 0).sum(axis=0) <= features).all()


@for_each("kind", [np.asarray, sp.csr_array])
def test_norm_based_variance_of_small_integers_does_not_overflow(kind: Any) -> None:
    counts = np.full((3, 2), 20)
    small, mask = kind(counts.astype(np.uint8)), np.ones((2, 1), dtype=bool)
    assert compute_norm_based_variance(small) == pytest.approx(3 / 800)
    assert compute_norm_based_variance(small, mask) == pytest.approx([3 / 800])
