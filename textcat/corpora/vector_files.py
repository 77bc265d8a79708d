"""Collections of vectors, and their text formats: svmlight (a user's own files) and RCV1-v2."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from textcat.corpora.cards import combine_hashes
from textcat.corpora.collection_files import read_line_blocks
from textcat.errors import BadDataError, DataNotAvailableError
from textcat.splits import draw_training_mask, number_equal_texts
from textcat.store.files import hash_file

# A larger term id means a damaged file: a model has one weight for each id up to the largest.
_LAST_TERM = 5_000_000
# As it is read in latin-1.
BYTE_ORDER_MARK = "\xef\xbb\xbf"
_TWO_COLONS = re.compile(r":[^\s:]*+:")


@dataclass(frozen=True)
class VectorCorpus:
    """Documents as vectors: X is documents x terms, Y documents x categories (bool), `split` the side of each row."""

    name: str
    X: csr_matrix
    Y: csr_matrix
    ids: tuple[str, ...]
    split: NDArray[np.str_]
    categories: tuple[str, ...]
    terms: tuple[str, ...]
    contents_sha256: str

    def fingerprint(self) -> str:
        """Return the sha256 of the contents on disk."""
        return self.contents_sha256

    def rows(self, side: str) -> NDArray[np.int64]:
        """Return the rows of one side of the split, in order."""
        return np.flatnonzero(self.split == side)


@dataclass(frozen=True)
class VectorLines:
    """Parsed lines HEAD TERM:WEIGHT ...: the heads as written, and one row of X for each line.

    `file_ends` holds the number of lines up to the end of each file.
    """

    heads: list[str]
    X: csr_matrix
    file_ends: tuple[int, ...]


def read_vector_lines(paths: Sequence[Path]) -> VectorLines:
    """Read whole files without blank lines and # comments; term id n is column n - 1."""
    heads: list[str] = []
    ends: list[int] = []
    lengths: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int32]] = []
    weights: list[NDArray[np.float32]] = []
    for path in paths:
        for numbered in _read_numbered_blocks(path):
            parsed = _parse_block(path, numbered, heads)
            lengths.append(parsed[0])
            columns.append(parsed[1])
            weights.append(parsed[2])
        ends.append(len(heads))
    starts = np.zeros(len(heads) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths) if lengths else [], out=starts[1:])
    indices = np.concatenate(columns) if columns else np.zeros(0, dtype=np.int32)
    data = np.concatenate(weights) if weights else np.zeros(0, dtype=np.float32)
    width = int(indices.max()) + 1 if indices.size else 0
    X = csr_matrix((data, indices, starts), shape=(len(heads), width))
    X.sum_duplicates()
    return VectorLines(heads, X, tuple(ends))


def parse_vector(line: str, where: Path, number: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return columns and weights of a line, whose label may be missing."""
    pairs = line.partition("#")[0].rstrip()
    if pairs and _is_pair(pairs.split()[0]):
        pairs = f" {pairs}"
    return _parse_block(where, [(number, pairs)], [])[1:]


def _read_numbered_blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    first = 1
    for block in read_line_blocks(path):
        lines = block.removesuffix("\n").split("\n")
        if first == 1:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        stripped = ((number, line.partition("#")[0].rstrip()) for number, line in enumerate(lines, first))
        yield [(number, line) for number, line in stripped if line]
        first += len(lines)


def _parse_block(
    path: Path, numbered: list[tuple[int, str]], heads: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    # A line that starts with a space has no label. RCV1-v2 writes two spaces after the document number.
    parts = [line.partition(" ") for _, line in numbered]
    for (number, _), (head, _, _) in zip(numbered, parts, strict=True):
        if ":" in head and _is_pair(head):
            raise BadDataError(
                f"the line begins with {head[:80]!r}, which would be its label",
                where=f"{path}:{number}",
                hint="Write its label first, or a space for a document without one.",
            )
    heads.extend(head for head, _, _ in parts)
    lengths = np.fromiter((rest.count(":") for _, _, rest in parts), dtype=np.int64, count=len(parts))
    try:
        joined = " ".join(rest for _, _, rest in parts)
        if _TWO_COLONS.search(joined):
            raise ValueError
        values = np.array(joined.replace(":", " ").split(), dtype=np.float64)
    except ValueError as error:
        raise _explain_bad_line(path, numbered) from error
    terms, weights = values[::2], values[1::2]
    if values.size != 2 * lengths.sum() or not (_are_terms(terms).all() and _are_weights(weights).all()):
        raise _explain_bad_line(path, numbered)
    return lengths, (terms - 1).astype(np.int32), weights.astype(np.float32)


def _are_terms(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values are valid term ids (NaN is not)."""
    whole: NDArray[np.bool_] = (values >= 1) & (values <= _LAST_TERM) & (np.floor(values) == values)
    return whole


def _are_weights(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values are finite in single precision."""
    finite: NDArray[np.bool_] = np.abs(values) <= np.finfo(np.float32).max
    return finite


def _explain_bad_line(path: Path, numbered: list[tuple[int, str]]) -> BadDataError:
    for number, line in numbered:
        for pair in line.split()[not line.startswith(" ") :]:
            if not _is_pair(pair):
                return BadDataError(f"{pair[:80]!r} is not TERM:WEIGHT", where=f"{path}:{number}", hint=_PAIR)
    return BadDataError(
        "a line is not HEAD TERM:WEIGHT ...",
        where=f"{path}:{numbered[0][0]}",
        hint="Write a label, then TERM:WEIGHT pairs separated by spaces.",
    )


_PAIR = f"TERM is a whole number from 1 to {_LAST_TERM:,}, WEIGHT a finite number."


def _is_pair(pair: str) -> bool:
    term, _, weight = pair.partition(":")
    try:
        numbers = np.array([float(term), float(weight)])
    except ValueError:
        return False
    return bool(_are_terms(numbers[:1]).all() and _are_weights(numbers[1:]).all())


def make_vector_corpus(
    name: str,
    X: csr_matrix,
    labels: Sequence[Sequence[str]],
    categories: Sequence[str],
    split: NDArray[np.str_],
    contents_sha256: str,
    *,
    ids: Sequence[str] | None = None,
) -> VectorCorpus:
    """Return a collection of vectors; documents without `ids` are numbered, labels not in `categories` are left out."""
    column = {category: number for number, category in enumerate(categories)}
    known = [sorted({column[label] for label in found if label in column}) for found in labels]
    starts = np.cumsum([0, *map(len, known)])
    columns = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=starts[-1])
    Y = csr_matrix((np.ones(len(columns), dtype=np.bool_), columns, starts), (len(labels), len(categories)))
    rows, terms = (tuple(str(number + 1) for number in range(size)) for size in X.shape)
    known_ids = rows if ids is None else tuple(ids)
    return VectorCorpus(name, X, Y, known_ids, split, tuple(categories), terms, contents_sha256)


def open_svmlight(
    path: Path,
    *,
    test: str | Path | None = None,
    categories: Sequence[str] | None = None,
    ratio: float | None = 4,
    seed: int = 0,
) -> VectorCorpus:
    """Read a user's svmlight file with lines `LABEL,LABEL TERM:WEIGHT ...`.

    `test` is a second file with the test documents, relative to the folder of the first. Without it they are drawn
    by seed, and with `ratio=None` all documents are training documents. Labels that are not in `categories` are left
    out.
    """
    lines = read_vector_lines(_list_svmlight_files(path, test))
    documents = len(lines.heads)
    training = np.arange(documents) < lines.file_ends[0]
    if test is None and ratio is not None:
        rows = pairwise(lines.X.indptr.tolist())
        digests = [lines.X.indices[a:b].tobytes() + lines.X.data[a:b].tobytes() for a, b in rows]
        training = draw_training_mask(documents, seed=seed, ratio=ratio, groups=number_equal_texts(digests))
    labels = [[label for label in head.split(",") if label] for head in lines.heads]
    known = (
        tuple(sorted({label for found in labels for label in found})) if categories is None else categories
    )
    contents = fingerprint_svmlight(path, test)
    sides = np.where(training, "train", "test")
    return make_vector_corpus("svmlight", lines.X, labels, known, sides, contents)


def fingerprint_svmlight(path: Path, test: str | Path | None = None) -> str:
    """Return the sha256 over the contents of the file and of the file with the test documents."""
    paths = _list_svmlight_files(path, test)
    return combine_hashes((str(number), hash_file(each)) for number, each in enumerate(paths))


def _list_svmlight_files(path: Path, test: str | Path | None) -> list[Path]:
    paths = [path, *([path.parent / test] if test is not None else [])]
    for each in paths:
        if not each.is_file():
            raise DataNotAvailableError(
                "no such file", where=str(each), hint="Fix `corpus.path` or `corpus.options.test`."
            )
    return paths
