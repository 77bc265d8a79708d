"""The Jeffreys prior p(tau) ~ 1 / tau on the variance of each weight: sparse, without a hyperparameter.

Problem: a fixed point of EM for sum_i c_i f(w.x_i y_i) + sum_j ln |w_j|. The problem is not convex, so the
result depends on the start, here the ridge solution at lam. Each round solves a Gaussian prior whose variances
are the squared weights of the round before (E[1 / tau | w] = 1 / w^2); a weight that has shrunk to almost zero
is dropped. The constant keeps a Gaussian prior of strength lam, or none if it is not penalized. Paper:
genkin_2004, section 3.3, after Figueiredo.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior
from textcat.linear.training import FitSettings, train

MAX_ROUNDS = 200
# A category is at its fixed point when no weight moves by more than this part of its largest one,
# and a weight is dropped when it is smaller than that part of the largest.
ROUND_TOLERANCE = 1e-5
DROP_THRESHOLD = 1e-6


def train_jeffreys(X: Any, Y: ArrayLike, settings: FitSettings) -> LinearModel:
    """Run rounds of EM from the ridge solution; freeze each category at its fixed point."""
    if settings.prior.variance is not None or settings.prior.informed:
        raise UsageError(
            "the Jeffreys prior infers each variance and knows no modes and no signs",
            where="fit",
            hint="Remove variances, modes and signs, or choose another prior.",
        )
    model = train(X, Y, replace(settings, prior=Prior("gaussian")))
    passes = np.array([each.passes for each in model.certificate])
    settled = np.zeros(model.intercept.shape, dtype=bool)
    for _ in range(MAX_ROUNDS):
        if settled.all():
            break
        after = train(X, Y, _make_next_settings(model, settings)).replace_categories(model, settled)
        passes += np.where(settled, 0, [each.passes for each in after.certificate])
        settled |= _measure_change(model, after) <= ROUND_TOLERANCE
        model = after
    certificates = [
        replace(each, passes=int(count), reason="fixed point" if done else "rounds")
        for each, count, done in zip(model.certificate, passes, settled, strict=True)
    ]
    return replace(model, certificate=certificates, settings=settings.describe())


def _make_next_settings(model: LinearModel, settings: FitSettings) -> FitSettings:
    size = np.abs(model.coef)
    alive = size > DROP_THRESHOLD * size.max(axis=0, initial=0.0)
    if settings.mask is not None:
        alive &= np.asarray(settings.mask, dtype=bool)
    variance = np.where(alive, size * size, 1.0)
    return replace(settings, prior=Prior("gaussian", variance=variance), mask=alive, init=model)


def _measure_change(before: LinearModel, after: LinearModel) -> NDArray[np.float64]:
    largest = np.maximum(np.abs(after.coef).max(axis=0, initial=0.0), np.abs(after.intercept))
    moved = np.maximum(
        np.abs(after.coef - before.coef).max(axis=0, initial=0.0), np.abs(after.intercept - before.intercept)
    )
    return np.asarray(moved / np.maximum(largest, np.finfo(float).tiny))
