"""OHSUMED: 348,566 MEDLINE references of 1987 to 1991, labelled with MeSH heart-disease headings.

OHSUMED-23 has 23 disease categories, split by Joachims: a folder for each in `training` and `test`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from textcat.corpora.cards import fingerprint_files
from textcat.corpora.collection_files import TreeCorpus, find_files, make_damage_error, read_smart_records
from textcat.corpora.document import CategoryCounts, CountingCorpus, Document, Split
from textcat.errors import BadDataError
from textcat.yaml_reader import read_packaged_yaml

_FIELD = re.compile(r"^\.([A-Z])[ \t]*\r?\n", re.MULTILINE)
_SOURCE_YEAR = re.compile(r"\b(\d\d)(?:0[0-9]|1[0-2]);")
_FILE_YEAR = re.compile(r"ohsumed\.(\d\d)(?:\.gz)?$")


@dataclass(frozen=True, slots=True)
class MedlineRecord:
    """One reference: its MEDLINE number, MeSH headings, title, abstract and year."""

    number: str
    mesh: tuple[str, ...]
    title: str
    abstract: str
    year: int


def read_medline_records(path: Path) -> Iterator[MedlineRecord]:
    """Yield the records of one file; the year is that of the file's name, or of the source."""
    named = _FILE_YEAR.search(path.name)
    file_year = 1900 + int(named[1]) if named else None
    for sequence, text in read_smart_records(path):
        pieces = _FIELD.split(text)
        fields = {name: value.strip() for name, value in zip(pieces[1::2], pieces[2::2], strict=True)}
        if not fields:
            continue
        if "U" not in fields:
            raise make_damage_error("the record has no MEDLINE number (.U)", f"{path}, record {sequence}")
        yield MedlineRecord(
            number=fields["U"],
            mesh=parse_headings(fields.get("M", "")),
            title=fields.get("T", ""),
            abstract=fields.get("W", ""),
            year=file_year or _find_year(fields.get("S", ""), fields["U"], path),
        )


def _find_year(source: str, number: str, path: Path) -> int:
    found = _SOURCE_YEAR.search(source)
    if found:
        return 1900 + int(found[1])
    if number[:2].isdecimal():
        return 1900 + int(number[:2])
    raise make_damage_error("the record has no year", f"{path}, record {number}")


def parse_headings(field: str) -> tuple[str, ...]:
    """Return the MeSH headings of an .M field, each once, without qualifiers and asterisks."""
    entries = field.strip().removesuffix(".").split(";")
    found = (entry.partition("/")[0].strip(" *\n") for entry in entries)
    return tuple(dict.fromkeys(each for each in found if each))


LAST_TRAINING_YEAR = 1988


class Ohsumed(CountingCorpus):
    """OHSUMED with training documents of 1987 and 1988 and test documents of 1989 to 1991.

    References without a title, an abstract or MeSH headings are unused (genkin_2004, section 5.2.3), unless
    `complete_only` is false.
    """

    name = "ohsumed"

    def __init__(
        self,
        folder: Path,
        *,
        complete_only: bool = True,
        min_train: int = 15,
        categories: Sequence[str] | None = None,
    ) -> None:
        self.folder = folder
        self.complete_only = complete_only
        self.min_train = min_train
        self.headings = load_heart_diseases() if categories is None else frozenset(categories)
        self.files = find_files(folder, "ohsumed.*")

    def records(self) -> Iterator[MedlineRecord]:
        """Yield every reference, file by file in the order of their names."""
        for path in self.files:
            yield from read_medline_records(path)

    def documents(self) -> Iterator[Document]:
        """Yield documents with fields title and body (the abstract), labelled with the listed headings."""
        listed = self.headings
        for record in self.records():
            labels = tuple(heading for heading in record.mesh if heading in listed)
            fields = {"title": record.title, "body": record.abstract}
            yield Document(record.number, fields, labels, self._assign_side(record))

    def _assign_side(self, record: MedlineRecord) -> Split:
        if self.complete_only and not (record.title and record.abstract and record.mesh):
            return "unused"
        return "train" if record.year <= LAST_TRAINING_YEAR else "test"

    def list_categories(self, counts: CategoryCounts) -> tuple[str, ...]:
        """Return the categories, given the labels counted in a pass over the documents."""
        return counts.with_at_least(self.min_train)

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of the files that are read."""
        return fingerprint_files(self.folder, self.files)


def load_heart_diseases() -> frozenset[str]:
    """Return the heart-disease headings of lists/mesh_heart_diseases.yaml."""
    return frozenset(read_packaged_yaml("corpora/lists/mesh_heart_diseases.yaml")["headings"])


def count_ohsumed(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Ohsumed(folder)
    found = Counter(corpus._assign_side(record) for record in corpus.records())
    return {
        "documents": found.total(),
        "complete documents": found["train"] + found["test"],
        "1987-88 train": found["train"],
        "1987-88 test": found["test"],
    }


_SIDE_OF_FOLDER: dict[str, Split] = {"training": "train", "test": "test"}


class Ohsumed23(TreeCorpus):
    """One document for each abstract; a document in the folders of several categories has all their labels."""

    name = "ohsumed-23"

    @cached_property
    def _labels(self) -> dict[tuple[str, str], list[str]]:
        """The categories of each document, by (folder of the side, number)."""
        found: dict[tuple[str, str], list[str]] = {}
        for name in self.tree.names:
            if name.count("/") == 2:
                side, category, number = name.split("/")
                found.setdefault((side, number), []).append(category)
        if unknown := {side for side, _ in found} - set(_SIDE_OF_FOLDER):
            raise BadDataError(
                f"{min(unknown)!r} is neither training nor test",
                where=str(self.tree.folder),
                hint="Keep only the folders training and test of the collection.",
            )
        return found

    def documents(self) -> Iterator[Document]:
        """Yield the abstracts by number, training before test; the first line is the title."""
        ordered = sorted(self._labels.items(), key=lambda each: (each[0][0] == "test", each[0][1]))
        names = (f"{side}/{labels[0]}/{number}" for (side, number), labels in ordered)
        for ((side, number), labels), text in zip(ordered, self.tree.texts(names), strict=True):
            title, _, body = text.partition("\n")
            yield Document(number, {"title": title, "body": body}, tuple(labels), _SIDE_OF_FOLDER[side])

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories C01 to C23, in order."""
        return tuple(sorted({label for labels in self._labels.values() for label in labels}))


def count_ohsumed23(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Ohsumed23(folder)
    counts = {"categories": len(corpus.categories)}
    for side, split in _SIDE_OF_FOLDER.items():
        chosen = [labels for (each, _), labels in corpus._labels.items() if each == side]
        counts[f"{split} documents"] = len(chosen)
        counts[f"{split} labels"] = sum(map(len, chosen))
    return counts
