"""OHSUMED: 348,566 MEDLINE references of 1987 to 1991, labelled with MeSH heart-disease headings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import yaml

from textcat.corpora.document import Document, Split
from textcat.corpora.manifest import fingerprint_of
from textcat.corpora.medline import MedlineRecord, medline_records
from textcat.corpora.splits import category_counts
from textcat.errors import DataNotAvailableError, UsageError

LAST_TRAINING_YEAR = 1988


class Ohsumed:
    """Training documents are of 1987 and 1988, test documents of 1989 to 1991.

    References that lack a title, an abstract or MeSH headings are unused, as in genkin_2004 section 5.2.3,
    unless `complete_only` is off. The categories are the headings of the list that have at least `min_train`
    training documents; `categories_file`, one heading a line, replaces the list.
    """

    name = "ohsumed"

    def __init__(
        self,
        folder: Path,
        *,
        split: str = "1987-88",
        complete_only: bool = True,
        min_train: int = 15,
        categories_file: str | Path | None = None,
    ) -> None:
        if split != "1987-88":
            raise UsageError(f"OHSUMED has no split {split!r}", hint="Its split is called 1987-88.")
        self.folder = folder
        self.complete_only = complete_only
        self.min_train = min_train
        self.headings = heart_diseases() if categories_file is None else _read_list(Path(categories_file))
        self.files = sorted(folder.glob("ohsumed.*"))
        if not self.files:
            raise DataNotAvailableError(
                "no file ohsumed.87 to ohsumed.91",
                where=str(folder),
                hint="Run `textcat fetch ohsumed`.",
            )

    def records(self) -> Iterator[MedlineRecord]:
        """Every reference, file by file in the order of their names."""
        for path in self.files:
            yield from medline_records(path)

    def documents(self) -> Iterator[Document]:
        """Title and abstract; the labels are the listed headings."""
        listed = self.headings
        for record in self.records():
            labels = tuple(heading for heading in record.mesh if heading in listed)
            fields = {"title": record.title, "body": record.abstract}
            yield Document(record.number, fields, labels, self._side(record))

    def _side(self, record: MedlineRecord) -> Split:
        if self.complete_only and not (record.title and record.abstract and record.mesh):
            return "unused"
        return "train" if record.year <= LAST_TRAINING_YEAR else "test"

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Listed headings of at least `min_train` training documents, in alphabetical order."""
        return category_counts(self.documents()).with_at_least(self.min_train)

    def fingerprint(self) -> str:
        """The sha256 over the names and contents of the files that are read."""
        return fingerprint_of(self.folder, self.files)


def heart_diseases() -> frozenset[str]:
    """The heart-disease headings of the project's list."""
    text = (files("textcat.corpora") / "lists" / "mesh_heart_diseases.yaml").read_text(encoding="utf-8")
    return frozenset(yaml.safe_load(text)["headings"])


def _read_list(path: Path) -> frozenset[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise UsageError(
            f"the list of categories cannot be read: {problem}",
            where=str(path),
            hint="Name a text file with a category a line.",
        ) from problem
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def count(folder: Path) -> dict[str, int]:
    """The counts that the collection's table pins."""
    corpus = Ohsumed(folder)
    found = Counter(corpus._side(record) for record in corpus.records())
    return {
        "documents": found.total(),
        "complete documents": found["train"] + found["test"],
        "1987-88 train": found["train"],
        "1987-88 test": found["test"],
    }
