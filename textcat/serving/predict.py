"""Label new documents: one line of JSON for each, with labels, scores and probabilities."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError, TextcatError
from textcat.parallel import Executor
from textcat.parallel.executors import LocalExecutor, limit_to_one_thread
from textcat.serving.categorizer import Categorizer, read_categorizer
from textcat.serving.document_files import NewDocument

BATCH_SIZE = 2000
# Batches have fewer documents if there are so many categories that a batch would have more scores than this.
MAX_BATCH_SCORES = 20_000_000

# In the answer for a document whose label is given by `at_least_one`.
_BELOW = ', "at_least_one": true'

Floats = NDArray[np.float64]


@dataclass
class Coverage:
    """The number of new documents, and of those without a term that the model knows."""

    documents: int = 0
    unknown: int = 0

    def add(self, documents: int, unknown: int) -> None:
        """Count a batch of documents."""
        self.documents += documents
        self.unknown += unknown

    @property
    def share(self) -> float:
        """The share of documents without a known term."""
        return self.unknown / max(self.documents, 1)

    def __str__(self) -> str:
        """Return the numbers and the share as text."""
        return (
            f"{self.unknown:,} of {self.documents:,} documents have no term that the model knows "
            f"({100 * self.share:.1f} %)"
        )


@dataclass(frozen=True)
class StoredModel:
    """A model directory that each worker process reads once, which is faster than to send the model with each batch.

    `checksum` is that of the model that the command read, `reject` the threshold of `reject_below`.
    """

    folder: Path
    checksum: str
    reject: float | None = None


@lru_cache(maxsize=1)
def _load_stored_model(stored: StoredModel) -> Categorizer:
    found = read_categorizer(stored.folder)
    if found.checksum != stored.checksum:
        what = "the model was replaced while documents were labelled"
        raise BadDataError(what, where=str(stored.folder), hint="Run the command again.")
    return found if stored.reject is None else found.reject_below(stored.reject)


@dataclass(frozen=True)
class _Answerer:
    """What all batches share: the model, and whether numbers of every category are written."""

    model: Categorizer | StoredModel
    every_category: bool

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is made from them."""
        return {"model": self.model, "every_category": self.every_category}

    @cached_property
    def categorizer(self) -> Categorizer:
        """The model, read if it is not at hand."""
        return _load_stored_model(self.model) if isinstance(self.model, StoredModel) else self.model

    @cached_property
    def formatter(self) -> _LineFormatter:
        """The formatter of lines."""
        return _LineFormatter(self.categorizer.categories, self.every_category)

    def format_lines(self, ids: Sequence[str], scores: Floats) -> Iterator[str]:
        """Yield the answers to documents, given their scores."""
        model = self.categorizer
        below = model.decision_rule.find_documents_below(scores)
        found = model.decisions(scores), scores, model.probabilities(scores)
        return self.formatter.format_batch(ids, *found, below.tolist())


class _Scored(NamedTuple):
    """The scores of a batch of documents, or their answers, and the number of documents without a known term."""

    ids: list[str]
    scores: Floats | None
    lines: list[str]
    unknown: int


def predict_lines(
    categorizer: Categorizer,
    documents: Iterable[NewDocument],
    *,
    every_category: bool = False,
    at_a_time: int = BATCH_SIZE,
    coverage: Coverage | None = None,
    executor: Executor | None = None,
    stored: StoredModel | None = None,
) -> Iterator[str]:
    """Yield a line for each document, in their order.

    Scores and probabilities are those of the accepted categories, or of every category. If decisions depend on all
    documents, all are read before the first line; otherwise batches of `at_a_time`. `coverage` counts the documents.
    The workers of an `executor` answer several batches at a time; processes on this machine read the model that is
    `stored`, others get it once.
    """
    together = categorizer.decision_rule.needs_all_documents
    size = min(at_a_time, max(MAX_BATCH_SCORES // max(len(categorizer.categories), 1), 1))
    reading = _Reading(_collect_batches(documents, size))
    own = _Answerer(categorizer, every_category)
    answer = _score_batch if together else _answer_batch
    found: Iterator[_Scored]
    if executor is None:
        found = (answer(own, batch) for batch in reading)
    else:
        is_local = isinstance(executor, LocalExecutor) and executor.kind == "processes"
        shared = _Answerer(stored, every_category) if stored is not None and is_local else own
        found = executor.map_items(answer, shared, reading)
    counted, ids, scores = coverage or Coverage(), list[str](), list[Floats]()
    for part in found:
        counted.add(len(part.ids), part.unknown)
        yield from part.lines
        if part.scores is not None:
            ids += part.ids
            scores.append(part.scores)
    if scores and reading.error is None:
        yield from own.format_lines(ids, np.vstack(scores))
    if reading.error is not None:
        raise reading.error


def _answer_batch(shared: _Answerer, batch: Sequence[NewDocument]) -> _Scored:
    ids, scores, _, unknown = _score_batch(shared, batch)
    return _Scored(ids, None, [] if scores is None else list(shared.format_lines(ids, scores)), unknown)


def _score_batch(shared: _Answerer, batch: Sequence[NewDocument]) -> _Scored:
    categorizer = shared.categorizer
    words = categorizer.words(batch)
    # The last bits of products of dense vectors depend on the number of threads.
    with limit_to_one_thread() if categorizer.axes else nullcontext():
        scores = categorizer.model.scores(categorizer.project(words))
    unknown = int(np.count_nonzero(np.diff(words.indptr) == 0))
    return _Scored([document.id for document in batch], scores, [], unknown)


class _Reading(Iterator[list[NewDocument]]):
    """The batches up to an error of the reader, which is kept: a thread of an executor may be the one that reads."""

    def __init__(self, batches: Iterator[list[NewDocument]]) -> None:
        self._batches = batches
        self.error: Exception | None = None

    def __next__(self) -> list[NewDocument]:
        """Return the next batch."""
        try:
            return next(self._batches)
        except (TextcatError, OSError) as error:
            self.error = error
            raise StopIteration from error


def _collect_batches(documents: Iterable[NewDocument], size: int) -> Iterator[list[NewDocument]]:
    """Yield the documents in batches; before an error of the reader, those that were read."""
    remaining = iter(documents)
    batch: list[NewDocument] = []
    try:
        for document in remaining:
            batch.append(document)
            if len(batch) == size:
                yield batch
                batch = []
    except BadDataError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class _LineFormatter:
    """Formats lines; the names of categories are encoded once."""

    def __init__(self, categories: Sequence[str], every_category: bool) -> None:
        self._names = [_encode_text(name) for name in categories]
        self._every = every_category
        self._pattern = "{" + ", ".join(f"{name.replace('%', '%%')}: %.6g" for name in self._names) + "}"

    def format_batch(
        self,
        ids: Sequence[str],
        accepted: NDArray[np.bool_],
        scores: Floats,
        probabilities: Floats | None,
        below: Sequence[bool],
    ) -> Iterator[str]:
        """Yield the lines of a batch of documents; `below` marks those that reach no threshold."""
        rows, columns = np.nonzero(accepted)
        ends = np.searchsorted(rows, np.arange(1, len(ids) + 1)).tolist()
        labels = [self._names[column] for column in columns.tolist()]
        parts = [("scores", self._format_numbers(scores, rows, columns, labels, ends))]
        if probabilities is not None:
            parts.append(("probabilities", self._format_numbers(probabilities, rows, columns, labels, ends)))
        start = 0
        for row, end in enumerate(ends):
            numbers = "".join(f', "{name}": {objects[row]}' for name, objects in parts)
            given = f"[{', '.join(labels[start:end])}]{_BELOW if below[row] else ''}"
            yield f'{{"id": {_encode_text(ids[row])}, "labels": {given}{numbers}}}'
            start = end

    def _format_numbers(
        self, values: Floats, rows: Any, columns: Any, labels: Sequence[str], ends: Sequence[int]
    ) -> list[str]:
        """Return for each document a JSON object of its numbers by category, with six digits."""
        if not np.isfinite(values).all():
            chosen = np.full(values.shape, self._every)
            chosen[rows, columns] = True
            return list(map(self._format_with_null, values, chosen))
        if self._every and values.size:
            return [self._pattern % tuple(row) for row in values.tolist()]
        pairs = ["%s: %.6g" % pair for pair in zip(labels, values[rows, columns].tolist(), strict=True)]  # noqa: UP031
        return ["{" + ", ".join(pairs[s:e]) + "}" for s, e in zip([0, *ends[:-1]], ends, strict=True)]

    def _format_with_null(self, row: Floats, chosen: NDArray[np.bool_]) -> str:
        """Write the numbers of one document, as null where a score has overflowed: JSON has no NaN."""
        pairs = [
            f"{self._names[k]}: {row[k]:.6g}" if np.isfinite(row[k]) else f"{self._names[k]}: null"
            for k in np.flatnonzero(chosen).tolist()
        ]
        return "{" + ", ".join(pairs) + "}"


def _encode_text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
