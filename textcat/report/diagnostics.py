"""Diagnostics of a run from its artifacts: curves, worst mistakes, deciding words, excerpts.

Collections allow research and say nothing of quoting them in public, so a report names their documents and the
words that decided, and quotes nothing unless it is asked to. One's own documents are quoted unless asked not to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textcat.corpora import OWN_FORMATS, list_vector_corpora, open_corpus
from textcat.evaluation.curves import compute_micro_curve
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.fetch import locate_documents
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store.arrays import read_array, read_mask

MAX_EXCERPT_LENGTH = 240


def is_quoted_by_default(experiment: Experiment) -> bool:
    """Whether a report quotes documents without being asked: one's own."""
    return experiment.corpus.name in OWN_FORMATS


def read_excerpts(experiment: Experiment, context: RunContext, wanted: Collection[str]) -> dict[str, str]:
    """Document id -> its beginning; empty for a collection that comes as vectors."""
    corpus = experiment.corpus
    if not wanted or corpus.name in list_vector_corpora():
        return {}
    path = locate_documents(experiment, context)
    opened = open_corpus(corpus.name, path, split=corpus.split or None, **corpus.options)
    return {
        document.id: make_excerpt(" ".join(document.fields.values()))
        for document in opened.documents()
        if document.id in wanted
    }


def make_excerpt(text: str) -> str:
    """The first words of a text, in one line."""
    words = " ".join(text[: 20 * MAX_EXCERPT_LENGTH].split())
    if len(words) <= MAX_EXCERPT_LENGTH:
        return words
    return words[:MAX_EXCERPT_LENGTH].rsplit(" ", 1)[0] + " ..."


Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredDecisions:
    """A run's scores and decisions on the test documents, with what they should have been."""

    scores: Floats
    decisions: Bools
    thresholds: Floats
    labels: Bools
    documents: Sequence[str]
    categories: Sequence[str]


class MistakeLocation(NamedTuple):
    """Where a run is wrong: document, category, margin; `own` is the document's one category, given another."""

    row: int
    column: int
    margin: float
    own: int | None = None


@dataclass(frozen=True)
class DecidingWord:
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
    words: tuple[DecidingWord, ...] | None
    others: int
    excerpt: str = ""


def find_worst_decisions(decided: ScoredDecisions, wrong: Bools, most: int) -> list[MistakeLocation]:
    """Of the wrong decisions the ones furthest from their threshold.

    A document appears once; equal margins stand in the order of documents and categories.
    """
    rows, columns = np.nonzero(wrong)
    margins = decided.scores[rows, columns] - decided.thresholds[columns]
    order = np.argsort(-np.abs(margins), kind="stable")
    found: dict[int, MistakeLocation] = {}
    for place in order[np.isfinite(margins[order])]:
        row = int(rows[place])
        found.setdefault(row, MistakeLocation(row, int(columns[place]), float(margins[place])))
        if len(found) == most:
            break
    return list(found.values())


def find_worst_confusions(decided: ScoredDecisions, most: int) -> list[MistakeLocation]:
    """Where a document has one category: the margin is the difference of its score and the given one's."""
    rows = np.flatnonzero((decided.decisions & ~decided.labels).any(axis=1) & decided.labels.any(axis=1))
    given = np.argmax(decided.decisions[rows], axis=1)
    own = np.argmax(np.where(decided.labels[rows], decided.scores[rows], -np.inf), axis=1)
    margins = decided.scores[rows, given] - decided.scores[rows, own]
    order = np.argsort(-margins, kind="stable")[:most]
    return [MistakeLocation(int(rows[k]), int(given[k]), float(margins[k]), int(own[k])) for k in order]


def find_deciding_words(
    row: Any, weights: Floats, terms: Sequence[str], most: int
) -> tuple[DecidingWord, ...]:
    """The terms of one document (a sparse row) that moved its score furthest, either way."""
    parts = row.data * weights[row.indices]
    order = np.argsort(-np.abs(parts), kind="stable")[:most]
    return tuple(DecidingWord(terms[int(row.indices[k])], float(parts[k])) for k in order if parts[k] != 0.0)


MAX_MISTAKES = 6
MAX_WORDS = 8
# A curve sorts every score; beyond so many it would take longer than the rest of the report.
MAX_CURVE_SCORES = 50_000_000

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class RunMistakes:
    """The worst mistakes of one run, under headings."""

    run: str
    runs: int
    kinds: Mapping[str, Sequence[Mistake]]


@dataclass(frozen=True)
class Diagnostics:
    """Recall and precision of each run, the mistakes of the best one, and how many documents have no term."""

    curves: Mapping[str, Points] = field(default_factory=dict)
    mistakes: RunMistakes | None = None
    quoted: bool = False
    empty: str = ""


def diagnose_runs(
    plan: Plan,
    context: RunContext,
    measures: Mapping[str, Any],
    *,
    empty: str = "",
    quote: bool | None = None,
) -> Diagnostics:
    """Diagnose the first split or fold of every run; `quote` documents, or None for one's own only."""
    chains = [chain for chain in plan.chains if chain.repeat == 0]
    # Scores of a large collection fill the memory: no more than two runs' are held at a time.
    curves = {chain.run: _compute_curve(_read_decisions(chain, context)) for chain in chains}
    best = max(chains, key=lambda chain: _get_main_measure(measures[chain.run]["measures"]))
    mistakes = _collect_mistakes(best, chains, plan, context)
    quoted = is_quoted_by_default(plan.experiment) if quote is None else quote
    if quoted:
        mistakes = _add_excerpts(mistakes, plan, context)
    return Diagnostics(curves, mistakes, quoted, empty)


def _get_main_measure(measures: Mapping[str, float | None]) -> float:
    for name in ("micro.f1", "micro.f1.mean", "accuracy", "accuracy.mean"):
        if measures.get(name) is not None:
            return float(measures[name] or 0.0)
    return 0.0


def _read_decisions(chain: Chain, context: RunContext) -> ScoredDecisions:
    vectors = read_vectors(chain.vectorized.build_artifact(context).folder)
    folder = chain.evaluated.build_artifact(context).folder
    return ScoredDecisions(
        scores=read_array(folder, "scores"),
        decisions=read_mask(folder, "decisions"),
        thresholds=read_array(chain.decided.build_artifact(context).folder, "thresholds"),
        labels=vectors.test_labels,
        documents=vectors.test_ids,
        categories=vectors.categories,
    )


def _compute_curve(decided: ScoredDecisions) -> Points:
    """Micro-averaged, every category at the same multiple of its size; points too near to be seen apart are left."""
    if decided.scores.size > MAX_CURVE_SCORES:
        return []
    curve = compute_micro_curve(decided.scores, decided.labels)
    points: Points = []
    for recall, precision in zip(curve.recall, curve.precision, strict=True):
        if not points or max(abs(recall - points[-1][0]), abs(precision - points[-1][1])) >= 0.8:
            points.append((round(float(recall), 1), round(float(precision), 1)))
    return points


def _collect_mistakes(best: Chain, chains: Sequence[Chain], plan: Plan, context: RunContext) -> RunMistakes:
    mine = _read_decisions(best, context)
    places = _find_confusions(mine) if plan.experiment.corpus.single_label else _find_wrong_decisions(mine)
    runs, others = _count_agreement(places, mine, [chain for chain in chains if chain is not best], context)
    weights = _WordWeights(best, context)
    kinds = {
        heading: [_describe_mistake(mine, place, weights, others[place]) for place in found]
        for heading, found in places.items()
        if found
    }
    return RunMistakes(best.settings.title or best.run, runs, kinds)


def _find_wrong_decisions(decided: ScoredDecisions) -> dict[str, list[MistakeLocation]]:
    """False positives and false negatives."""
    accepted, labels = decided.decisions, decided.labels
    given = find_worst_decisions(decided, accepted & ~labels, MAX_MISTAKES)
    missed = find_worst_decisions(decided, ~accepted & labels, MAX_MISTAKES)
    return {"Given wrongly (false positives)": given, "Not given (false negatives)": missed}


def _find_confusions(decided: ScoredDecisions) -> dict[str, list[MistakeLocation]]:
    """One category taken for another."""
    return {"Given the wrong category": find_worst_confusions(decided, 2 * MAX_MISTAKES)}


def _count_agreement(
    places: Mapping[str, Sequence[MistakeLocation]],
    mine: ScoredDecisions,
    chains: Sequence[Chain],
    context: RunContext,
) -> tuple[int, Counter[MistakeLocation]]:
    """How many other runs decided on the same documents, and for each mistake how many of them make it too."""
    runs, agreeing = 0, Counter[MistakeLocation]()
    for chain in chains:
        other = _read_decisions(chain, context)
        if other.documents == mine.documents and other.categories == mine.categories:
            runs += 1
            agreeing.update(
                place
                for found in places.values()
                for place in found
                if other.decisions[place.row, place.column] == mine.decisions[place.row, place.column]
            )
    return runs, agreeing


class _WordWeights:
    """The words of test documents and their weights, where the run's model has any."""

    def __init__(self, chain: Chain, context: RunContext) -> None:
        vectors = read_vectors(chain.vectorized.build_artifact(context).folder)
        model = load_model(chain.trained.build_artifact(context).folder)
        self.rows, self.terms = vectors.test, vectors.terms
        self.coef = None if chain.projected else getattr(model, "coef", None)

    def words(self, place: MistakeLocation) -> tuple[DecidingWord, ...] | None:
        """What decided for a category, or for it and against the document's own."""
        if self.coef is None:
            return None
        weights = self.coef[:, place.column]
        if place.own is not None:
            weights = weights - self.coef[:, place.own]
        return find_deciding_words(self.rows[[place.row]], np.asarray(weights), self.terms, MAX_WORDS)


def _describe_mistake(
    decided: ScoredDecisions, place: MistakeLocation, weights: _WordWeights, others: int
) -> Mistake:
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


def _add_excerpts(mistakes: RunMistakes, plan: Plan, context: RunContext) -> RunMistakes:
    wanted = {mistake.document for found in mistakes.kinds.values() for mistake in found}
    texts = read_excerpts(plan.experiment, context, wanted)
    kinds = {
        heading: [replace(each, excerpt=texts.get(each.document, "")) for each in found]
        for heading, found in mistakes.kinds.items()
    }
    return replace(mistakes, kinds=kinds)
