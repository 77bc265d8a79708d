"""Counting labels by side of a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from textcat.corpora.document import Document


@dataclass(frozen=True)
class CategoryCounts:
    """How many training and test documents each label has."""

    train: Counter[str]
    test: Counter[str]

    def in_train(self) -> tuple[str, ...]:
        """Labels of at least one training document, in alphabetical order."""
        return tuple(sorted(self.train))

    def in_test(self) -> tuple[str, ...]:
        """Labels of at least one test document, in alphabetical order."""
        return tuple(sorted(self.test))

    def in_both(self) -> tuple[str, ...]:
        """Labels of at least one training and one test document, in alphabetical order."""
        return tuple(sorted(self.train.keys() & self.test.keys()))

    def in_train_or_test(self) -> tuple[str, ...]:
        """Labels of at least one training or test document, in alphabetical order."""
        return tuple(sorted(self.train.keys() | self.test.keys()))

    def largest(self, number: int) -> tuple[str, ...]:
        """The labels with the most training documents, largest first, equals in alphabetical order."""
        return tuple(sorted(self.train, key=lambda label: (-self.train[label], label))[:number])


def category_counts(documents: Iterable[Document]) -> CategoryCounts:
    """Count the labels of training and of test documents; unused documents do not count."""
    counts = CategoryCounts(Counter(), Counter())
    for document in documents:
        if document.split == "train":
            counts.train.update(document.labels)
        elif document.split == "test":
            counts.test.update(document.labels)
    return counts
