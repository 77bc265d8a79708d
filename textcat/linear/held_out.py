"""Scores of documents by models that have not seen them, fold by fold: what thresholds and calibrations are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear import fast
from textcat.linear.fit import fit
from textcat.linear.mapped import some_rows
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior
from textcat.linear.problem import Floats
from textcat.linear.training import Settings, pose, start_of

Numbers = NDArray[np.int64]


def held_out_scores(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[tuple[Numbers, Numbers]],
    lams: Sequence[float | ArrayLike],
    init: LinearModel | None = None,
    **settings: Any,
) -> list[Floats]:
    """For each fold (documents to train on, documents to score) the scores, documents x categories.

    lams: the lam of each fold. init: a model of all documents; the fast path starts from it where that helps.
    `settings` are those of `fit`. On the fast path with the Gaussian prior all folds read the same rows, of which
    none is copied.
    """
    if len(lams) != len(folds) or not folds or not all(len(kept) for kept, _ in folds):
        raise UsageError(
            f"{len(lams)} values of lam for {len(folds)} folds, or a fold without documents to train on",
            where="held-out scores",
            hint="Give one for each fold, one fold at least, and documents to each.",
        )
    if _share_rows(settings):
        return _on_shared_rows(X, Y, folds, lams, init, settings)
    start = init if settings.get("algorithm") == "fast" else None
    labels, found = np.asarray(Y), []
    for (kept, held), lam in zip(folds, lams, strict=True):
        model = fit(some_rows(X, kept), labels[kept], lam=lam, init=start, **settings)
        found.append(model.scores(some_rows(X, held)))
    return found


def _share_rows(settings: dict[str, Any]) -> bool:
    """Whether the lanes can leave documents out: as they hold all features, and all documents weigh the same."""
    prior = settings.get("prior", "gaussian")
    plain = all(settings.get(name) is None for name in ("mask", "sample_weight", "class_weight"))
    name = prior.name if isinstance(prior, Prior) else prior
    return settings.get("algorithm") == "fast" and name == "gaussian" and plain


def _on_shared_rows(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[tuple[Numbers, Numbers]],
    lams: Sequence[float | ArrayLike],
    init: LinearModel | None,
    settings: dict[str, Any],
) -> list[Floats]:
    prior = settings.get("prior", "gaussian")
    chosen = Prior(prior) if isinstance(prior, str) else prior
    known = Settings(**{**settings, "prior": chosen, "lam": lams[0], "init": init})
    options = known.algorithm_options()
    if not isinstance(options, fast.FastOptions):
        raise TypeError("the fast path has options of its own")
    problem = pose(X, Y, known, options)
    strengths = [np.broadcast_to(np.asarray(lam, np.float64), problem.categories) for lam in lams]
    start = start_of(problem, init, False)
    return fast.scores_of_folds(problem, options, folds, strengths, start)
