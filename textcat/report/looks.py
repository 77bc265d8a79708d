"""What a report shows besides measures, from the artifacts that the stages left: curves and the worst mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from textcat.evaluation.curves import micro_curve
from textcat.experiment.fitting import load_model
from textcat.experiment.pipeline import Chain, Plan
from textcat.experiment.steps.step import Workshop
from textcat.experiment.steps.vectorize import read_vectors
from textcat.report.excerpts import excerpts_of, quoting_is_usual
from textcat.report.mistakes import (
    Bools,
    Decided,
    Mistake,
    Word,
    agreeing,
    deciding_words,
    most_mistaken,
    most_wrong,
)
from textcat.store.arrays import read_array, read_mask

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
    """Recall and precision of each run, and the mistakes of the best one."""

    curves: Mapping[str, Points] = field(default_factory=dict)
    mistakes: Mistakes | None = None
    quoted: bool = False


def look(
    plan: Plan, workshop: Workshop, measures: Mapping[str, Any], data: Path, *, quote: bool | None = None
) -> Looks:
    """Look at the first split or fold of every run; `quote` documents, or None for one's own only."""
    chains = [chain for chain in plan.chains if chain.repeat == 0]
    decided = {chain.run: _decided(chain, workshop) for chain in chains}
    best = max(chains, key=lambda chain: _merit(measures[chain.run]["measures"]))
    mistakes = _mistakes(best, decided, plan, workshop)
    quoted = quoting_is_usual(plan.experiment) if quote is None else quote
    if quoted:
        mistakes = _quoting(mistakes, plan, data)
    return Looks({run: _curve(each) for run, each in decided.items()}, mistakes, quoted)


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


def _mistakes(chain: Chain, decided: Mapping[str, Decided], plan: Plan, workshop: Workshop) -> Mistakes:
    mine = decided[chain.run]
    others = [
        each
        for run, each in decided.items()
        if run != chain.run and each.documents == mine.documents and each.categories == mine.categories
    ]
    teller = _Teller(mine, _Weights(chain, workshop), others)
    kinds = teller.mistaken() if plan.experiment.corpus.single_label else teller.wrong()
    title = chain.settings.title or chain.run
    return Mistakes(title, len(others), {heading: found for heading, found in kinds.items() if found})


class _Weights:
    """The words of test documents and their weights, where the run's model has any."""

    def __init__(self, chain: Chain, workshop: Workshop) -> None:
        vectors = read_vectors(chain.vectorized.artifact(workshop).folder)
        model = load_model(chain.trained.artifact(workshop).folder)
        self.rows, self.terms = vectors.test, vectors.terms
        self.coef = None if chain.projected else getattr(model, "coef", None)

    def words(self, row: int, column: int, instead: int | None = None) -> tuple[Word, ...]:
        """What decided for a category, or for it and against another."""
        if self.coef is None:
            return ()
        weights = self.coef[:, column] - (self.coef[:, instead] if instead is not None else 0.0)
        return deciding_words(self.rows[[row]], np.asarray(weights), self.terms, MOST_WORDS)


@dataclass(frozen=True)
class _Teller:
    """Turns positions into names."""

    decided: Decided
    weights: _Weights
    others: Sequence[Decided]

    def wrong(self) -> dict[str, list[Mistake]]:
        """False positives and false negatives."""
        accepted, labels = self.decided.decisions, self.decided.labels
        given = [each.decisions & ~each.labels for each in self.others]
        missed = [~each.decisions & each.labels for each in self.others]
        return {
            "Given wrongly (false positives)": self._told(accepted & ~labels, given),
            "Not given (false negatives)": self._told(~accepted & labels, missed),
        }

    def _told(self, wrong: Bools, elsewhere: Sequence[Bools]) -> list[Mistake]:
        return [
            self._mistake(row, column, margin, self.weights.words(row, column), elsewhere)
            for row, column, margin in most_wrong(self.decided, wrong, MOST_MISTAKES)
        ]

    def mistaken(self) -> dict[str, list[Mistake]]:
        """One category taken for another."""
        elsewhere = [each.decisions & ~each.labels for each in self.others]
        found = [
            self._mistake(row, given, margin, self.weights.words(row, given, own), elsewhere, own)
            for row, given, own, margin in most_mistaken(self.decided, 2 * MOST_MISTAKES)
        ]
        return {"Given the wrong category": found}

    def _mistake(
        self,
        row: int,
        column: int,
        margin: float,
        words: tuple[Word, ...],
        elsewhere: Sequence[Bools],
        instead: int | None = None,
    ) -> Mistake:
        names = self.decided.categories
        return Mistake(
            document=self.decided.documents[row],
            category=names[column],
            instead="" if instead is None else names[instead],
            labels=tuple(names[int(k)] for k in np.flatnonzero(self.decided.labels[row])),
            margin=margin,
            words=words,
            others=agreeing(elsewhere, row, column),
        )


def _quoting(mistakes: Mistakes, plan: Plan, data: Path) -> Mistakes:
    wanted = {mistake.document for found in mistakes.kinds.values() for mistake in found}
    texts = excerpts_of(plan.experiment, data, wanted)
    kinds = {
        heading: [replace(each, excerpt=texts.get(each.document, "")) for each in found]
        for heading, found in mistakes.kinds.items()
    }
    return replace(mistakes, kinds=kinds)
