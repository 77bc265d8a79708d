"""Sides of a split: words that name them, and labels counted by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from textcat.corpora.document import Document
from textcat.yaml_reader import read_packaged_yaml


def side_named(word: str) -> str | None:
    """Return train, test, validation or unused for a word such as `Training` or `dev`, and None for other words."""
    return _sides_by_word().get(word.strip().lower())


@cache
def _sides_by_word() -> dict[str, str]:
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
