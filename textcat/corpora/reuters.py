"""Reuters-21578, Distribution 1.0, with its three documented splits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.document import Document, Split
from textcat.corpora.manifest import fingerprint_of
from textcat.corpora.reuters_records import LISTS, ReutersRecord, json_records, sgml_records
from textcat.corpora.splits import category_counts
from textcat.errors import DataNotAvailableError, UsageError

UNPROCESSED = ("body", "dropped")
SPLITS = ("modapte", "modlewis", "modhayes")


def side_of(record: ReutersRecord, split: str) -> Split:
    """The side of a record, by the attributes that the collection's README names for each split."""
    if split == "modhayes":
        return "test" if record.cgi_split == "PUBLISHED-TESTSET" else "train"
    accepted = ("YES",) if split == "modapte" else ("YES", "NO")
    if record.topics_mark not in accepted:
        return "unused"
    if record.lewis_split == "TRAIN":
        return "train"
    return "test" if record.lewis_split == "TEST" else "unused"


class Reuters21578:
    """The collection read from its SGML files or, where those are absent, from the JSON files."""

    name = "reuters21578"

    def __init__(
        self, folder: Path, *, split: str = "modapte", labels: str = "topics", unprocessed: str = "body"
    ) -> None:
        if split not in SPLITS:
            raise UsageError(f"Reuters-21578 has no split {split!r}", hint=f"Choose of {', '.join(SPLITS)}.")
        if labels not in LISTS:
            raise UsageError(f"Reuters-21578 has no labels {labels!r}", hint=f"Choose of {', '.join(LISTS)}.")
        if unprocessed not in UNPROCESSED:
            raise UsageError(
                f"text outside the elements cannot go to {unprocessed!r}",
                hint=f"Choose of {', '.join(UNPROCESSED)}.",
            )
        self.folder = folder
        self.split = split
        self.labels = labels
        self.unprocessed = unprocessed
        self.files = self._find_files()

    def _find_files(self) -> list[Path]:
        found = sorted(self.folder.glob("reut2-*.sgm")) or sorted(self.folder.glob("reuters-*.json"))
        if not found:
            raise DataNotAvailableError(
                "no reut2-*.sgm and no reuters-*.json file",
                where=str(self.folder),
                hint="Run `textcat fetch reuters21578`.",
            )
        return found

    def records(self) -> Iterator[ReutersRecord]:
        """Every record with all that the source says of it, in document-number order."""
        for path in self.files:
            yield from sgml_records(path) if path.suffix == ".sgm" else json_records(path)

    def documents(self) -> Iterator[Document]:
        """Title, author, dateline and body; the text of an UNPROC record, which has no elements, is its body.

        With `unprocessed="dropped"` such a record has no text, as for readers that look at the elements alone.
        """
        for record in self.records():
            whole = record.text_type == "UNPROC" and self.unprocessed == "body"
            body = record.outside if whole else record.body
            yield Document(
                str(record.number),
                {
                    "title": record.title,
                    "author": record.author,
                    "dateline": record.dateline,
                    "body": body,
                },
                # A few records repeat a label; a document has it once.
                tuple(dict.fromkeys(record.lists.get(self.labels, ()))),
                side_of(record, self.split),
            )

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The labels of training or test documents, in alphabetical order (118 topics with ModApte)."""
        return category_counts(self.documents()).in_train_or_test()

    def fingerprint(self) -> str:
        """The sha256 over the names and contents of the files that are read."""
        return fingerprint_of(self.folder, self.files)


def count(folder: Path) -> dict[str, int]:
    """The counts that the collection's table pins."""
    corpus = Reuters21578(folder)
    documents = list(corpus.documents())
    found = category_counts(documents)
    both = set(found.in_both())
    counts = {
        "documents": len(documents),
        "topics in train or test": len(found.in_train_or_test()),
        "topics in train": len(found.in_train()),
        "topics in test": len(found.in_test()),
        "topics in both": len(both),
    }
    for side in ("train", "test"):
        chosen = [document for document in documents if document.split == side]
        counts[f"modapte {side}"] = len(chosen)
        counts[f"modapte {side} with one of the topics in both"] = sum(
            not both.isdisjoint(document.labels) for document in chosen
        )
    return counts
