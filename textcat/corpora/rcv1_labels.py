"""RCV1-v2's label files (qrels), its topic hierarchy, and its splits, which are facts of document numbers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from textcat.corpora.document import Split
from textcat.corpora.text_files import line_blocks
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

LABELS = ("topics", "industries", "regions")
SPLITS = ("lyrl2004", "swapped", "lyrl2004-sample")
LAST_TRAINING_NUMBER = 26150
# genkin_2004 section 5.2.2: a fixed random sample of 77,993 of the 781,265 test documents.
SAMPLE_SIZE = 77_993
TEST_SIZE = 781_265
_LONGEST_NUMBER = 9


@dataclass(frozen=True)
class Topic:
    """One topic of the hierarchy, with its documents in the whole collection and in LYRL2004 training."""

    code: str
    parent: str
    name: str
    documents: int
    training_documents: int


@cache
def topics() -> tuple[Topic, ...]:
    """The 103 topics that occur in RCV1-v2, in alphabetical order of their codes."""
    text = (files("textcat.corpora") / "lists" / "rcv1_topics.csv").read_text(encoding="utf-8")
    return tuple(
        Topic(row["topic"], row["parent"], row["name"], int(row["documents"]), int(row["training_documents"]))
        for row in csv.DictReader(text.splitlines())
    )


def read_qrels(path: Path) -> dict[str, tuple[str, ...]]:
    """Labels by document number, from lines LABEL NUMBER 1; equal label sets share one tuple."""
    found: dict[str, tuple[str, ...]] = {}
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    line = 1
    for block in line_blocks(path):
        lines = block.count("\n") + (not block.endswith("\n"))
        words = block.split()
        numbers = words[1::3]
        if len(words) != 3 * lines or words[2::3].count("1") != lines or not all(map(_is_number, numbers)):
            raise _first_bad_line(block, path, line)
        for number, pairs in groupby(zip(numbers, words[0::3], strict=True), itemgetter(0)):
            labels = (*found.get(number, ()), *(label for _, label in pairs))
            found[number] = shared.setdefault(labels, labels)
        line += lines
    return found


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and text.isdecimal()


def _first_bad_line(block: str, path: Path, first: int) -> BadDataError:
    for line, text in enumerate(block.split("\n"), first):
        parts = text.split()
        if len(parts) != 3 or parts[2] != "1" or not _is_number(parts[1]):
            return BadDataError(
                "not a line LABEL NUMBER 1",
                where=f"{path}:{line}",
                hint="Mend the file, or fetch the collection again.",
            )
    return BadDataError(
        "not lines LABEL NUMBER 1",
        where=f"{path}:{first}",
        hint="Mend the file, or fetch the collection again.",
    )


def find_qrels(folder: Path, labels: str) -> Path:
    """The qrels file of one kind of labels in a folder."""
    if labels not in LABELS:
        raise UsageError(f"RCV1-v2 has no labels {labels!r}", hint=f"Choose of {', '.join(LABELS)}.")
    found = sorted(folder.glob(f"rcv1-v2.{labels}.qrels*"))
    if not found:
        raise DataNotAvailableError(
            f"no file rcv1-v2.{labels}.qrels.gz",
            where=str(folder),
            hint="Put it there, or fetch the collection with --from FOLDER.",
        )
    return found[0]


class Sides:
    """The side of each document number in one of the collection's splits.

    `lyrl2004-sample` keeps a random part of the test documents, of the same share as 77,993 of 781,265,
    chosen by seed from the numbers in ascending order; the others are unused. `swapped` (zhang_jin_2003)
    exchanges the sides.
    """

    def __init__(self, split: str, numbers: Sequence[str], seed: int) -> None:
        if split not in SPLITS:
            raise UsageError(f"RCV1-v2 has no split {split!r}", hint=f"Choose of {', '.join(SPLITS)}.")
        self.split = split
        self.sample: frozenset[int] = frozenset()
        if split == "lyrl2004-sample":
            tests = np.sort([int(number) for number in numbers if int(number) > LAST_TRAINING_NUMBER])
            size = round(len(tests) * SAMPLE_SIZE / TEST_SIZE)
            chosen = np.random.default_rng(seed).choice(tests, size, replace=False)
            self.sample = frozenset(chosen.tolist())

    def of(self, number: str) -> Split:
        """The side of one document."""
        first = int(number) <= LAST_TRAINING_NUMBER
        if self.split == "swapped":
            return "test" if first else "train"
        if self.split == "lyrl2004-sample" and not first and int(number) not in self.sample:
            return "unused"
        return "train" if first else "test"
