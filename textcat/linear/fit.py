"""`fit` trains any combination of loss, prior and algorithm for all categories; `fit_path` does so for several lam."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError, make_fit_error
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior
from textcat.linear.problem import ProblemMatrix
from textcat.linear.training import FitSettings, make_matrix, train

MAX_ROUNDS = 200
# A category is at its fixed point when no weight moves by more than this part of its largest one,
# and a weight is dropped when it is smaller than that part of the largest.
ROUND_TOLERANCE = 1e-5
DROP_THRESHOLD = 1e-6


def fit(
    X: Any,
    Y: ArrayLike,
    loss: str = "logistic",
    prior: str | Prior = "gaussian",
    lam: float | ArrayLike = 1e-4,
    algorithm: str = "column",
    bias: float = 1.0,
    tol: float = 1e-6,
    max_passes: int = 1000,
    n_jobs: int = 1,
    mask: NDArray[np.bool_] | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: str | Mapping[bool, float] | None = None,
    penalize_bias: bool = True,
    init: LinearModel | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    prune: float = 0.0,
) -> LinearModel:
    """Train a model of one category per column of Y by minimizing (1/n) sum loss + lam * penalty.

    X: documents x features, sparse or dense. Y: bool, documents x categories. lam: a number, or one per
    category. bias: the value of the appended constant feature, 0 for none. mask: bool, features x
    categories, the selected features of each. init: a model to start from (for algorithm "row", one that
    kept its dual variables). options: options of the algorithm, see textcat.linear.algorithm_options. prune:
    weights smaller than this are dropped as soon as a block of categories is solved, and the others kept as
    sparse float32; 0 keeps all. The result depends neither on n_jobs nor on the other categories that are trained.
    """
    chosen = Prior(prior) if isinstance(prior, str) else prior
    settings = FitSettings(
        loss, chosen, lam, algorithm, bias, tol, max_passes, n_jobs, mask, sample_weight, class_weight,
        penalize_bias, init, seed, dict(options or {}), prune,
    )  # fmt: skip
    if prune and chosen.name == "jeffreys":
        raise make_fit_error("the Jeffreys prior drops weights itself", "Leave `prune` out.")
    return train_jeffreys(X, Y, settings) if chosen.name == "jeffreys" else train(X, Y, settings)


def fit_path(X: Any, Y: ArrayLike, lams: Sequence[float | ArrayLike], **settings: Any) -> list[LinearModel]:
    """Fit for each lam in order, each from the solution of the one before; `settings` are those of `fit`.

    The documents are converted to the algorithm's form only once.
    """
    return list(walk_path(X, Y, lams, **settings))


def walk_path(
    X: Any, Y: ArrayLike, lams: Sequence[float | ArrayLike], **settings: Any
) -> Iterator[LinearModel]:
    """Yield the models of `fit_path` one after another; only the last one is kept in memory."""
    if "lam" in settings or "init" in settings:
        raise UsageError("fit_path sets lam and init itself", where="fit_path", hint="Leave both out.")
    if settings.get("algorithm") == "row":
        settings["options"] = {**(settings.get("options") or {}), "keep_dual": True}
    known = {name: settings[name] for name in ("algorithm", "bias") if name in settings}
    made = settings.get("prior") == "jeffreys" or isinstance(X, ProblemMatrix)
    matrix = X if made else make_matrix(X, FitSettings(**known))
    model = None
    for lam in lams:
        model = fit(matrix, Y, lam=lam, init=model, **settings)
        yield model


def train_jeffreys(X: Any, Y: ArrayLike, settings: FitSettings) -> LinearModel:
    """Train under the Jeffreys prior p(tau) ~ 1 / tau on the variance of each weight: sparse, without a hyperparameter.

    Problem: a fixed point of EM for sum_i c_i f(w.x_i y_i) + sum_j ln |w_j|. The problem is not convex, so the
    result depends on the start, here the ridge solution at lam. Each round solves a Gaussian prior whose variances
    are the squared weights of the round before (E[1 / tau | w] = 1 / w^2); a weight that has shrunk to almost zero
    is dropped. A category is frozen at its fixed point. The constant keeps a Gaussian prior of strength lam, or none
    if it is not penalized. Paper: genkin_2004, section 3.3, after Figueiredo.
    """
    if settings.prior.variance is not None:
        raise make_fit_error(
            "the Jeffreys prior infers each variance",
            "Remove the variances, or choose another prior.",
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
