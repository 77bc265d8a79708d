"""RCV1-v2 as LYRL2004's own vectors: the whole collection, and a small real subset of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from textcat.corpora.manifest import fingerprint_of
from textcat.corpora.rcv1_labels import Sides, find_qrels, read_qrels, topics
from textcat.corpora.splits import random_splits
from textcat.corpora.vectors import VectorCorpus, label_matrix, read_vector_lines
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

SUBSET_FILE = "rcv1-subset-lyrl-vectors.svm.gz"


def open_rcv1_vectors(
    folder: Path, *, split: str = "lyrl2004", labels: str = "topics", seed: int = 2004
) -> VectorCorpus:
    """The official vectors (log TF x IDF, cosine) with labels from the qrels."""
    paths = sorted(folder.glob("lyrl2004_vectors_train*.dat*")) + sorted(
        folder.glob("lyrl2004_vectors_test*.dat*")
    )
    if not paths:
        raise DataNotAvailableError(
            "no file lyrl2004_vectors_train.dat.gz",
            where=str(folder),
            hint="Put it there, or fetch the collection with --from FOLDER.",
        )
    qrels = find_qrels(folder, labels)
    known = read_qrels(qrels)
    lines = read_vector_lines(paths)
    if missing := next((number for number in lines.heads if number not in known), None):
        raise BadDataError(
            f"document {missing} has no {labels}",
            where=str(qrels),
            hint="The files are of different editions: fetch the collection again.",
        )
    sides = Sides(split, tuple(known), seed)
    found = [known[number] for number in lines.heads]
    categories = _all_topics() if labels == "topics" else tuple(sorted({x for each in found for x in each}))
    return VectorCorpus(
        name="rcv1-vectors",
        X=lines.X,
        Y=label_matrix(found, categories),
        ids=tuple(lines.heads),
        split=np.array([sides.of(number) for number in lines.heads]),
        categories=categories,
        terms=tuple(str(number + 1) for number in range(lines.X.shape[1])),
        contents_sha256=fingerprint_of(folder, [*paths, qrels]),
    )


def open_rcv1_subset(
    folder: Path, *, split: str = "random", ratio: float = 1.0, seed: int = 2004
) -> VectorCorpus:
    """The subset of 17,189 documents, split at random by seed, the training set `ratio` times the test set.

    All are of the LYRL2004 test period, so there is no split by time. M143 is not recoverable from it: it has
    102 topics.
    """
    if split != "random":
        raise UsageError(f"rcv1-subset has no split {split!r}", hint="It is split at random by seed.")
    path = folder / SUBSET_FILE
    if not path.is_file():
        raise DataNotAvailableError(
            f"no file {SUBSET_FILE}",
            where=str(folder),
            hint="Put it there, or fetch the collection with --from FOLDER.",
        )
    lines = read_vector_lines([path])
    found = [head.split(",") for head in lines.heads]
    (training,) = random_splits(len(found), seed=seed, ratio=ratio)
    categories = tuple(sorted({label for each in found for label in each}))
    return VectorCorpus(
        name="rcv1-subset",
        X=lines.X,
        Y=label_matrix(found, categories),
        ids=tuple(str(row + 1) for row in range(len(found))),
        split=np.where(training, "train", "test"),
        categories=categories,
        terms=tuple(str(number + 1) for number in range(lines.X.shape[1])),
        contents_sha256=fingerprint_of(folder, [path]),
    )


def _all_topics() -> tuple[str, ...]:
    return tuple(topic.code for topic in topics())


def count_vectors(folder: Path) -> dict[str, int]:
    """The counts that the table of the whole collection pins."""
    corpus = open_rcv1_vectors(folder)
    return {
        "documents": corpus.X.shape[0],
        "terms": corpus.X.shape[1],
        "lyrl2004 train": len(corpus.rows("train")),
        "lyrl2004 test": len(corpus.rows("test")),
        "topics": int(corpus.Y.any(axis=0).sum()),
    }


def count_subset(folder: Path) -> dict[str, int]:
    """The counts that the table of the subset pins."""
    corpus = open_rcv1_subset(folder)
    return {
        "documents": corpus.X.shape[0],
        "terms": corpus.X.shape[1],
        "topics": len(corpus.categories),
        "nonzeros": corpus.X.nnz,
    }
