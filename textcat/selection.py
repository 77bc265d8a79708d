"""Score features by what a term says about a category, and select the best ones for each category or for all.

Every score is 0 where it is undefined: for a term in all documents or none, or a category of all documents or none.
Ties are broken by the index of the terms, which is their sorted order: of equal scores the first terms are kept, or the
last with `ties: last`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt
from scipy.sparse import csr_array
from scipy.special import ndtri, xlogy

from textcat.extensions import check_numbers, claim_name, guard_function
from textcat.matrices import check_matrix
from textcat.settings import GrowingSettings, KnownName

Floats = NDArray[np.float64]

# Terms scored at a time, so that temporary arrays fit the processor's cache.
TERMS_PER_BLOCK = 2048


@dataclass(frozen=True)
class Contingency:
    """Numbers of training documents, terms x categories, in the letters of genkin_2004 section 5.3.2.

    a: in the category, with the term; b: in it, without; c: not in it, with; d: not in it, without; n: all.
    """

    a: Floats
    b: Floats
    c: Floats
    d: Floats
    n: int


def count_contingency_blocks(X: csr_array, Y: NDArray[np.bool_]) -> Iterator[tuple[slice, Contingency]]:
    """Yield the tables of successive blocks of terms; X is documents x terms, Y documents x categories."""
    documents = len(Y)
    present = mark_presence(X)
    together = csr_array(present.T @ csr_array(Y.astype(np.float64)))
    containing = np.asarray(present.sum(axis=0), dtype=np.float64).reshape(-1, 1)
    in_category = Y.sum(axis=0, dtype=np.float64).reshape(1, -1)
    for start in range(0, X.shape[1], TERMS_PER_BLOCK):
        block = slice(start, start + TERMS_PER_BLOCK)
        a = together[block].toarray()
        b = in_category - a
        c = containing[block] - a
        yield block, Contingency(a, b, c, documents - a - b - c, documents)


def mark_presence(X: csr_array) -> csr_array:
    """Return a matrix with 1 where a document contains the term; stored zeros are removed."""
    binary = csr_array(((X.data != 0).astype(np.float64), X.indices, X.indptr), shape=X.shape, copy=True)
    binary.eliminate_zeros()
    return binary


ScoreFunction = Callable[[csr_array, NDArray[np.bool_]], Floats]

# Rates are clipped this far from 0 and 1: genkin_2004 section 5.3.2, after Forman (2003).
MIN_RATE = 0.0005


def score_features(name: str, X: csr_array, Y: NDArray[np.bool_]) -> Floats:
    """Return the scores of all terms for all categories, terms x categories.

    X holds the training documents, documents x terms, without duplicate entries. `pearson` uses its values, the other
    scores use the presence of terms. Y is documents x categories.
    """
    check_matrix(X)
    return SCORES[name](X, Y)


def register_score(name: str, function: ScoreFunction) -> None:
    """Add a selection score, with the arguments and the result of `score_features`; higher scores are better."""
    claim_name("selection score", name, SCORES)
    SCORES[name] = guard_function(
        "selection score",
        name,
        function,
        lambda scores, X, Y: check_numbers((X.shape[1], Y.shape[1]), scores),
    )


def of_contingency(function: Callable[[Contingency], Floats]) -> ScoreFunction:
    """Turn a function of the 2 x 2 tables of terms and categories into a score."""

    @wraps(function)
    def scores_of(X: csr_array, Y: NDArray[np.bool_]) -> Floats:
        scores = np.empty((X.shape[1], Y.shape[1]))
        for block, table in count_contingency_blocks(X, Y):
            scores[block] = function(table)
        return scores

    return scores_of


def gini_gain(t: Contingency) -> Floats:
    """Decrease of the Gini impurity 2p(1 - p) of a category when the presence of the term is known.

    zhang_oles_2001 section 4.1 names it without an equation. The impurities of both branches give the decrease
    2 (ad - bc)^2 / (n^2 (a + c)(b + d)): for one category, chi-square times a constant.
    """
    return 2.0 * _ratio((t.a * t.d - t.b * t.c) ** 2, (t.a + t.c) * (t.b + t.d)) / float(t.n) ** 2


def gini_per_document(t: Contingency) -> Floats:
    """`gini_gain` divided by the share of documents with the term: the gain for a document that has it."""
    return gini_gain(t) * _ratio(np.full_like(t.a, float(t.n)), t.a + t.c)


def chi_square(t: Contingency) -> Floats:
    """Chi-square, equation 30 of genkin_2004."""
    return t.n * _ratio((t.a * t.d - t.b * t.c) ** 2, (t.a + t.b) * (t.c + t.d) * (t.a + t.c) * (t.b + t.d))


def information_gain(t: Contingency) -> Floats:
    """Mutual information of term and category in bits: Yang & Pedersen (1997) for two classes."""
    entropies = _plogp(t.a, t.n) + _plogp(t.b, t.n) + _plogp(t.c, t.n) + _plogp(t.d, t.n)
    with_term, in_category = t.a + t.c, t.a + t.b
    margins = (
        _plogp(with_term, t.n)
        + _plogp(t.n - with_term, t.n)
        + _plogp(in_category, t.n)
        + _plogp(t.n - in_category, t.n)
    )
    return np.maximum(entropies - margins, 0.0)


def bi_normal_separation(t: Contingency) -> Floats:
    """Bi-normal separation, equation 31 of genkin_2004, with rates below 0.0005 or above 0.9995 moved there."""
    return _separate(
        t,
        np.clip(_ratio(t.a, t.a + t.b), MIN_RATE, 1.0 - MIN_RATE),
        np.clip(_ratio(t.c, t.c + t.d), MIN_RATE, 1.0 - MIN_RATE),
    )


def bi_normal_separation_zeros(t: Contingency) -> Floats:
    """The same with only the rates 0 and 1 moved, which have no quantile; a rate of 0.0001 stays."""
    return _separate(t, _move_ends(_ratio(t.a, t.a + t.b)), _move_ends(_ratio(t.c, t.c + t.d)))


def _separate(t: Contingency, inside: Floats, outside: Floats) -> Floats:
    """Return the distance of the normal quantiles of two rates; 0 for a category of all documents or none."""
    return np.where((t.a + t.b > 0) & (t.c + t.d > 0), np.abs(ndtri(inside) - ndtri(outside)), 0.0)


def _move_ends(rates: Floats) -> Floats:
    return np.where(rates <= 0.0, MIN_RATE, np.where(rates >= 1.0, 1.0 - MIN_RATE, rates))


def document_frequency(t: Contingency) -> Floats:
    """The number of documents with the term, the same for every category."""
    return t.a + t.c


def pearson(X: csr_array, Y: NDArray[np.bool_]) -> Floats:
    """|r| between the weights of a term and the label, equation 32 of genkin_2004.

    Labels of 0 and 1 give the same |r| as -1 and +1, and with sums instead of centred values X stays sparse.
    """
    documents = len(Y)
    squares = csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).reshape(-1, 1)
    square_sums = np.asarray(squares.sum(axis=0), dtype=np.float64).reshape(-1, 1)
    positives = Y.sum(axis=0, dtype=np.float64).reshape(1, -1)
    products = csr_array(X.T @ csr_array(Y.astype(np.float64))).toarray()
    spread = square_sums - sums**2 / documents
    # The spread of a constant column is rounding error.
    spread[spread <= 1e-12 * square_sums] = 0.0
    balance = positives - positives**2 / documents
    return np.minimum(np.abs(_ratio(products - sums * positives / documents, np.sqrt(spread * balance))), 1.0)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    quotient = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


def _plogp(counts: Floats, n: int) -> Floats:
    share = counts / n
    return cast(Floats, xlogy(share, share) / np.log(2.0))


SCORES: dict[str, ScoreFunction] = {
    "gini_gain": of_contingency(gini_gain),
    "gini_per_document": of_contingency(gini_per_document),
    "information_gain": of_contingency(information_gain),
    "chi_square": of_contingency(chi_square),
    "bi_normal_separation": of_contingency(bi_normal_separation),
    "bi_normal_separation_zeros": of_contingency(bi_normal_separation_zeros),
    "pearson": pearson,
    "document_frequency": of_contingency(document_frequency),
}


SelectionScope = Literal["category", "common", "max", "mean", "weighted_mean", "sum"]
Ties = Literal["first", "last"]


class SelectionSettings(GrowingSettings):
    """Which features each category may use."""

    later = ("candidates", "ties", "folds")

    score: Annotated[str, KnownName("selection score", lambda: SCORES)] = Field(
        default="gini_gain", description="The score that ranks features."
    )
    features: PositiveInt | Literal["all"] = Field(
        default="all", description="How many of the best features are kept."
    )
    scope: SelectionScope = Field(
        default="category",
        description="category: this number of features for each category; common: one minimum score for all "
        "categories, at which they together keep this number of features, and each category keeps "
        "those that reach it; max, mean, weighted_mean, sum: one set for all by the maximum, the "
        "mean, the mean weighted with the numbers of training documents, or the sum of the scores "
        "over categories.",
    )
    minimum_documents: int = Field(
        default=1, ge=0, description="Features in fewer training documents than this are never kept."
    )
    candidates: Literal["all", "positive"] = Field(
        default="all",
        description="all: every term may be selected for a category; positive: only terms of its training "
        "documents.",
    )
    ties: Ties = Field(
        default="first",
        description="Which of the terms with equal scores are kept: the first or the last in sorted order.",
    )
    folds: Literal["inside", "once"] = Field(
        default="inside",
        description="inside: each fold of cross-validation learns document frequencies, features and latent "
        "dimensions from its own training part, documents of equal text are in one fold, and "
        "folds have equal shares of single labels; once: all folds use those of all training "
        "documents, and are drawn at random, as in the experiments of the papers.",
    )


def select_features(X: csr_array, Y: NDArray[np.bool_], settings: SelectionSettings) -> NDArray[np.bool_]:
    """Return the features of each category, terms x categories, from training documents X and labels Y."""
    check_matrix(X)
    containing = np.asarray(mark_presence(X).sum(axis=0)).ravel()
    candidates = containing >= settings.minimum_documents
    if settings.candidates == "positive":
        return _select_among_positive(X, Y, candidates, settings)
    if settings.features == "all":
        return np.repeat(candidates[:, None], Y.shape[1], axis=1)
    scores = score_features(settings.score, X, Y)
    if settings.scope == "category":
        return select_best(scores, candidates, settings.features, settings.ties)
    if settings.scope == "common":
        return select_above_common_threshold(scores, candidates, settings.features)
    pooled = pool_scores(scores, settings.scope, Y.sum(axis=0, dtype=np.float64))
    best = select_best(pooled[:, None], candidates, settings.features, settings.ties)
    return np.repeat(best, Y.shape[1], axis=1)


def _select_among_positive(
    X: csr_array, Y: NDArray[np.bool_], candidates: NDArray[np.bool_], settings: SelectionSettings
) -> NDArray[np.bool_]:
    """Select features if a category's dictionary contains only the terms of its own training documents.

    Even with one set for all categories, a category keeps only the terms in its dictionary.
    """
    dictionary = csr_array(mark_presence(X).T @ csr_array(Y.astype(np.float64))).toarray() > 0
    dictionary &= candidates[:, None]
    if settings.features == "all":
        return dictionary
    scores = np.where(dictionary, score_features(settings.score, X, Y), -np.inf)
    any_category: NDArray[np.bool_] = np.asarray(dictionary.any(axis=1))
    if settings.scope == "category":
        return dictionary & select_best(scores, candidates, settings.features, settings.ties)
    if settings.scope == "common":
        return dictionary & select_above_common_threshold(scores, any_category, settings.features)
    pooled = pool_scores(np.where(dictionary, scores, 0.0), settings.scope, Y.sum(axis=0, dtype=np.float64))
    return dictionary & select_best(pooled[:, None], any_category, settings.features, settings.ties)


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


def select_best(
    scores: Floats, candidates: NDArray[np.bool_], features: int, ties: Ties = "first"
) -> NDArray[np.bool_]:
    """Return a mask of the `features` highest scores of each column, among the candidate rows."""
    rows = np.flatnonzero(candidates)
    rows = rows if ties == "first" else rows[::-1]
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
