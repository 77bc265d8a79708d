"""Diagnostics of a run from its artifacts: curves, worst mistakes, deciding words, excerpts.

Collections allow research and say nothing of quoting them in public, so a report names their documents and the
words that decided, and quotes nothing unless it is asked to. One's own documents are quoted unless asked not to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textcat.corpora import OWN_FORMATS, corpus_folder, open_corpus, vector_names
from textcat.evaluation.curves import micro_curve
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.fitting import load_model
from textcat.experiment.steps.step import Workshop
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store.arrays import read_array, read_mask

LONGEST = 240


def quoting_is_usual(experiment: Experiment) -> bool:
    """Whether a report quotes documents without being asked: one's own."""
    return experiment.corpus.name in OWN_FORMATS


def excerpts_of(experiment: Experiment, data: Path, wanted: Collection[str]) -> dict[str, str]:
    """Document id -> its beginning; empty for a collection that comes as vectors."""
    corpus = experiment.corpus
    if not wanted or corpus.name in vector_names():
        return {}
    own = corpus.name in OWN_FORMATS
    folder = experiment.own_documents if own else corpus_folder(corpus.name, data)
    opened = open_corpus(corpus.name, folder, split=corpus.split or None, **corpus.options)
    return {
        document.id: beginning(" ".join(document.fields.values()))
        for document in opened.documents()
        if document.id in wanted
    }


def beginning(text: str) -> str:
    """The first words of a text, in one line."""
    words = " ".join(text[: 20 * LONGEST].split())
    if len(words) <= LONGEST:
        return words
    return words[:LONGEST].rsplit(" ", 1)[0] + " ..."


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


MOST_MISTAKES = 6
MOST_WORDS = 8
# A curve sorts every score; beyond so many it would take longer than the rest of the report.
MOST_SCORES = 50_000_000

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Mistakes:
    """The worst mistakes of one run, under headings."""

    run: str
    runs: int
    kinds: Mapping[str, Sequence[Mistake]]


@dataclass(frozen=True)
class Looks:
    """Recall and precision of each run, the mistakes of the best one, and how many documents have no term."""

    curves: Mapping[str, Points] = field(default_factory=dict)
    mistakes: Mistakes | None = None
    quoted: bool = False
    empty: str = ""


def look(
    plan: Plan, workshop: Workshop, measures: Mapping[str, Any], data: Path, *, quote: bool | None = None
) -> Looks:
    """Look at the first split or fold of every run; `quote` documents, or None for one's own only."""
    chains = [chain for chain in plan.chains if chain.repeat == 0]
    # Scores of a large collection fill the memory: no more than two runs' are held at a time.
    curves = {chain.run: _curve(_decided(chain, workshop)) for chain in chains}
    best = max(chains, key=lambda chain: _merit(measures[chain.run]["measures"]))
    mistakes = _mistakes(best, chains, plan, workshop)
    quoted = quoting_is_usual(plan.experiment) if quote is None else quote
    if quoted:
        mistakes = _quoting(mistakes, plan, data)
    return Looks(curves, mistakes, quoted)


def _merit(measures: Mapping[str, float | None]) -> float:
    for name in ("micro.f1", "micro.f1.mean", "accuracy", "accuracy.mean"):
        if measures.get(name) is not None:
            return float(measures[name] or 0.0)
    return 0.0


def _decided(chain: Chain, workshop: Workshop) -> Decided:
    vectors = read_vectors(chain.vectorized.artifact(workshop).folder)
    folder = chain.evaluated.artifact(workshop).folder
    return Decided(
        scores=read_array(folder, "scores"),
        decisions=read_mask(folder, "decisions"),
        thresholds=read_array(chain.decided.artifact(workshop).folder, "thresholds"),
        labels=vectors.test_labels,
        documents=vectors.test_ids,
        categories=vectors.categories,
    )


def _curve(decided: Decided) -> Points:
    """Micro-averaged, every category at the same multiple of its size; points too near to be seen apart are left."""
    if decided.scores.size > MOST_SCORES:
        return []
    curve = micro_curve(decided.scores, decided.labels)
    points: Points = []
    for recall, precision in zip(curve.recall, curve.precision, strict=True):
        if not points or max(abs(recall - points[-1][0]), abs(precision - points[-1][1])) >= 0.8:
            points.append((round(float(recall), 1), round(float(precision), 1)))
    return points


def _mistakes(best: Chain, chains: Sequence[Chain], plan: Plan, workshop: Workshop) -> Mistakes:
    mine = _decided(best, workshop)
    places = _mistaken(mine) if plan.experiment.corpus.single_label else _wrong(mine)
    runs, others = _agreement(places, mine, [chain for chain in chains if chain is not best], workshop)
    weights = _Weights(best, workshop)
    kinds = {
        heading: [_told(mine, place, weights, others[place]) for place in found]
        for heading, found in places.items()
        if found
    }
    return Mistakes(best.settings.title or best.run, runs, kinds)


def _wrong(decided: Decided) -> dict[str, list[Place]]:
    """False positives and false negatives."""
    accepted, labels = decided.decisions, decided.labels
    given = most_wrong(decided, accepted & ~labels, MOST_MISTAKES)
    missed = most_wrong(decided, ~accepted & labels, MOST_MISTAKES)
    return {"Given wrongly (false positives)": given, "Not given (false negatives)": missed}


def _mistaken(decided: Decided) -> dict[str, list[Place]]:
    """One category taken for another."""
    return {"Given the wrong category": most_mistaken(decided, 2 * MOST_MISTAKES)}


def _agreement(
    places: Mapping[str, Sequence[Place]], mine: Decided, chains: Sequence[Chain], workshop: Workshop
) -> tuple[int, Counter[Place]]:
    """How many other runs decided on the same documents, and for each mistake how many of them make it too."""
    runs, agreeing = 0, Counter[Place]()
    for chain in chains:
        other = _decided(chain, workshop)
        if other.documents == mine.documents and other.categories == mine.categories:
            runs += 1
            agreeing.update(
                place
                for found in places.values()
                for place in found
                if other.decisions[place.row, place.column] == mine.decisions[place.row, place.column]
            )
    return runs, agreeing


class _Weights:
    """The words of test documents and their weights, where the run's model has any."""

    def __init__(self, chain: Chain, workshop: Workshop) -> None:
        vectors = read_vectors(chain.vectorized.artifact(workshop).folder)
        model = load_model(chain.trained.artifact(workshop).folder)
        self.rows, self.terms = vectors.test, vectors.terms
        self.coef = None if chain.projected else getattr(model, "coef", None)

    def words(self, place: Place) -> tuple[Word, ...] | None:
        """What decided for a category, or for it and against the document's own."""
        if self.coef is None:
            return None
        weights = self.coef[:, place.column]
        if place.own is not None:
            weights = weights - self.coef[:, place.own]
        return deciding_words(self.rows[[place.row]], np.asarray(weights), self.terms, MOST_WORDS)


def _told(decided: Decided, place: Place, weights: _Weights, others: int) -> Mistake:
    names = decided.categories
    return Mistake(
        document=decided.documents[place.row],
        category=names[place.column],
        instead="" if place.own is None else names[place.own],
        labels=tuple(names[int(k)] for k in np.flatnonzero(decided.labels[place.row])),
        margin=place.margin,
        words=weights.words(place),
        others=others,
    )


def _quoting(mistakes: Mistakes, plan: Plan, data: Path) -> Mistakes:
    wanted = {mistake.document for found in mistakes.kinds.values() for mistake in found}
    texts = excerpts_of(plan.experiment, data, wanted)
    kinds = {
        heading: [replace(each, excerpt=texts.get(each.document, "")) for each in found]
        for heading, found in mistakes.kinds.items()
    }
    return replace(mistakes, kinds=kinds)
