"""Which combinations of loss, prior and algorithm are possible: the rules, the hints, and what `fit` really does."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.linear.problems import make
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear import Prior, fit, load_named_learners
from textcat.linear.combinations import (
    EXACTEST_FIRST,
    QUICKEST_FIRST,
    REFUSAL_RULES,
    SolveRequest,
    check_combination,
    choose_algorithm,
)
from textcat.linear.losses import LOSS_NAMES, find_loss
from textcat.linear.priors import PRIORS

SMALL = make(7, documents=25, features=8, categories=3)
REQUESTS = [
    SolveRequest(find_loss(loss), prior, penalize_bias, bias, one_strength, class_weights)
    for loss, prior, penalize_bias, bias, one_strength, class_weights in itertools.product(
        LOSS_NAMES, PRIORS, [True, False], [1.0, 0.0], [True, False], [False, True]
    )
]


@for_each("order", [QUICKEST_FIRST, EXACTEST_FIRST])
def test_the_chosen_algorithm_is_the_first_that_can(order: tuple[str, ...]) -> None:
    assert sorted(order) == sorted(REFUSAL_RULES)
    for request in REQUESTS:
        able = [name for name in order if REFUSAL_RULES[name](request) is None]
        chosen = choose_algorithm(request, order)
        assert chosen == (able[0] if able else "column")


def test_a_refusal_names_every_algorithm_that_can() -> None:
    for request in REQUESTS:
        able = [name for name, rule in REFUSAL_RULES.items() if rule(request) is None]
        for name, rule in REFUSAL_RULES.items():
            if name in able:
                check_combination(name, request)
                continue
            with pytest.raises(UsageError) as caught:
                check_combination(name, request)
            assert caught.value.what == rule(request)
            assert caught.value.where == f"{request.loss.name} x {request.prior} x {name}"
            assert caught.value.hint == f"Algorithms that can: {', '.join(able) or 'none'}"


def test_asking_for_less_never_makes_an_algorithm_refuse() -> None:
    """Without variances, class weights or a free constant, all that could solve it still can."""
    for request in REQUESTS:
        for easier in (
            replace(request, one_strength=True),
            replace(request, class_weights=False),
            replace(request, penalize_bias=True),
            replace(request, bias=0.0),
        ):
            for rule in REFUSAL_RULES.values():
                assert rule(request) is not None or rule(easier) is None


@for_each("algorithm", REFUSAL_RULES)
@for_each("prior", PRIORS)
@for_each("loss", LOSS_NAMES)
def test_fit_solves_what_the_rules_allow_and_refuses_the_rest(loss: str, prior: str, algorithm: str) -> None:
    rng = np.random.default_rng(0)
    asked: dict[str, dict[str, Any]] = {
        "plain": {},
        "free constant": {"penalize_bias": False},
        "variances": {"prior": Prior(prior, variance=rng.random(8) + 0.1)},
        "class weights": {"class_weight": "balanced"},
    }
    changes = {
        "plain": {},
        "free constant": {"penalize_bias": False},
        "variances": {"one_strength": False},
        "class weights": {"class_weights": True},
    }
    for name, changed in asked.items():
        request = replace(SolveRequest(find_loss(loss), prior), **changes[name])
        settings = {"loss": loss, "prior": prior, "algorithm": algorithm, "lam": 0.05, "max_passes": 30}
        reason = REFUSAL_RULES[algorithm](request)
        if reason is None:
            model = fit(SMALL.X, SMALL.Y, **{**settings, **changed})
            assert np.isfinite(model.coef).all()
            assert len(model.certificate) == 3
        else:
            with pytest.raises(UsageError) as caught:
                fit(SMALL.X, SMALL.Y, **{**settings, **changed})
            assert caught.value.what == reason


@for_each(("algorithm", "prior"), [("simplex", "gaussian"), ("column", "cauchy")])
def test_unknown_names_are_refused_before_any_rule(algorithm: str, prior: str) -> None:
    request = SolveRequest(find_loss("logistic"), prior)
    with pytest.raises(UsageError, match=r"there is no (algorithm|prior)"):
        check_combination(algorithm, request)


@for_each("name", load_named_learners())
def test_a_named_learner_is_a_possible_combination(name: str) -> None:
    """Its loss, prior and algorithm go together."""
    settings = load_named_learners()[name]["settings"]
    request = SolveRequest(
        find_loss(settings["loss"]), settings["prior"], settings.get("penalize_bias", True)
    )
    check_combination(settings["algorithm"], request)
