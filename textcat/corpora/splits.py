"""Sides of a split: words that name them, labels counted by side, random splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import yaml
from numpy.typing import NDArray

from textcat.corpora.document import Document
from textcat.errors import UsageError


def side_named(word: str) -> str | None:
    """Return train, test, validation or unused for a word such as `Training` or `dev`, and None for other words."""
    return _sides_by_word().get(word.strip().lower())


@cache
def _sides_by_word() -> dict[str, str]:
    text = files("textcat.corpora").joinpath("lists", "side_words.yaml").read_text(encoding="utf-8")
    return {word: side for side, words in yaml.safe_load(text).items() for word in words}


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
    """Count the labels of training and of test documents."""
    counts = CategoryCounts(Counter(), Counter())
    for document in documents:
        if document.split == "train":
            counts.train.update(document.labels)
        elif document.split == "test":
            counts.test.update(document.labels)
    return counts


def draw_split_masks(
    n: int, *, seed: int, ratio: float | None = None, repeats: int = 1, folds: int | None = None
) -> list[NDArray[np.bool_]]:
    """Return masks of `n` documents that are true for training documents.

    With `ratio` r (4 for 4:1): `repeats` independent splits with r training documents for each test document. With
    `folds` k: one shuffle cut into k test sets whose sizes differ by at most one.
    """
    if (ratio is None) == (folds is None):
        raise UsageError(
            "a random split needs either a ratio or a number of folds", hint="State one of the two."
        )
    random = np.random.default_rng(seed)
    if folds is not None:
        if not 2 <= folds <= n:
            raise UsageError(
                f"{n} documents cannot be split into {folds} folds",
                hint="Use at least 2 folds and at most one fold for each document.",
            )
        return [_make_training_mask(n, part) for part in np.array_split(random.permutation(n), folds)]
    if ratio is None or ratio <= 0:
        raise UsageError(
            f"the ratio of a split must be above 0, not {ratio}",
            hint="State the training documents for each test document, such as 4.",
        )
    tests = round(n / (ratio + 1))
    return [_make_training_mask(n, random.permutation(n)[:tests]) for _ in range(repeats)]


def _make_training_mask(n: int, test: NDArray[np.int64]) -> NDArray[np.bool_]:
    mask = np.ones(n, dtype=bool)
    mask[test] = False
    return mask
