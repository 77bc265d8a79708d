"""RCV1-v2: label files, topic hierarchy and splits; the token files; the LYRL2004 vectors."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from textcat.corpora.cards import fingerprint_files
from textcat.corpora.collection_files import (
    find_files,
    make_damage_error,
    read_line_blocks,
    read_smart_records,
)
from textcat.corpora.document import Document, Split
from textcat.corpora.vector_files import VectorCorpus, make_vector_corpus, read_vector_lines
from textcat.errors import BadDataError
from textcat.splits import draw_training_mask

RCV1_LABELS = ("topics", "industries", "regions")
LAST_TRAINING_NUMBER = 26150
# genkin_2004 section 5.2.2: a fixed random sample of 77,993 of the 781,265 test documents.
SAMPLE_SIZE = 77_993
TEST_SIZE = 781_265
_LONGEST_NUMBER = 9


@dataclass(frozen=True)
class Topic:
    """One topic of the hierarchy; its documents in the whole collection and in the LYRL2004 training set."""

    code: str
    parent: str
    name: str
    documents: int
    training_documents: int


@cache
def load_topics() -> tuple[Topic, ...]:
    """Return the 103 topics of RCV1-v2, in alphabetical order of their codes."""
    text = (files("textcat.corpora") / "lists" / "rcv1_topics.csv").read_text(encoding="utf-8")
    return tuple(
        Topic(row["topic"], row["parent"], row["name"], int(row["documents"]), int(row["training_documents"]))
        for row in csv.DictReader(text.splitlines())
    )


def read_qrels(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the labels by document number, from lines LABEL NUMBER 1; equal label sets share one tuple."""
    found: dict[str, tuple[str, ...]] = {}
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    line = 1
    for block in read_line_blocks(path):
        triples = [text.split() for text in block.removesuffix("\n").split("\n")]
        if not all(len(words) == 3 and words[2] == "1" and _is_number(words[1]) for words in triples):
            raise _explain_bad_line(block, path, line)
        for number, group in groupby(triples, itemgetter(1)):
            labels = (*found.get(number, ()), *(label for label, _, _ in group))
            found[number] = shared.setdefault(labels, labels)
        line += len(triples)
    return found


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and text.isdecimal()


def _explain_bad_line(block: str, path: Path, first: int) -> BadDataError:
    for line, text in enumerate(block.split("\n"), first):
        parts = text.split()
        if len(parts) != 3 or parts[2] != "1" or not _is_number(parts[1]):
            return make_damage_error("not a line LABEL NUMBER 1", f"{path}:{line}")
    return make_damage_error("not lines LABEL NUMBER 1", f"{path}:{first}")


def find_qrels(folder: Path, labels: str) -> Path:
    """Return the path of the qrels file of one kind of labels."""
    return find_files(folder, f"rcv1-v2.{labels}.qrels*")[0]


class Rcv1Split:
    """The side of each document number in one of the collection's splits.

    `lyrl2004-sample` keeps a random sample of the test documents with the share 77,993 of 781,265, drawn by seed
    from the sorted numbers; the others are unused. `swapped` (zhang_jin_2003) exchanges the sides.
    """

    def __init__(self, split: str, numbers: Sequence[str], seed: int) -> None:
        self.split = split
        self.sample: frozenset[int] = frozenset()
        if split == "lyrl2004-sample":
            tests = np.sort([int(number) for number in numbers if int(number) > LAST_TRAINING_NUMBER])
            size = round(len(tests) * SAMPLE_SIZE / TEST_SIZE)
            chosen = np.random.default_rng(seed).choice(tests, size, replace=False)
            self.sample = frozenset(chosen.tolist())

    def of(self, number: str) -> Split:
        """Return the side of one document."""
        first = int(number) <= LAST_TRAINING_NUMBER
        if self.split == "swapped":
            return "test" if first else "train"
        if self.split == "lyrl2004-sample" and not first and int(number) not in self.sample:
            return "unused"
        return "train" if first else "test"


class Rcv1:
    """One document for each story; its body are stemmed tokens without stop words, separated by spaces."""

    name = "rcv1"

    def __init__(
        self, folder: Path, *, split: str = "lyrl2004", labels: str = "topics", seed: int = 2004
    ) -> None:
        self.folder = folder
        self.split = split
        self.labels = labels
        self.seed = seed
        self.token_files = find_files(folder, "lyrl2004_tokens_train*.dat*", "lyrl2004_tokens_test*.dat*")
        self.qrels = find_qrels(folder, labels)

    @cached_property
    def _labels(self) -> dict[str, tuple[str, ...]]:
        return read_qrels(self.qrels)

    def documents(self) -> Iterator[Document]:
        """Yield the stories, training file first."""
        labels = self._labels
        sides = Rcv1Split(self.split, tuple(labels), self.seed)
        for path in self.token_files:
            for number, text in read_smart_records(path):
                head, mark, tokens = text.partition(".W\n")
                if head.strip() or not mark or number not in labels:
                    what = "it has no .W line" if not mark or head.strip() else f"it has no {self.labels}"
                    raise make_damage_error(f"document {number} is damaged: {what}", str(path))
                yield Document(number, {"body": tokens}, labels[number], sides.of(number))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """All 103 topics in alphabetical order; of other labels, those that occur."""
        if self.labels == "topics":
            return tuple(topic.code for topic in load_topics())
        return tuple(sorted({label for found in set(self._labels.values()) for label in found}))

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of the token files and the label file."""
        return fingerprint_files(self.folder, [*self.token_files, self.qrels])


def count_rcv1(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Rcv1(folder)
    sides: Counter[str] = Counter()
    trained: set[str] = set()
    seen: set[tuple[str, ...]] = set()
    for document in corpus.documents():
        sides[document.split] += 1
        seen.add(document.labels)
        if document.split == "train":
            trained.update(document.labels)
    return {
        "documents": sides.total(),
        "lyrl2004 train": sides["train"],
        "lyrl2004 test": sides["test"],
        "topics": len({topic for labels in seen for topic in labels}),
        "topics in train": len(trained),
    }


SUBSET_FILE = "rcv1-subset-lyrl-vectors.svm.gz"


def open_rcv1_vectors(
    folder: Path, *, split: str = "lyrl2004", labels: str = "topics", seed: int = 2004
) -> VectorCorpus:
    """Read the official vectors (log TF x IDF, cosine normalization) with labels from the qrels."""
    paths = find_files(folder, "lyrl2004_vectors_train*.dat*", "lyrl2004_vectors_test*.dat*")
    qrels = find_qrels(folder, labels)
    known = read_qrels(qrels)
    lines = read_vector_lines(paths)
    if missing := next((number for number in lines.heads if number not in known), None):
        raise make_damage_error(f"document {missing} has no {labels}", str(qrels))
    sides = Rcv1Split(split, tuple(known), seed)
    found = [known[number] for number in lines.heads]
    categories = (
        tuple(topic.code for topic in load_topics())
        if labels == "topics"
        else tuple(sorted({x for each in found for x in each}))
    )
    split_sides = np.array([sides.of(number) for number in lines.heads])
    contents = fingerprint_files(folder, [*paths, qrels])
    return make_vector_corpus(
        "rcv1-vectors", lines.X, found, categories, split_sides, contents, ids=tuple(lines.heads)
    )


def open_rcv1_subset(folder: Path, *, ratio: float = 1.0, seed: int = 2004) -> VectorCorpus:
    """Read the subset of 17,189 documents, split at random with `ratio` training documents for each test document.

    All are of the LYRL2004 test period, so there is no split by time. Topic M143 does not occur.
    """
    paths = find_files(folder, SUBSET_FILE)
    lines = read_vector_lines(paths)
    found = [head.split(",") for head in lines.heads]
    training = draw_training_mask(len(found), seed=seed, ratio=ratio)
    categories = tuple(sorted({label for each in found for label in each}))
    sides = np.where(training, "train", "test")
    contents = fingerprint_files(folder, paths)
    return make_vector_corpus("rcv1-subset", lines.X, found, categories, sides, contents)


def count_vectors(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the card of rcv1-vectors."""
    corpus = open_rcv1_vectors(folder)
    return {
        "documents": corpus.X.shape[0],
        "terms": corpus.X.shape[1],
        "lyrl2004 train": len(corpus.rows("train")),
        "lyrl2004 test": len(corpus.rows("test")),
        "topics": len(np.unique(corpus.Y.indices)),
    }


def count_subset(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the card of rcv1-subset."""
    corpus = open_rcv1_subset(folder)
    return {
        "documents": corpus.X.shape[0],
        "terms": corpus.X.shape[1],
        "topics": len(corpus.categories),
        "nonzeros": corpus.X.nnz,
    }
