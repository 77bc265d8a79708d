"""Generate vectors with many labels: Zipf labels in groups, words of labels and of groups.

The full size is 200,000 training documents x 30,000 labels, 100,000 features and about 75 nonzeros a document; smaller
sizes have proportionally fewer labels and features.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.store.files import make_write_error

FULL_DOCUMENTS = 200_000
FULL_LABELS = 30_000
FULL_FEATURES = 100_000
# Of each document: words, and mean number of labels beyond the first.
WORDS = 95
MORE_LABELS = 3.0
LABEL_WORDS = 30
GROUP_SIZE = 40
# Shares of words from a label of the document and from its group; the others come from all documents.
LABEL_SHARE, GROUP_SHARE = 0.35, 0.25
TEST_SHARE = 0.1


@dataclass(frozen=True)
class ManyLabels:
    """Documents x features of length 1 and documents x labels, for training and test."""

    X: sp.csr_matrix
    Y: sp.csr_matrix
    held_rows: sp.csr_matrix
    held_labels: sp.csr_matrix


def generate_many_labels(documents: int, seed: int = 1) -> ManyLabels:
    """Return a collection with that many training documents and a tenth of them more for test."""
    random = np.random.default_rng(seed)
    share = documents / FULL_DOCUMENTS
    labels, features = max(int(FULL_LABELS * share), 50), max(int(FULL_FEATURES * share), 2000)
    number = documents + int(documents * TEST_SHARE)
    rows, chosen = _draw_labels(random, number, labels)
    Y = sp.csr_matrix((np.ones(len(rows), dtype=np.bool_), (rows, chosen)), shape=(number, labels))
    X = _draw_words(random, Y, features)
    return ManyLabels(X[:documents], Y[:documents], X[documents:], Y[documents:])


def _draw_labels(
    random: np.random.Generator, documents: int, labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a first label from a Zipf distribution, and further ones from its group or from all.

    Labels are numbered by frequency; a group is every label with the same remainder.
    """
    sizes = 1 + random.poisson(MORE_LABELS, documents)
    rows = np.repeat(np.arange(documents), sizes)
    zipf = _compute_zipf(labels, 10.0)
    first = np.searchsorted(zipf, random.random(documents))
    drawn = np.searchsorted(zipf, random.random(len(rows)))
    groups = _count_groups(labels)
    place = (labels // groups * random.random(len(rows)) ** 3).astype(np.int64)
    chosen = np.where(random.random(len(rows)) < 0.6, first[rows] % groups + groups * place, drawn)
    starts = np.cumsum(sizes) - sizes
    chosen[starts] = first
    places = np.unique(rows * labels + chosen)
    return places // labels, places % labels


def _draw_words(random: np.random.Generator, Y: sp.csr_matrix, features: int) -> sp.csr_matrix:
    """Draw the words of each document; weights are log TF x IDF, scaled to length 1."""
    documents, labels = Y.shape
    zipf = _compute_zipf(features, 30.0)
    own = random.integers(0, features, (labels, LABEL_WORDS))
    groups = random.integers(0, features, (_count_groups(labels), LABEL_WORDS))
    rows = np.repeat(np.arange(documents), WORDS)
    sizes = np.diff(Y.indptr)
    which = Y.indices[Y.indptr[rows] + (random.random(len(rows)) * sizes[rows]).astype(np.int64)]
    place = (LABEL_WORDS * random.random(len(rows)) ** 2).astype(np.int64)
    kind = random.random(len(rows))
    words = np.searchsorted(zipf, random.random(len(rows)))
    words = np.where(kind < LABEL_SHARE + GROUP_SHARE, groups[which % len(groups), place], words)
    words = np.where(kind < LABEL_SHARE, own[which, place], words)
    counts = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, words)), shape=(documents, features))
    frequency = np.bincount(counts.indices, minlength=features)
    rarity = np.log(documents / frequency[counts.indices])
    counts.data = np.asarray((1.0 + np.log(counts.data)) * rarity, dtype=np.float32)
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1))).ravel()
    return sp.csr_matrix(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ counts, dtype=np.float32)


def _count_groups(labels: int) -> int:
    return max(labels // GROUP_SIZE, 1)


def _compute_zipf(number: int, offset: float) -> NDArray[np.float64]:
    weights = np.cumsum(1.0 / (np.arange(number) + offset))
    return np.asarray(weights / weights[-1])


# The files of a generated collection: training and test documents.
SVMLIGHT_FILES = ("train.svm", "test.svm")
MINIMUM_DOCUMENTS = 22


def write_generated_labels(folder: Path, documents: int, seed: int) -> tuple[int, int]:
    """Write a collection in svmlight's format; return the numbers of its training documents and labels.

    One document of eleven is for test.
    """
    if documents < MINIMUM_DOCUMENTS:
        raise UsageError(
            f"{documents} documents are too few", hint=f"Generate at least {MINIMUM_DOCUMENTS} documents."
        )
    made = generate_many_labels(round(documents / (1 + TEST_SHARE)), seed)
    parts = ((made.X, made.Y), (made.held_rows, made.held_labels))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (rows, labels) in zip(SVMLIGHT_FILES, parts, strict=True):
            with (folder / name).open("w", encoding="ascii") as out:
                write_svmlight(out, rows, labels)
    except OSError as error:
        raise make_write_error(folder, error) from error
    return made.X.shape[0], made.Y.shape[1]


def write_svmlight(out: TextIO, rows: sp.csr_matrix, labels: sp.csr_matrix, first: int = 1) -> None:
    """Write lines LABEL,LABEL TERM:WEIGHT ... of documents; terms and labels are numbered from `first`."""
    numbers = labels.indices + first
    for row, (start, end) in enumerate(pairwise(rows.indptr.tolist())):
        own = ",".join(map(str, numbers[labels.indptr[row] : labels.indptr[row + 1]]))
        pairs = zip(rows.indices[start:end].tolist(), rows.data[start:end].tolist(), strict=True)
        out.write(f"{own} " + " ".join(f"{term + first}:{weight:.6g}" for term, weight in pairs) + "\n")
