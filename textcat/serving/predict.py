"""Label new documents: one line of JSON for each, with labels, scores and probabilities."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.errors import BadDataError
from textcat.serving.categorizer import Categorizer
from textcat.serving.document_files import NewDocument

if TYPE_CHECKING:
    from textcat.serving.number_format import ObjectWriter

BATCH_SIZE = 2000
# Numbers that Python writes before compiled code does: loading it, where it is not loaded, takes as long.
_NUMBERS_BY_PYTHON = 2_000_000
# Batches have fewer documents if there are so many categories that a batch would have more scores than this.
MAX_BATCH_SCORES = 20_000_000

Floats = NDArray[np.float64]


@dataclass
class Coverage:
    """The number of new documents, and of those without a term that the model knows."""

    documents: int = 0
    unknown: int = 0

    def add(self, words: csr_array) -> None:
        """Count a batch of documents, as vectors of known terms."""
        self.documents += words.shape[0]
        self.unknown += int(np.count_nonzero(np.diff(words.indptr) == 0))

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


def predict_lines(
    categorizer: Categorizer,
    documents: Iterable[NewDocument],
    *,
    every_category: bool = False,
    at_a_time: int = BATCH_SIZE,
    coverage: Coverage | None = None,
) -> Iterator[str]:
    """Yield a line for each document, in their order.

    Scores and probabilities are those of the accepted categories, or of every category. If decisions depend on all
    documents, all are read before the first line; otherwise batches of `at_a_time`. `coverage` counts the documents.
    """
    line = _LineFormatter(categorizer.categories, every_category)
    for ids, scores in _score_documents(categorizer, documents, at_a_time, coverage or Coverage()):
        accepted = categorizer.decisions(scores)
        yield from line.format_batch(ids, accepted, scores, categorizer.probabilities(scores))


def _score_documents(
    categorizer: Categorizer, documents: Iterable[NewDocument], at_a_time: int, coverage: Coverage
) -> Iterator[tuple[list[str], Floats]]:
    batches = _score_batches(categorizer, documents, at_a_time, coverage)
    if not categorizer.decision_rule.needs_all_documents:
        yield from batches
        return
    together = list(batches)
    if together:
        yield [each for ids, _ in together for each in ids], np.vstack([scores for _, scores in together])


def _score_batches(
    categorizer: Categorizer, documents: Iterable[NewDocument], at_a_time: int, coverage: Coverage
) -> Iterator[tuple[list[str], Floats]]:
    size = min(at_a_time, max(MAX_BATCH_SCORES // max(len(categorizer.categories), 1), 1))
    for batch in _collect_batches(documents, size):
        words = categorizer.words(batch)
        coverage.add(words)
        scores = categorizer.model.scores(categorizer.project(words))
        yield [document.id for document in batch], scores


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
        self._written = 0
        self._pattern = "{" + ", ".join(f"{name.replace('%', '%%')}: %.6g" for name in self._names) + "}"

    def format_batch(
        self, ids: Sequence[str], accepted: NDArray[np.bool_], scores: Floats, probabilities: Floats | None
    ) -> Iterator[str]:
        """Yield the lines of a batch of documents."""
        rows, columns = np.nonzero(accepted)
        ends = np.searchsorted(rows, np.arange(1, len(ids) + 1)).tolist()
        labels = [self._names[column] for column in columns.tolist()]
        parts = [("scores", self._format_numbers(scores, rows, columns, labels, ends))]
        if probabilities is not None:
            parts.append(("probabilities", self._format_numbers(probabilities, rows, columns, labels, ends)))
        start = 0
        for row, end in enumerate(ends):
            numbers = "".join(f', "{name}": {objects[row]}' for name, objects in parts)
            yield f'{{"id": {_encode_text(ids[row])}, "labels": [{", ".join(labels[start:end])}]{numbers}}}'
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
            return self._format_every(values)
        pairs = ["%s: %.6g" % pair for pair in zip(labels, values[rows, columns].tolist(), strict=True)]  # noqa: UP031
        return ["{" + ", ".join(pairs[s:e]) + "}" for s, e in zip([0, *ends[:-1]], ends, strict=True)]

    def _format_every(self, values: Floats) -> list[str]:
        """Return an object of the numbers of all categories for each document."""
        self._written += values.size
        if self._written <= _NUMBERS_BY_PYTHON and "numba" not in sys.modules:
            return [self._pattern % tuple(row) for row in values.tolist()]
        return [
            found or self._pattern % tuple(row.tolist())
            for found, row in zip(self._writer.write(values), values, strict=True)
        ]

    @cached_property
    def _writer(self) -> ObjectWriter:
        from textcat.serving.number_format import ObjectWriter  # noqa: PLC0415 - loads the compiler

        return ObjectWriter(self._names)

    def _format_with_null(self, row: Floats, chosen: NDArray[np.bool_]) -> str:
        """Write the numbers of one document, as null where a score has overflowed: JSON has no NaN."""
        pairs = [
            f"{self._names[k]}: {row[k]:.6g}" if np.isfinite(row[k]) else f"{self._names[k]}: null"
            for k in np.flatnonzero(chosen).tolist()
        ]
        return "{" + ", ".join(pairs) + "}"


def _encode_text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
