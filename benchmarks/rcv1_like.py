"""Generate vectors with the size and statistics of RCV1-v2, without writing and reading text.

Documents are drawn from the same distributions as those of `python -m benchmarks.generate rcv1-like`. The first 23,149
documents determine the terms, as LYRL2004's training documents determine the 47,236 terms of RCV1-v2;
learners train on the documents that follow. Weights are log TF x IDF, scaled to length 1, as in the
collection's own vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.generate import FULL_TRAINING_DOCUMENTS, Rcv1LikeModel
from textcat.corpora.collections.rcv1 import LAST_TRAINING_NUMBER, load_topics
from textcat.store import Recipe, Store
from textcat.store.arrays import read_array, read_matrix, write_array, write_matrix
from textcat.text.weighting import document_frequencies, inverse_document_frequencies, row_norms, weigh_counts

_FIRST_NUMBER = LAST_TRAINING_NUMBER + 1 - FULL_TRAINING_DOCUMENTS
_CHUNK = 5_000


@dataclass(frozen=True)
class Rcv1LikeVectors:
    """Documents x terms, and documents x 103 topics from the most frequent to the rarest."""

    X: sparse.csr_array[Any]
    Y: NDArray[np.bool_]


def build_rcv1_like(
    store: Store, documents: int, seed: int = 1, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Return the folder of the artifact with this number of documents; build it if it does not exist."""
    recipe = Recipe("rcv1-like", 1, {"documents": documents, "seed": seed})

    def make(folder: Path) -> None:
        made = _generate(documents, seed, progress or (lambda done, total: None))
        write_matrix(folder, "X", made.X)
        write_array(folder, "Y", made.Y)

    return store.build(recipe, make).folder


def read_rcv1_like(folder: Path) -> Rcv1LikeVectors:
    """Read the vectors of an artifact, memory-mapped."""
    labels: NDArray[np.bool_] = read_array(folder, "Y", mapped=True)
    return Rcv1LikeVectors(read_matrix(folder, "X", mapped=True), labels)


def select_binary_features(X: sparse.csr_array[Any], documents: NDArray[np.int64], features: int) -> Any:
    """Return the presence of the most frequent terms: documents x features, zeros and ones."""
    chosen = np.sort(np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")[:features])
    kept = sparse.csr_matrix(X[documents][:, chosen], dtype=np.float64)
    kept.data[:] = 1.0
    return kept


def _generate(documents: int, seed: int, progress: Callable[[int, int], None]) -> Rcv1LikeVectors:
    model = Rcv1LikeModel(seed)
    first = range(_FIRST_NUMBER, LAST_TRAINING_NUMBER + 1)
    containing = np.zeros(len(model.words), dtype=np.int64)
    for counts, _ in _draw_chunks(model, first):
        containing += document_frequencies(counts)
    seen = np.flatnonzero(containing)
    idf = inverse_document_frequencies(containing[seen], len(first))
    parts, labels = [], []
    for counts, sets in _draw_chunks(
        model, range(LAST_TRAINING_NUMBER + 1, LAST_TRAINING_NUMBER + 1 + documents)
    ):
        parts.append(_weigh_and_normalize(sparse.csr_array(counts[:, seen]), idf))
        labels.append(_as_columns(sets))
        progress(sum(part.shape[0] for part in parts), documents)
    X = sparse.csr_array(sparse.vstack(parts, format="csr"))
    Y = np.vstack(labels)
    return Rcv1LikeVectors(
        X, np.asarray(Y[:, np.argsort(-Y.sum(axis=0), kind="stable")], dtype=np.bool_, order="C")
    )


def _draw_chunks(
    model: Rcv1LikeModel, numbers: range
) -> Iterator[tuple[sparse.csr_array[Any], list[list[int]]]]:
    """Yield counts and topics of the documents in chunks."""
    for start in range(0, len(numbers), _CHUNK):
        chunk = numbers[start : start + _CHUNK]
        sets = model.draw_label_sets(chunk)
        owner, words, occurrences = model.draw_words(sets)
        counts = sparse.coo_array((occurrences, (owner, words)), shape=(len(chunk), len(model.words))).tocsr()
        yield sparse.csr_array(counts), sets


def _weigh_and_normalize(counts: sparse.csr_array[Any], idf: NDArray[np.float64]) -> sparse.csr_array[Any]:
    weights = weigh_counts(counts, "log_tf_idf", idf)
    norms = row_norms(weights, counts)
    norms[norms == 0.0] = 1.0
    weights = weights / np.repeat(norms, np.diff(counts.indptr))
    positions = (counts.indices.astype(np.int32), counts.indptr.astype(np.int32))
    return sparse.csr_array((weights, *positions), shape=counts.shape)


def _as_columns(sets: list[list[int]]) -> NDArray[np.bool_]:
    labels = np.zeros((len(sets), len(load_topics())), dtype=np.bool_)
    for row, chosen in enumerate(sets):
        labels[row, chosen] = True
    return labels
