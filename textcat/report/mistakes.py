"""The test documents that a run got most wrong, by margin, with the words that decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Decided:
    """A run's scores and decisions on the test documents, with what they should have been."""

    scores: Floats
    decisions: Bools
    thresholds: Floats
    labels: Bools
    documents: Sequence[str]
    categories: Sequence[str]


class Place(NamedTuple):
    """Where a run is wrong: document, category, margin; `own` is the document's one category, given another."""

    row: int
    column: int
    margin: float
    own: int | None = None


@dataclass(frozen=True)
class Word:
    """A term and what it added to the score."""

    term: str
    weight: float


@dataclass(frozen=True)
class Mistake:
    """A document with a category that it was given wrongly, or was not given.

    `margin` is the score's distance from the threshold, or from the score of the category given in its
    place; `words` is None where the model has no weights of words; `others` counts the other runs that make
    the same mistake.
    """

    document: str
    category: str
    instead: str
    labels: tuple[str, ...]
    margin: float
    words: tuple[Word, ...] | None
    others: int
    excerpt: str = ""


def most_wrong(decided: Decided, wrong: Bools, most: int) -> list[Place]:
    """Of the wrong decisions the ones furthest from their threshold.

    A document appears once; equal margins stand in the order of documents and categories.
    """
    rows, columns = np.nonzero(wrong)
    margins = decided.scores[rows, columns] - decided.thresholds[columns]
    order = np.argsort(-np.abs(margins), kind="stable")
    found: dict[int, Place] = {}
    for place in order[np.isfinite(margins[order])]:
        row = int(rows[place])
        found.setdefault(row, Place(row, int(columns[place]), float(margins[place])))
        if len(found) == most:
            break
    return list(found.values())


def most_mistaken(decided: Decided, most: int) -> list[Place]:
    """Where a document has one category: the margin is the difference of its score and the given one's."""
    rows = np.flatnonzero((decided.decisions & ~decided.labels).any(axis=1) & decided.labels.any(axis=1))
    given = np.argmax(decided.decisions[rows], axis=1)
    own = np.argmax(np.where(decided.labels[rows], decided.scores[rows], -np.inf), axis=1)
    margins = decided.scores[rows, given] - decided.scores[rows, own]
    order = np.argsort(-margins, kind="stable")[:most]
    return [Place(int(rows[k]), int(given[k]), float(margins[k]), int(own[k])) for k in order]


def deciding_words(row: Any, weights: Floats, terms: Sequence[str], most: int) -> tuple[Word, ...]:
    """The terms of one document (a sparse row) that moved its score furthest, either way."""
    parts = row.data * weights[row.indices]
    order = np.argsort(-np.abs(parts), kind="stable")[:most]
    return tuple(Word(terms[int(row.indices[k])], float(parts[k])) for k in order if parts[k] != 0.0)
