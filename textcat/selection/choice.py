"""Select the features of each category: the best ones for each category, or one set for all.

Ties are broken by the index of the terms, which is their sorted order.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt
from scipy.sparse import csr_array

from textcat.plugins import KnownName
from textcat.selection.scores import SCORES, Floats, mark_presence, score_features
from textcat.settings import GrowingSettings

SelectionScope = Literal["category", "common", "max", "mean", "weighted_mean", "sum"]


class SelectionSettings(GrowingSettings):
    """Which features each category may use."""

    later = ("candidates",)

    score: Annotated[str, KnownName("selection_scores", lambda: SCORES)] = "gini_gain"
    features: PositiveInt | Literal["all"] = "all"
    scope: SelectionScope = "category"
    minimum_documents: int = Field(default=1, ge=0)
    candidates: Literal["all", "positive"] = "all"


def select_features(X: csr_array, Y: NDArray[np.bool_], settings: SelectionSettings) -> NDArray[np.bool_]:
    """Return the features of each category, terms x categories, from training documents X and labels Y."""
    containing = np.asarray(mark_presence(X).sum(axis=0)).ravel()
    candidates = containing >= settings.minimum_documents
    if settings.candidates == "positive":
        return _select_among_positive(X, Y, candidates, settings)
    if settings.features == "all":
        return np.repeat(candidates[:, None], Y.shape[1], axis=1)
    scores = score_features(settings.score, X, Y)
    if settings.scope == "category":
        return select_best(scores, candidates, settings.features)
    if settings.scope == "common":
        return select_above_common_threshold(scores, candidates, settings.features)
    pooled = pool_scores(scores, settings.scope, Y.sum(axis=0, dtype=np.float64))
    return np.repeat(select_best(pooled[:, None], candidates, settings.features), Y.shape[1], axis=1)


def _select_among_positive(
    X: csr_array, Y: NDArray[np.bool_], candidates: NDArray[np.bool_], settings: SelectionSettings
) -> NDArray[np.bool_]:
    """Select features if a category's dictionary contains only the terms of its own training documents.

    Even with one set for all categories, a category keeps only the terms in its dictionary.
    """
    own = csr_array(mark_presence(X).T @ csr_array(Y.astype(np.float64))).toarray() > 0
    own &= candidates[:, None]
    if settings.features == "all":
        return own
    scores = np.where(own, score_features(settings.score, X, Y), -np.inf)
    any_category: NDArray[np.bool_] = np.asarray(own.any(axis=1))
    if settings.scope == "category":
        return own & select_best(scores, candidates, settings.features)
    if settings.scope == "common":
        return own & select_above_common_threshold(scores, any_category, settings.features)
    pooled = pool_scores(np.where(own, scores, 0.0), settings.scope, Y.sum(axis=0, dtype=np.float64))
    return own & select_best(pooled[:, None], any_category, settings.features)


def select_above_common_threshold(
    scores: Floats, candidates: NDArray[np.bool_], features: int
) -> NDArray[np.bool_]:
    """Return a mask of the scores above the threshold at which the categories together keep `features` features."""
    highest = np.where(candidates, scores.max(axis=1, initial=-np.inf), -np.inf)
    if features >= int(candidates.sum()):
        return np.asarray(candidates[:, None] & np.isfinite(scores))
    threshold = np.partition(highest, len(highest) - features)[len(highest) - features]
    return np.asarray(candidates[:, None] & (scores >= threshold))


def pool_scores(scores: Floats, scope: SelectionScope, documents: Floats) -> Floats:
    """Return one score for each term; `documents` are the numbers of training documents of the categories."""
    if scope == "max":
        return cast(Floats, scores.max(axis=1, initial=0.0))
    if scope == "sum":
        return cast(Floats, scores.sum(axis=1))
    weights = documents if scope == "weighted_mean" else np.ones(scores.shape[1])
    return cast(Floats, scores @ (weights / max(weights.sum(), 1.0)))


def select_best(scores: Floats, candidates: NDArray[np.bool_], features: int) -> NDArray[np.bool_]:
    """Return a mask of the `features` highest scores of each column, among the candidate rows."""
    rows = np.flatnonzero(candidates)
    mask = np.zeros(scores.shape, dtype=np.bool_)
    if features >= len(rows):
        mask[rows] = True
        return mask
    ranked = np.ascontiguousarray(scores[rows].T)
    last = np.partition(ranked, len(rows) - features, axis=1)[:, [len(rows) - features]]
    above = ranked > last
    equal = ranked == last
    missing = features - above.sum(axis=1, keepdims=True)
    mask[rows] = (above | (equal & (np.cumsum(equal, axis=1) <= missing))).T
    return mask
