"""Generate vectors with many labels: Zipf labels in groups, words of labels and of groups, for `labels`.

The full size is 200,000 documents x 30,000 labels, 100,000 features and about 75 nonzeros a document; smaller
sizes have proportionally fewer labels and features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError

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


def write_many_labels(folder: Path, data: ManyLabels) -> None:
    """Write the matrices, and the training documents in the text format of omikuji."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("X", "Y", "held_rows", "held_labels"):
        sp.save_npz(folder / f"{name}.npz", getattr(data, name), compressed=False)
    with (folder / "train.txt").open("w", encoding="ascii") as out:
        out.write(f"{data.X.shape[0]} {data.X.shape[1]} {data.Y.shape[1]}\n")
        for row in range(data.X.shape[0]):
            labels = ",".join(map(str, data.Y.indices[data.Y.indptr[row] : data.Y.indptr[row + 1]]))
            part = slice(data.X.indptr[row], data.X.indptr[row + 1])
            pairs = zip(data.X.indices[part].tolist(), data.X.data[part].tolist(), strict=True)
            out.write(f"{labels} " + " ".join(f"{j}:{x:.6g}" for j, x in pairs) + "\n")


def read_many_labels(folder: Path) -> ManyLabels:
    """Read the matrices that `write_many_labels` wrote."""
    try:
        parts = [
            sp.csr_matrix(sp.load_npz(folder / f"{name}.npz"))
            for name in ("X", "Y", "held_rows", "held_labels")
        ]
    except (OSError, ValueError) as error:
        raise BadDataError(f"not readable: {error}", where=str(folder), hint="Generate it again.") from error
    return ManyLabels(*parts)
