"""Count a user's documents and labels, and report what may be wrong with the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from textcat.corpora.document import find_similar_labels
from textcat.errors import BadDataError
from textcat.yaml_reader import list_first

# Where no document has several labels, up to this share without any is taken for missing labels.
_LEFT_OUT = 0.02
_NO_VALUES = {"nan", "none", "null", "na", "n/a", "nat"}
# Texts with fewer words than this on average get n-grams of characters beside words: see docs/tuning.md.
SHORT_TEXT_WORDS = 50


@dataclass
class LabelCounts:
    """Documents counted by side, and the labels of training and test documents."""

    sides: Counter[str] = field(default_factory=Counter)
    categories: dict[str, set[str]] = field(default_factory=lambda: {"train": set(), "test": set()})
    documents: Counter[str] = field(default_factory=Counter)
    words: int = 0
    labels: int = 0
    several: int = 0
    first_several: str = ""
    unlabelled: int = 0
    first_unlabelled: str = ""
    texts: dict[str, Counter[int]] = field(default_factory=lambda: {"train": Counter(), "test": Counter()})

    def add(self, where: str, labels: Sequence[str], side: str, text: str = "") -> None:
        """Count one document; the labels of unused ones are not counted."""
        self.sides[side] += 1
        if side == "unused":
            return
        if text.strip():
            self.texts[side][hash(text)] += 1
        self.categories[side].update(labels)
        self.documents.update(labels)
        self.labels += len(labels)
        if len(labels) > 1:
            self.several += 1
            self.first_several = self.first_several or where
        elif not labels:
            self.unlabelled += 1
            self.first_unlabelled = self.first_unlabelled or where

    @property
    def used(self) -> int:
        """The number of training and test documents."""
        return self.sides["train"] + self.sides["test"]

    @property
    def has_short_texts(self) -> bool:
        """Whether documents have so few words on average that n-grams of characters are worth their cost."""
        return 0 < self.words < SHORT_TEXT_WORDS * self.used

    @property
    def is_single_label(self) -> bool:
        """Whether documents have exactly one label each, apart from a few without any, which are left out."""
        left_out = self.unlabelled if self.number_of_categories > 1 else 0
        return self.used > 0 and not self.several and self.unlabelled == left_out <= _LEFT_OUT * self.used

    @property
    def number_of_categories(self) -> int:
        """How many labels occur in training and test documents."""
        return len(self.categories["train"] | self.categories["test"])

    def check_categories(self, where: str) -> None:
        """Raise BadDataError if there is no label, or one that every document has."""
        if self.sides["test"] and not self.categories["test"]:
            hint = "Name test documents with labels; `textcat predict` labels those without."
            raise BadDataError("no test document has a label", where=where, hint=hint)
        different = self.categories["train"] | self.categories["test"]
        if different and not (len(different) == 1 and self.is_single_label):
            return
        what = "no document has a label"
        if different:
            what = f"every document has the only label {next(iter(different))!r}: there is nothing to learn"
        raise BadDataError(
            what,
            where=where,
            hint="Add documents of another category, or name another column of labels as `label` in `corpus.options` "
            "of an experiment.",
        )

    def report_doubts(self) -> list[str]:
        """Return lines on labels of a single document, of similar names and of missing values, and repeated texts."""
        lines = []
        if rare := sorted(label for label, number in self.documents.items() if number == 1):
            counted = "1 category has" if len(rare) == 1 else f"{len(rare):,} categories have"
            lines.append(
                f"{counted} a single document, which cannot be both learned and tested: {list_first(rare)}"
            )
        if similar := [", ".join(map(repr, group)) for group in find_similar_labels(sorted(self.documents))]:
            lines.append(f"categories that may be the same: {list_first(similar)}")
        if missing := sorted(label for label in self.documents if label.strip("<>").lower() in _NO_VALUES):
            lines.append(f"categories that may stand for a missing label: {list_first(missing)}")
        train, test = self.texts["train"], self.texts["test"]
        if known := sum(number for text, number in test.items() if text in train):
            counted = "1 test document has" if known == 1 else f"{known:,} test documents have"
            lines.append(f"{counted} the text of a training document, which makes results too good")
        if repeated := train.total() - len(train):
            counted = "1 document has" if repeated == 1 else f"{repeated:,} documents have"
            lines.append(
                f"{counted} the text of an earlier one; equal texts stay together in splits and folds"
            )
        return lines

    def report(self) -> str:
        """Return the number of categories and of labels for each document, as text."""
        different = self.number_of_categories
        if self.is_single_label:
            are = "is" if self.unlabelled == 1 else "are"
            left_out = f"; {self._describe_unlabelled()} and {are} left out" if self.unlabelled else ""
            return f"{different:,} categories, one label for each document{left_out}"
        parts = [f"{different:,} categories, {self.labels / max(self.used, 1):.2f} labels per document"]
        if self.several:
            parts.append(f"{self.several:,} documents have several (first: {self.first_several})")
        if self.unlabelled:
            parts.append(self._describe_unlabelled())
        return "; ".join(parts)

    def _describe_unlabelled(self) -> str:
        have = "document has" if self.unlabelled == 1 else "documents have"
        return f"{self.unlabelled:,} {have} none (first: {self.first_unlabelled})"
