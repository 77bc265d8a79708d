"""Documents, the interface of a text collection, sides of a split, and labels counted by side."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal, Protocol, runtime_checkable

from textcat.yaml_reader import read_packaged_yaml

Split = Literal["train", "test", "unused"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document: id, text by field, labels, side of the split, and its place (file:line) if known."""

    id: str
    fields: Mapping[str, str]
    labels: tuple[str, ...]
    split: Split
    where: str = field(default="", compare=False)


@runtime_checkable
class Corpus(Protocol):
    """An opened collection; each call of `documents` reads them from disk."""

    @property
    def name(self) -> str:
        """The name, as in `textcat fetch`."""
        ...

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels of training and test documents, in a fixed order."""
        ...

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the collection's order."""
        ...

    def fingerprint(self) -> str:
        """Return the sha256 of the contents on disk."""
        ...


class CountingCorpus(ABC):
    """A collection whose categories follow from the labels of its documents, so that one pass finds both."""

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Yield all documents in the collection's order."""

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories, in alphabetical order."""
        return self.list_categories(count_categories(self.documents()))

    def list_categories(self, counts: CategoryCounts) -> tuple[str, ...]:
        """Return the categories, by default the labels of training or test documents, given their counts."""
        return counts.in_train_or_test()


@runtime_checkable
class StreamedCorpus(Protocol):
    """A collection whose sides may be drawn at random after a pass over its documents."""

    def stream(self) -> Iterator[Document]:
        """Yield the documents in one pass; where sides are drawn at random, `draw_sides` gives them afterwards."""
        ...

    def draw_sides(self, documents: int) -> list[Split] | None:
        """Return the side of each document, or None where the documents have sides of their own."""
        ...


def find_similar_labels(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that differ only in case, spaces, Unicode form or plus sign or zeros of a number."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        plain = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
        number = re.fullmatch(r"\+?0*(\d+)(\.0+)?", plain)
        groups.setdefault(number[1] if number else plain, []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def find_side_by_name(word: str) -> str | None:
    """Return train, test, validation or unused for a word such as `Training` or `dev`, and None for other words."""
    return _load_side_words().get(word.strip().lower())


@cache
def _load_side_words() -> dict[str, str]:
    sides = read_packaged_yaml("corpora/lists/side_words.yaml")
    return {word: side for side, words in sides.items() for word in words}


def is_split(sides: Iterable[str | None]) -> bool:
    """Return whether there are training documents, and test or validation documents."""
    found = set(sides)
    return "train" in found and bool(found & {"test", "validation"})


@dataclass(frozen=True)
class CategoryCounts:
    """How many training and test documents each label has."""

    train: Counter[str]
    test: Counter[str]

    def in_train(self) -> tuple[str, ...]:
        """Return the labels of at least one training document, in alphabetical order."""
        return tuple(sorted(self.train))

    def in_test(self) -> tuple[str, ...]:
        """Return the labels of at least one test document, in alphabetical order."""
        return tuple(sorted(self.test))

    def in_both(self) -> tuple[str, ...]:
        """Return the labels of at least one training and one test document, in alphabetical order."""
        return tuple(sorted(self.train.keys() & self.test.keys()))

    def in_train_or_test(self) -> tuple[str, ...]:
        """Return the labels of at least one training or test document, in alphabetical order."""
        return tuple(sorted(self.train.keys() | self.test.keys()))

    def with_at_least(self, number: int) -> tuple[str, ...]:
        """Return the labels of at least `number` training documents, in alphabetical order."""
        return tuple(sorted(label for label, found in self.train.items() if found >= number))


def count_categories(documents: Iterable[Document]) -> CategoryCounts:
    """Count the labels of training and of test documents; unused documents do not count."""
    return count_labels((document.labels, document.split) for document in documents)


def count_labels(documents: Iterable[tuple[Sequence[str], str]]) -> CategoryCounts:
    """Count labels, given the labels and the side of each document; unused documents do not count."""
    counts = CategoryCounts(Counter(), Counter())
    for labels, side in documents:
        if side == "train":
            counts.train.update(labels)
        elif side == "test":
            counts.test.update(labels)
    return counts
