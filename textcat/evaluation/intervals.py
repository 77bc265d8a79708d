"""Sampling error of measures: 95 % intervals over bootstrap resamples of the test documents (Efron, 1979).

A resample draws as many documents as there are, with replacement; a measure of it is computed from documents that count
as often as they were drawn. The models are not trained again: an interval is about other test documents, not about
other training documents or seeds.

With several repetitions all their test documents are drawn together. A document that several random splits test counts
equally often in each of them, so that the interval of a mean is not narrower than the documents allow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.evaluation.curves import BreakEven
from textcat.evaluation.measures import (
    Average,
    ContingencyTable,
    Floats,
    Ints,
    SparseLabels,
)
from textcat.evaluation.run_measures import EvaluationSettings, compute_averages, compute_per_category

Interval = tuple[float, float]
# How often each document was drawn, documents x resamples.
Times = NDArray[np.int32]

RESAMPLES = 1000
SEED = 0
# In percent of the resamples.
INTERVAL_ENDS = (2.5, 97.5)
# The resamples of a batch have about this many counts of documents or of categories.
MAX_BATCH = 1_000_000
# The ends are uncertain themselves, by several percent of the width.
DECIMALS = 3


@dataclass(frozen=True)
class EvaluatedDocuments:
    """Decisions, labels and scores of the test documents of one repetition, documents x categories.

    `numbers` are the documents' numbers among the test documents of all repetitions. Without `scores` there are no
    break-even points.
    """

    numbers: Ints
    decisions: SparseLabels
    labels: SparseLabels
    scores: Floats | None

    @classmethod
    def join(cls, parts: Sequence[EvaluatedDocuments]) -> EvaluatedDocuments:
        """Return the documents of all parts as one."""
        scores = [part.scores for part in parts if part.scores is not None]
        return cls(
            np.concatenate([part.numbers for part in parts]),
            sp.csr_array(sp.vstack([part.decisions for part in parts])),
            sp.csr_array(sp.vstack([part.labels for part in parts])),
            np.vstack(scores) if len(scores) == len(parts) else None,
        )


def draw_resamples(documents: int, samples: int, width: int, seed: int) -> Iterator[Times]:
    """Yield how often each document is drawn, documents x resamples, in batches for up to `width` counts each."""
    generator = np.random.default_rng(seed)
    most = max(1, MAX_BATCH // max(width, documents, 1))
    for start in range(0, samples, most):
        size = min(most, samples - start)
        drawn = generator.integers(documents, size=(size, documents)) + documents * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * documents).reshape(size, documents)
        yield np.ascontiguousarray(times.T, dtype=np.int32)


def count_resampled(decisions: SparseLabels, labels: SparseLabels, times: Times) -> ContingencyTable:
    """Return contingency tables, categories x resamples, of documents that count `times`."""
    tp, accepted, positive = (
        np.asarray(sp.csr_array(each.T).astype(np.int32) @ times, dtype=np.int64)
        for each in (decisions.multiply(labels), decisions, labels)
    )
    return ContingencyTable.from_totals(tp, accepted, positive, times.sum(axis=0))


def rank_documents(scores: Floats) -> list[Ints]:
    """Return the documents of each category by decreasing score; ties are in document order."""
    return [np.argsort(-column, kind="stable") for column in np.ascontiguousarray(scores.T)]


def count_resampled_break_even(ranked: Sequence[Ints], labels: SparseLabels, times: Times) -> BreakEven:
    """Return positives and the hits within as many ranks, categories x resamples.

    A document takes as many ranks as it was drawn. Only the first documents of a category's ranks are looked at, as
    many as its positives fill in every resample.
    """
    of_category = sp.csc_array(labels)
    hits = np.zeros((len(ranked), times.shape[1]), dtype=np.int64)
    positives = np.zeros_like(hits)
    for category, order in enumerate(ranked):
        own = of_category.indices[of_category.indptr[category] : of_category.indptr[category + 1]]
        wanted = times[own].sum(axis=0, dtype=np.int32)
        depth = int(len(own) + 6 * np.sqrt(len(own)) + 10) if len(own) else 0
        reached = times[order[:depth]].sum(axis=0)
        while np.any(reached < wanted):
            depth *= 2
            reached = times[order[:depth]].sum(axis=0)
        filled = np.minimum(np.cumsum(times[order[:depth]], axis=0, dtype=np.int32), wanted)
        is_hit = np.isin(order[:depth], own)
        hits[category] = np.diff(filled, axis=0, prepend=0)[is_hit].sum(axis=0)
        positives[category] = wanted
    return BreakEven(hits, positives)


def find_intervals(
    parts: Sequence[EvaluatedDocuments],
    categories: Sequence[str],
    train_counts: Ints,
    settings: EvaluationSettings,
    names: Collection[str],
    *,
    pooled: bool = False,
    samples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Interval]:
    """Return the intervals of those measures of a run, among `names`, that are counted from decisions and ranks.

    With several parts, `NAME.mean` is the mean over parts; `pooled` adds the measures of all documents together.
    """
    groups = [(part, ".mean" if len(parts) > 1 else "") for part in parts]
    if pooled and len(parts) > 1:
        groups.append((EvaluatedDocuments.join(parts), ""))
    meters = [
        (_Meter.prepare(part, categories, train_counts, settings, names, ending), ending)
        for part, ending in groups
    ]
    documents = 1 + max(int(part.numbers.max(initial=-1)) for part in parts)
    if not documents:
        return {}
    measured = _measure_all(meters, np.ones((documents, 1), dtype=np.int32))
    batches = [
        _measure_all(meters, times) for times in draw_resamples(documents, samples, len(categories), seed)
    ]
    return {
        name: _find_ends(np.concatenate([batch[name] for batch in batches]), float(value[0]))
        for name, value in sorted(measured.items())
        if np.isfinite(value[0])
    }


def _measure_all(meters: Sequence[tuple[_Meter, str]], times: Times) -> dict[str, Floats]:
    """Return the measures of each resample, the means over repetitions among them."""
    found: dict[str, list[Average]] = {}
    for meter, ending in meters:
        for name, values in meter.measure(times).items():
            found.setdefault(name + ending, []).append(values)
    return {name: np.mean(repeated, axis=0) for name, repeated in found.items()}


def _find_ends(values: Floats, measured: float) -> Interval:
    """Return the 95 % percentile interval, moved so that the mean over the resamples is the measured value.

    Resamples hold fewer different documents. A small category without any of its documents counts as `zero_division`
    says, which moves the resamples of a macro average by points, all to one side.
    """
    ends = np.nanpercentile(values, INTERVAL_ENDS) + (measured - np.nanmean(values))
    low, high = np.clip(ends, 0.0, 100.0)
    return round(float(low), DECIMALS), round(float(high), DECIMALS)


@dataclass(frozen=True)
class _Meter:
    """Measures the resamples of some documents; `wanted` are the measures, `columns` their single categories."""

    documents: EvaluatedDocuments
    ranked: Sequence[Ints] | None
    train_counts: Ints
    settings: EvaluationSettings
    wanted: frozenset[str]
    columns: Mapping[str, int]

    @classmethod
    def prepare(
        cls,
        documents: EvaluatedDocuments,
        categories: Sequence[str],
        train_counts: Ints,
        settings: EvaluationSettings,
        names: Collection[str],
        ending: str,
    ) -> _Meter:
        wanted = frozenset(name.removesuffix(ending) for name in names if name.endswith(ending))
        columns = {
            category: column
            for column, category in enumerate(categories)
            if any(name.startswith(f"category.{category}.") for name in wanted)
        }
        sizes = [size for size in settings.largest if any(name.endswith(f".top{size}") for name in wanted)]
        ranked = None if documents.scores is None else rank_documents(documents.scores)
        return cls(
            documents, ranked, train_counts, settings.model_copy(update={"largest": sizes}), wanted, columns
        )

    def measure(self, drawn: Times) -> dict[str, Average]:
        """Return the wanted measures of each resample."""
        part, times = self.documents, drawn[self.documents.numbers]
        table = count_resampled(part.decisions, part.labels, times)
        ranks = BreakEven(np.zeros_like(table.tp), np.zeros_like(table.tp))
        if self.ranked is not None:
            ranks = count_resampled_break_even(self.ranked, part.labels, times)
        found = compute_averages(table, ranks, self.train_counts, self.settings)
        columns = np.fromiter(self.columns.values(), dtype=np.int64)
        found |= compute_per_category(
            table.restrict(columns), ranks.restrict(columns), list(self.columns), self.settings.zero_division
        )
        if all(np.all(np.diff(each.indptr) == 1) for each in (part.decisions, part.labels)):
            # One label is given and one is right: it is the one that is given to the document.
            found["accuracy"] = found["micro.recall"]
        return {name: values for name, values in found.items() if name in self.wanted}
