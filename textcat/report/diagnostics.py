"""Diagnostics of a finished experiment: precision-recall curves, worst mistakes, and probable label errors.

The licences of the collections allow research but do not mention quotation. A report therefore names their
documents and the deciding words, and quotes their text only if asked to. The user's own documents are quoted unless
`--no-excerpts` is given. Probable label errors are training documents whose label contradicts their held-out
probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from textcat.corpora import OWN_FORMATS, list_vector_corpora, open_corpus
from textcat.evaluation.curves import PrecisionRecallCurve, compute_micro_curve
from textcat.evaluation.measures import Floats, SparseLabels, make_dense_labels
from textcat.evaluation.one_label import find_columns, rank_label_errors
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.run.results import describes_one_label, load_single_label_rule
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.block_outcome import (
    holds_all_scores,
    read_curve,
    read_decisions,
    read_scores,
    select_scores,
)
from textcat.experiment.steps.fetch import locate_documents
from textcat.experiment.steps.held_out import find_held_out_scores
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store.arrays import read_array

Points = list[tuple[float, float]]
MAX_LABEL_ERRORS = 25


@dataclass(frozen=True)
class ProbableLabelError:
    """A training document, its label and the class that a model trained without it prefers."""

    document: str
    label: str
    suggested: str
    label_probability: float
    suggested_probability: float
    excerpt: str = ""


def _find_label_errors(chain: Chain, context: RunContext, seed: int) -> list[ProbableLabelError]:
    """Return the clearest contradictions first; none where the run has no held-out scores or probabilities."""
    run = chain.settings
    if run.calibration is None or run.train_documents is not None:
        return []
    scores = find_held_out_scores(context, run, chain.trained, seed, run.calibration.folds)
    vectors = read_vectors(chain.vectorized.read_folder(context))
    rule = load_single_label_rule(chain, vectors, context)
    model = load_model(chain.trained.read_folder(context))
    probabilities = None if scores is None else rule.probabilities(model, scores)
    if probabilities is None:
        return []
    labels = find_columns(vectors.own_labels)
    return [
        ProbableLabelError(
            vectors.train_ids[row],
            vectors.categories[labels[row]],
            vectors.categories[int(probabilities[row].argmax())],
            float(probabilities[row, labels[row]]),
            float(probabilities[row].max()),
        )
        for row in rank_label_errors(probabilities, labels, MAX_LABEL_ERRORS).tolist()
    ]


MAX_EXCERPT_LENGTH = 240
MAX_MISTAKES = 6
MAX_WORDS = 8
# A curve sorts all scores; with more scores it would take longer than the rest of the report.
MAX_CURVE_SCORES = 50_000_000
# Points of a curve that are closer than this (in percentage points) look the same.
MIN_POINT_DISTANCE = 0.8


@dataclass(frozen=True)
class ScoredDecisions:
    """Scores, decisions and true labels of a run on the test documents; decisions and labels are sparse.

    With many categories only the scores of accepted, true and highest categories are kept, as a sparse matrix.
    """

    scores: Any
    decisions: SparseLabels
    thresholds: Floats
    labels: SparseLabels
    documents: Sequence[str]
    categories: Sequence[str]


class MistakeLocation(NamedTuple):
    """Row (document), column (category) and margin of a mistake; `own` is the true category of a confusion."""

    row: int
    column: int
    margin: float
    own: int | None = None


@dataclass(frozen=True)
class DecidingWord:
    """A term and its contribution to the score."""

    term: str
    weight: float


@dataclass(frozen=True)
class Mistake:
    """A category wrongly assigned to, or missing from, a document.

    `margin` is the distance of the score from the threshold, or from the score of the true category `instead`;
    `words` is None if the model has no word weights; `others` counts the other runs with the same mistake.
    """

    document: str
    category: str
    instead: str
    labels: tuple[str, ...]
    margin: float
    words: tuple[DecidingWord, ...] | None
    others: int
    excerpt: str = ""


@dataclass(frozen=True)
class RunMistakes:
    """The worst mistakes of one run by heading; `runs` is the number of runs compared with it."""

    run: str
    runs: int
    kinds: Mapping[str, Sequence[Mistake]]


@dataclass(frozen=True)
class Diagnostics:
    """Precision-recall curves, mistakes of the best run, probable label errors, and documents without a term."""

    curves: Mapping[str, Points] = field(default_factory=dict)
    mistakes: RunMistakes | None = None
    label_errors: Sequence[ProbableLabelError] = ()
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
    """Diagnose the first split or fold of every run.

    `quote` decides whether mistakes quote their documents; None quotes the user's own documents only.
    """
    chains = [chain for chain in plan.chains if chain.repeat == 0]
    # Scores of a large collection fill the memory: at most two runs are loaded at a time.
    curves = {chain.run: _find_curve(chain, context) for chain in chains}
    ranked = sorted(chains, key=lambda chain: -_get_main_measure(measures[chain.run]["measures"]))
    mistakes = collect_mistakes(ranked[0], chains, plan, context)
    calibrated = next((chain for chain in ranked if chain.calibrated), None)
    errors: list[ProbableLabelError] = []
    if calibrated and describes_one_label(plan.experiment):
        errors = _find_label_errors(calibrated, context, plan.experiment.seed)
    quoted = plan.experiment.corpus.name in OWN_FORMATS if quote is None else quote
    if quoted:
        mistakes, errors = _add_excerpts(mistakes, errors, plan.experiment, context)
    return Diagnostics(curves, mistakes, errors, quoted, empty)


def find_worst_decisions(decided: ScoredDecisions, wrong: SparseLabels, most: int) -> list[MistakeLocation]:
    """Return the wrong decisions furthest from their threshold, at most one per document.

    Equal margins keep the order of documents and categories.
    """
    rows, columns = (places.astype(np.int64) for places in wrong.nonzero())
    margins = select_scores(decided.scores, rows, columns) - decided.thresholds[columns]
    order = np.argsort(-np.abs(margins), kind="stable")
    found: dict[int, MistakeLocation] = {}
    for position in order[np.isfinite(margins[order])]:
        row = int(rows[position])
        found.setdefault(row, MistakeLocation(row, int(columns[position]), float(margins[position])))
        if len(found) == most:
            break
    return list(found.values())


def find_worst_confusions(decided: ScoredDecisions, most: int) -> list[MistakeLocation]:
    """Return single-label confusions with the largest score difference between assigned and true category."""
    decisions, labels = map(make_dense_labels, (decided.decisions, decided.labels))
    rows = np.flatnonzero((decisions & ~labels).any(axis=1) & labels.any(axis=1))
    given = np.argmax(decisions[rows], axis=1)
    own = np.argmax(labels[rows], axis=1)
    if isinstance(decided.scores, np.ndarray):
        own = np.argmax(np.where(labels[rows], decided.scores[rows], -np.inf), axis=1)
    margins = select_scores(decided.scores, rows, given) - select_scores(decided.scores, rows, own)
    order = np.argsort(-margins, kind="stable")[:most]
    return [MistakeLocation(int(rows[k]), int(given[k]), float(margins[k]), int(own[k])) for k in order]


def _get_main_measure(measures: Mapping[str, float | None]) -> float:
    names = ("micro.f1", "micro.f1.mean", "accuracy", "accuracy.mean")
    return next((float(value) for name in names if (value := measures.get(name)) is not None), 0.0)


def _read_decisions(chain: Chain, context: RunContext) -> ScoredDecisions:
    vectors = read_vectors(chain.vectorized.read_folder(context))
    folder = chain.evaluated.read_folder(context)
    return ScoredDecisions(
        scores=read_scores(folder),
        decisions=read_decisions(folder),
        thresholds=read_array(chain.decided.read_folder(context), "thresholds"),
        labels=vectors.test_labels,
        documents=vectors.test_ids,
        categories=vectors.categories,
    )


def _find_curve(chain: Chain, context: RunContext) -> Points:
    """Return the micro-averaged curve (recall, precision) without points that look the same."""
    folder = chain.evaluated.read_folder(context)
    if not holds_all_scores(folder):
        return _thin_curve(read_curve(folder))
    decided = _read_decisions(chain, context)
    if decided.scores.size > MAX_CURVE_SCORES:
        return []
    return _thin_curve(compute_micro_curve(decided.scores, make_dense_labels(decided.labels)))


def _thin_curve(curve: PrecisionRecallCurve) -> Points:
    points: Points = []
    last = (-np.inf, -np.inf)
    for recall, precision in zip(curve.recall, curve.precision, strict=True):
        if max(abs(recall - last[0]), abs(precision - last[1])) >= MIN_POINT_DISTANCE:
            last = (round(float(recall), 1), round(float(precision), 1))
            points.append(last)
    return points


def collect_mistakes(best: Chain, chains: Sequence[Chain], plan: Plan, context: RunContext) -> RunMistakes:
    """Return the worst mistakes of a run, and how many of the other runs make them too."""
    decided = _read_decisions(best, context)
    if plan.experiment.corpus.single_label:
        locations = {"Wrong category": find_worst_confusions(decided, 2 * MAX_MISTAKES)}
    else:
        wrong = decided.decisions.astype(np.int8) - decided.labels.astype(np.int8)
        locations = {
            "False positives": find_worst_decisions(decided, wrong > 0, MAX_MISTAKES),
            "False negatives": find_worst_decisions(decided, wrong < 0, MAX_MISTAKES),
        }
    others = [chain for chain in chains if chain is not best]
    runs, agreeing = _count_agreement(locations, decided, others, context)
    find_words = _make_word_finder(best, context)
    kinds = {
        heading: [
            _describe_mistake(decided, location, find_words(location), agreeing[location])
            for location in found
        ]
        for heading, found in locations.items()
        if found
    }
    return RunMistakes(best.settings.title or best.run, runs, kinds)


def _count_agreement(
    locations: Mapping[str, Sequence[MistakeLocation]],
    decided: ScoredDecisions,
    chains: Sequence[Chain],
    context: RunContext,
) -> tuple[int, Counter[MistakeLocation]]:
    """Count the other runs on the same documents and, for each mistake, those that also make it."""
    runs, agreeing = 0, Counter[MistakeLocation]()
    for chain in chains:
        other = _read_decisions(chain, context)
        if other.documents == decided.documents and other.categories == decided.categories:
            runs += 1
            agreeing.update(
                location
                for found in locations.values()
                for location in found
                if other.decisions[location.row, location.column]
                == decided.decisions[location.row, location.column]
            )
    return runs, agreeing


def _make_word_finder(
    chain: Chain, context: RunContext
) -> Callable[[MistakeLocation], tuple[DecidingWord, ...] | None]:
    """Return a function that returns the words with the largest contributions to the score of a mistake.

    For a confusion it is the difference of two scores. It returns None for models without word weights.
    """
    vectors = read_vectors(chain.vectorized.read_folder(context))
    model = load_model(chain.trained.read_folder(context))
    weights_of: Any = None if chain.projected else getattr(model, "category_weights", None)

    def find_words(location: MistakeLocation) -> tuple[DecidingWord, ...] | None:
        if weights_of is None:
            return None
        weights = np.asarray(weights_of(location.column))
        if location.own is not None:
            weights = weights - weights_of(location.own)
        row = vectors.test[[location.row]]
        parts = row.data * weights[row.indices]
        order = np.argsort(-np.abs(parts), kind="stable")[:MAX_WORDS]
        return tuple(
            DecidingWord(vectors.terms[row.indices[k]], float(parts[k])) for k in order if parts[k] != 0.0
        )

    return find_words


def _describe_mistake(
    decided: ScoredDecisions, location: MistakeLocation, words: tuple[DecidingWord, ...] | None, others: int
) -> Mistake:
    names = decided.categories
    return Mistake(
        document=decided.documents[location.row],
        category=names[location.column],
        instead="" if location.own is None else names[location.own],
        labels=tuple(names[int(k)] for k in decided.labels[[location.row]].indices),
        margin=location.margin,
        words=words,
        others=others,
    )


def _add_excerpts(
    mistakes: RunMistakes, errors: Sequence[ProbableLabelError], experiment: Experiment, context: RunContext
) -> tuple[RunMistakes, list[ProbableLabelError]]:
    wanted = {mistake.document for found in mistakes.kinds.values() for mistake in found}
    wanted |= {error.document for error in errors}
    texts = read_excerpts(experiment, context, wanted)
    kinds = {
        heading: [replace(mistake, excerpt=texts.get(mistake.document, "")) for mistake in found]
        for heading, found in mistakes.kinds.items()
    }
    quoted = [replace(error, excerpt=texts.get(error.document, "")) for error in errors]
    return replace(mistakes, kinds=kinds), quoted


def read_excerpts(experiment: Experiment, context: RunContext, wanted: Collection[str]) -> dict[str, str]:
    """Map document ids to excerpts; empty for a collection that consists of vectors."""
    corpus = experiment.corpus
    if not wanted or corpus.name in list_vector_corpora():
        return {}
    path = locate_documents(experiment, context)
    opened = open_corpus(corpus.name, path, split=corpus.split or None, **corpus.options)
    return {
        document.id: _make_excerpt(" ".join(document.fields.values()))
        for document in opened.documents()
        if document.id in wanted
    }


def _make_excerpt(text: str) -> str:
    """Return the first words of a text in one line."""
    words = " ".join(text[: 20 * MAX_EXCERPT_LENGTH].split())
    if len(words) <= MAX_EXCERPT_LENGTH:
        return words
    return words[:MAX_EXCERPT_LENGTH].rsplit(" ", 1)[0] + " ..."
