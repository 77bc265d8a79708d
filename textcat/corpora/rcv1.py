"""RCV1-v2 from its token files: stemmed words with stop words removed, in SMART's format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.document import Document
from textcat.corpora.manifest import fingerprint_of
from textcat.corpora.rcv1_labels import Sides, find_qrels, read_qrels, topics
from textcat.corpora.text_files import dotted_records
from textcat.errors import BadDataError, DataNotAvailableError


class Rcv1:
    """One document a story; its body is its tokens between blanks, already stemmed and without stop words."""

    name = "rcv1"

    def __init__(
        self, folder: Path, *, split: str = "lyrl2004", labels: str = "topics", seed: int = 2004
    ) -> None:
        self.folder = folder
        self.split = split
        self.labels = labels
        self.seed = seed
        self.token_files = sorted(folder.glob("lyrl2004_tokens_train*.dat*"))
        self.token_files += sorted(folder.glob("lyrl2004_tokens_test*.dat*"))
        if not self.token_files:
            raise DataNotAvailableError(
                "no file lyrl2004_tokens_train.dat.gz", where=str(folder), hint="Run `textcat fetch rcv1`."
            )
        self.qrels = find_qrels(folder, labels)
        self._sides_of_none = Sides(split, (), seed)

    @cached_property
    def _labels(self) -> dict[str, tuple[str, ...]]:
        return read_qrels(self.qrels)

    def documents(self) -> Iterator[Document]:
        """The stories, training file first."""
        labels = self._labels
        sides = Sides(self.split, tuple(labels), self.seed)
        for path in self.token_files:
            for number, text in dotted_records(path):
                head, mark, tokens = text.partition(".W\n")
                if head.strip() or not mark or number not in labels:
                    what = "it has no .W line" if not mark or head.strip() else f"it has no {self.labels}"
                    raise BadDataError(
                        f"document {number} is damaged: {what}",
                        where=str(path),
                        hint="Fetch the collection again.",
                    )
                yield Document(number, {"body": tokens}, labels[number], sides.of(number))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """All 103 topics, trained or not, in alphabetical order; for other labels, those that occur."""
        if self.labels == "topics":
            return tuple(topic.code for topic in topics())
        return tuple(sorted({label for found in set(self._labels.values()) for label in found}))

    def fingerprint(self) -> str:
        """The sha256 over the names and contents of the token files and the label file."""
        return fingerprint_of(self.folder, [*self.token_files, self.qrels])


def count(folder: Path) -> dict[str, int]:
    """The counts that the collection's table pins."""
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
