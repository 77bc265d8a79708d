"""`fit` trains any combination of loss, prior and algorithm for all categories; `fit_path` does so for several lam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear.model import LinearModel
from textcat.linear.papers.jeffreys import train_jeffreys
from textcat.linear.priors import Prior
from textcat.linear.training import FitSettings, make_matrix, train


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
        raise UsageError("the Jeffreys prior drops weights itself", where="fit", hint="Leave `prune` out.")
    return train_jeffreys(X, Y, settings) if chosen.name == "jeffreys" else train(X, Y, settings)


def fit_path(X: Any, Y: ArrayLike, lams: Sequence[float | ArrayLike], **settings: Any) -> list[LinearModel]:
    """Fit for each lam in order, each from the solution of the one before; `settings` are those of `fit`.

    The documents are converted to the algorithm's form only once.
    """
    if "lam" in settings or "init" in settings:
        raise UsageError("fit_path sets lam and init itself", where="fit_path", hint="Leave both out.")
    if settings.get("algorithm") == "row":
        settings["options"] = {**(settings.get("options") or {}), "keep_dual": True}
    known = {name: settings[name] for name in ("algorithm", "bias") if name in settings}
    matrix = X if settings.get("prior") == "jeffreys" else make_matrix(X, FitSettings(**known))
    models: list[LinearModel] = []
    for lam in lams:
        models.append(fit(matrix, Y, lam=lam, init=models[-1] if models else None, **settings))
    return models
