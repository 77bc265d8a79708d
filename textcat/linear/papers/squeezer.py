"""Squeezer: the weakest Laplace prior under which a category has at most a given number of features.

Problem: for each category the least lam whose solution has at most `features` nonzero weights, not counting
the constant. The number of features hardly ever grows with lam, so lam is found by bisection on its logarithm,
for all categories at once. Output: a model within the bound. Paper: genkin_2004, section 7.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textcat.errors import UsageError
from textcat.linear.certificate import pull_of, scores_of, signs_of
from textcat.linear.cross_validation import choose_lam_by_cross_validation
from textcat.linear.fit import fit
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior
from textcat.linear.problem import Floats, labels_as_columns
from textcat.linear.training import FitSettings, make_problem

# Bisection between the critical lam and this share of it, in this many halvings of the logarithm.
WEAKEST_LAM_SHARE = 1e-5
HALVINGS = 20
# The arguments of `fit` on which the critical lam depends.
BOUND_SETTINGS = ("loss", "bias", "mask", "penalize_bias", "sample_weight", "class_weight")


def find_critical_lam(X: Any, Y: ArrayLike, **settings: Any) -> Floats:
    """Return the least Laplace lam of each category without nonzero weights (except an unpenalized constant)."""
    made = FitSettings(**{**settings, "prior": Prior("laplace")})
    problem = make_problem(X, Y, made, made.read_algorithm_options())
    everything = slice(0, problem.categories)
    weights = np.zeros((problem.features, problem.categories))
    if problem.bias != 0.0 and not made.penalize_bias:
        nothing = np.zeros((problem.features - 1, problem.categories), dtype=bool)
        alone = fit(X, Y, **{**settings, "prior": "laplace", "mask": nothing})
        weights[-1] = alone.intercept / problem.bias
    margins = scores_of(problem, weights) * signs_of(problem, everything)
    pull = np.abs(pull_of(problem, everything, problem.loss.derivative(margins)))
    if problem.bias != 0.0 and not made.penalize_bias:
        pull = pull[:-1]
    return np.asarray(pull.max(axis=0, initial=0.0))


def squeeze(
    X: Any, Y: ArrayLike, features: int, cross_validate: bool = False, **settings: Any
) -> LinearModel:
    """Train lasso models of at most `features` features per category.

    With `cross_validate` the cross-validated lam is taken wherever it satisfies the bound. `settings` go to
    `fit`.
    """
    if features < 0:
        raise UsageError(
            f"features must be 0 or more, not {features}", where="squeeze", hint="Give a number such as 10."
        )
    settings = {**settings, "prior": "laplace"}
    labels = labels_as_columns(Y, X.shape[0])
    bounds = {name: settings[name] for name in BOUND_SETTINGS if name in settings}
    high = np.maximum(find_critical_lam(X, labels, **bounds), 1e-12) * 1.001
    low, lam = high * WEAKEST_LAM_SHARE, high.copy()
    best = fit(X, labels, **{**settings, "lam": high})
    tried = low.copy()
    for _ in range(HALVINGS + 1):
        trial = fit(X, labels, **{**settings, "lam": tried})
        obeys = (trial.coef != 0).sum(axis=0) <= features
        best, lam = best.replace_categories(trial, obeys), np.where(obeys, tried, lam)
        high, low = np.where(obeys, tried, high), np.where(obeys, low, tried)
        tried = np.sqrt(low * high)
    if cross_validate:
        chosen = choose_lam_by_cross_validation(X, labels, **settings).lam
        trial = fit(X, labels, **{**settings, "lam": chosen})
        obeys = (chosen > lam) & ((trial.coef != 0).sum(axis=0) <= features)
        best, lam = best.replace_categories(trial, obeys), np.where(obeys, chosen, lam)
    return replace(best, settings={**best.settings, "lam": lam.tolist(), "at_most": features})
