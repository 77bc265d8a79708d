"""Label new documents: one line of JSON for each, with labels, scores and probabilities.

Rows of numbers are formatted in compiled code, with the bytes of Python's %.6g. A number of six digits is its product
with a power of ten, rounded. Powers up to 10^22 are exact in double precision, so the product has one rounding error
of less than 1e-10. Where it is so near to a half that this could matter, and for exponents beyond these powers,
Python formats the row.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.compile import compile_kernel
from textcat.errors import BadDataError
from textcat.serving.categorizer import Categorizer
from textcat.serving.document_files import NewDocument

Array = Any

_DIGITS = 6
_EXACT_POWERS = 22
_NEAR_HALF = 1e-8
# The longest number is like -1.23456e-308.
_LONGEST = 13
# Numbers that are formatted together, so that the buffer stays small.
_NUMBERS_AT_A_TIME = 200_000
_POWERS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT, _CLOSE = b"0-+.e}"


@compile_kernel
def write_digits(number: int, digits: int, out: Array, at: int) -> int:
    """Write a whole number with leading zeros; return the place after it."""
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return at + digits


@compile_kernel
def write_scaled(whole: int, exponent: int, out: Array, at: int) -> int:
    """Write six digits d.ddddd times a power of ten as %.6g does; return the place after it."""
    used = _DIGITS
    while used > 1 and whole % 10 == 0:
        whole //= 10
        used -= 1
    if exponent < -4 or exponent >= _DIGITS:
        at = write_digits(whole // _POWERS[used - 1], 1, out, at)
        if used > 1:
            out[at] = _POINT
            at = write_digits(whole % _POWERS[used - 1], used - 1, out, at + 1)
        out[at] = _EXPONENT
        out[at + 1] = _MINUS if exponent < 0 else _PLUS
        size = abs(exponent)
        return write_digits(size, 3 if size >= 100 else 2, out, at + 2)
    if exponent < 0:
        out[at] = _ZERO
        out[at + 1] = _POINT
        return write_digits(whole, used - exponent - 1, out, at + 2)
    after = used - exponent - 1
    if after <= 0:
        return write_digits(whole * _POWERS[-after], exponent + 1, out, at)
    at = write_digits(whole // _POWERS[after], exponent + 1, out, at)
    out[at] = _POINT
    return write_digits(whole % _POWERS[after], after, out, at + 1)


@compile_kernel
def write_number(x: float, powers: Array, out: Array, at: int) -> int:
    """Write a finite number; return the place after it, or -1 if Python has to write it."""
    if x < 0.0 or (x == 0.0 and math.copysign(1.0, x) < 0.0):
        out[at] = _MINUS
        at += 1
        x = -x
    if x == 0.0:
        out[at] = _ZERO
        return at + 1
    # The binary exponent times log10(2): the decimal exponent or one less.
    exponent = int((((np.float64(x).view(np.int64) >> 52) - 1023) * 1233) >> 12)
    scaled = 0.0
    for _ in range(3):
        shift = _DIGITS - 1 - exponent
        if abs(shift) > _EXACT_POWERS:
            return -1
        scaled = x * powers[shift] if shift >= 0 else x / powers[-shift]
        if scaled >= 10.0**_DIGITS:
            exponent += 1
        elif scaled < 10.0 ** (_DIGITS - 1):
            exponent -= 1
        else:
            break
    whole = int(scaled)
    rest = scaled - whole
    if abs(rest - 0.5) < _NEAR_HALF:
        return -1
    if rest > 0.5:
        whole += 1
    if whole == 10**_DIGITS:
        whole //= 10
        exponent += 1
    return write_scaled(whole, exponent, out, at)


@compile_kernel
def write_objects(
    values: Array, prefixes: Array, starts: Array, powers: Array, out: Array, ends: Array
) -> None:
    """Write a row of numbers after another, each number after its prefix; the end of a row is -1 if Python must."""
    at = 0
    for i in range(values.shape[0]):
        begin = at
        for k in range(values.shape[1]):
            for t in range(starts[k], starts[k + 1]):
                out[at] = prefixes[t]
                at += 1
            at = write_number(values[i, k], powers, out, at)
            if at < 0:
                break
        if at < 0:
            ends[i] = -1
            at = begin
        else:
            out[at] = _CLOSE
            at += 1
            ends[i] = at


class ObjectWriter:
    """Writes rows of finite numbers as JSON objects with the given names, which are JSON strings already."""

    def __init__(self, names: Sequence[str]) -> None:
        encoded = [f"{', ' if k else '{'}{name}: ".encode() for k, name in enumerate(names)]
        self._prefixes = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self._starts: NDArray[np.int64] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        self._powers = np.array([float(10**k) for k in range(_EXACT_POWERS + 1)])

    def write(self, values: NDArray[np.float64]) -> Iterator[str | None]:
        """Yield an object per row, or None where Python has to write it."""
        width = values.shape[1]
        longest = len(self._prefixes) + _LONGEST * width + 1
        rows = max(1, _NUMBERS_AT_A_TIME // width)
        for first in range(0, len(values), rows):
            part = np.ascontiguousarray(values[first : first + rows], dtype=np.float64)
            out, ends = np.empty(longest * len(part), np.uint8), np.empty(len(part), np.int64)
            write_objects(part, self._prefixes, self._starts, self._powers, out, ends)
            text, begin = out[: max(int(ends.max()), 0)].tobytes(), 0
            for end in ends.tolist():
                if end < 0:
                    yield None
                else:
                    yield text[begin:end].decode()
                    begin = end


BATCH_SIZE = 2000
# Numbers that Python writes before compiled code does: loading it, where it is not loaded, takes as long.
_NUMBERS_BY_PYTHON = 2_000_000
# A batch has fewer documents where there are so many categories that it has more scores than this.
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
        scores = categorizer.model.scores(categorizer.projected(words))
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
            return [self._format_with_null(row, mask) for row, mask in self._select(values, rows, columns)]
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

        return ObjectWriter(self._names)

    def _select(self, values: Floats, rows: Any, columns: Any) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
        """Yield for each document its numbers and which of them are written."""
        chosen = np.full(values.shape, self._every)
        chosen[rows, columns] = True
        yield from zip(values, chosen, strict=True)

    def _format_with_null(self, row: Floats, chosen: NDArray[np.bool_]) -> str:
        """Write the numbers of one document, as null where a score has overflowed: JSON has no NaN."""
        pairs = [
            f"{self._names[k]}: {row[k]:.6g}" if np.isfinite(row[k]) else f"{self._names[k]}: null"
            for k in np.flatnonzero(chosen).tolist()
        ]
        return "{" + ", ".join(pairs) + "}"


def _encode_text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
