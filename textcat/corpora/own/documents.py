"""A user's own documents: CSV, TSV, JSON Lines, a folder for each class; problems meet a stated policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast, get_args

from textcat.corpora.document import Document, Split
from textcat.corpora.document_tree import DocumentTree
from textcat.corpora.manifest import combine_hashes, hash_file
from textcat.corpora.own.folders import list_folder_documents, read_folder_rows
from textcat.corpora.own.tables import Problems, TableRow, read_json_rows, read_table_rows
from textcat.corpora.splits import CategoryCounts, count_categories, side_named
from textcat.errors import UsageError
from textcat.splits import draw_training_mask

TABLES = ("csv", "tsv", "jsonl")


class OwnDocuments:
    """Documents of one table, or of one folder with a folder for each class.

    `text` names the columns with text, `label` the one with labels (separated by `label_separator`; JSON lists
    are taken as they are), `id` and `side` the optional ones with the id and with a word of lists/side_words.yaml.
    Validation documents become train, test or unused ones, as `validation` says. Without `side`, training and
    test documents are drawn at random by `seed`, the training set `ratio` times the test set; `ratio=None` makes
    all documents training ones. `categories` closes the list of labels. With folders, `side` says that there is
    one of each side above those of the classes, and `same_name="one"` that files of one name in several classes
    are one document. `policy` is of `textcat.corpora.own.tables`; after a pass over `documents`, `problems` holds
    what was met.
    """

    def __init__(
        self,
        kind: str,
        path: Path,
        *,
        text: str | Sequence[str] = "text",
        label: str = "label",
        id: str | None = None,  # noqa: A002 - the column's name in experiment files
        side: str | None = None,
        validation: str = "unused",
        label_separator: str | None = ",",
        encoding: str = "utf-8",
        categories: Sequence[str] | None = None,
        ratio: float | None = 4,
        seed: int = 0,
        policy: Mapping[str, str] | None = None,
        same_name: str = "apart",
    ) -> None:
        _check_encoding(encoding)
        if validation not in get_args(Split):
            hint = f"Choose of {', '.join(get_args(Split))}."
            raise UsageError(f"validation cannot be {validation!r}", hint=hint)
        Problems.with_policy(policy)
        self.name = kind
        self.path = path
        self.text = (text,) if isinstance(text, str) else tuple(text)
        self.label = label
        self.id = id
        # What says the side of a file are the folders, under the name that they give it in a row.
        self.side = "side" if kind == "folders" and side is not None else side
        self.validation = cast(Split, validation)
        self.same_name = same_name
        self.label_separator = label_separator
        self.encoding = encoding
        self.closed = None if categories is None else tuple(categories)
        self.ratio = ratio
        self.seed = seed
        self.policy = policy
        self.problems = Problems.with_policy(policy)

    def documents(self) -> Iterator[Document]:
        """The documents in the order of the file; what the policy leaves out does not appear."""
        self.problems = Problems.with_policy(self.policy)
        sides = self._random_sides
        for number, (_, document) in enumerate(self._read(self.problems)):
            yield replace(document, split=sides[number]) if sides else document

    def documents_with_places(self) -> Iterator[tuple[str, Document]]:
        """Yield each document with its file and line; without `side`, all are training documents."""
        self.problems = Problems.with_policy(self.policy)
        yield from self._read(self.problems)

    @cached_property
    def _random_sides(self) -> list[Split] | None:
        if self.side is not None or self.ratio is None:
            return None
        return self.draw_sides(sum(1 for _ in self._read(Problems.with_policy(self.policy))))

    def _read(self, problems: Problems) -> Iterator[tuple[str, Document]]:
        seen: set[str] = set()
        rows = self._read_folder_rows(problems) if self.name == "folders" else self._read_table_rows(problems)
        for number, row in enumerate(rows, 1):
            document = self._make_document(row, number, problems)
            if document is not None:
                document = self._ensure_unique_id(document, row, seen, problems)
            if document is not None:
                seen.add(document.id)
                yield row.where, document

    def _read_table_rows(self, problems: Problems) -> Iterator[TableRow]:
        if self.name == "jsonl":
            return read_json_rows(self.path, self.encoding, problems)
        return read_table_rows(self.path, self.encoding, "\t" if self.name == "tsv" else ",", problems)

    def _read_folder_rows(self, problems: Problems) -> Iterator[TableRow]:
        tree = DocumentTree(self.path)
        documents = list_folder_documents(tree, sided=self.side is not None, same_name=self.same_name)
        return read_folder_rows(tree, documents, self.text[0], self.label, self.encoding, problems)

    def _make_document(self, row: TableRow, number: int, problems: Problems) -> Document | None:
        values = row.values
        for column in (*self.text, self.label, *filter(None, (self.id, self.side))):
            if values.get(column) is None:
                problems.report("missing", f"there is no {column!r}", row.where)
                return None
        side = self._assign_side(row, problems)
        if side is None:
            return None
        fields = {column: str(values[column]) for column in self.text}
        empty = not any(text.strip() for text in fields.values())
        if empty and problems.report("empty", "the document has no text", row.where) == "skip":
            return None
        labels = self._labels(values[self.label], row.where, problems)
        if labels is None:
            return None
        own_id = values.get(self.id if self.id is not None else "id")
        return Document(str(number if own_id is None else own_id), fields, labels, side, row.where)

    def _labels(self, value: Any, where: str, problems: Problems) -> tuple[str, ...] | None:
        if isinstance(value, list):
            parts = [str(each) for each in value]
        else:
            text = str(value)
            parts = [text] if self.label_separator is None else text.split(self.label_separator)
        found = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if self.closed is not None:
            for label in [each for each in found if each not in self.closed]:
                if problems.report("unknown-label", f"label {label!r} is not a category", where) == "skip":
                    return None
                found.remove(label)
        return tuple(found)

    def _assign_side(self, row: TableRow, problems: Problems) -> Split | None:
        if self.side is None:
            return "train"
        word = str(row.values[self.side])
        side = side_named(word)
        if side is None:
            what = f"{word.strip()!r} is neither train, test, validation nor unused"
            problems.report("unknown-side", what, row.where)
            return None
        return self.validation if side == "validation" else cast(Split, side)

    def _ensure_unique_id(
        self, document: Document, row: TableRow, seen: set[str], problems: Problems
    ) -> Document | None:
        if document.id not in seen:
            return document
        what = f"an earlier document has the id {document.id!r}"
        if problems.report("duplicate-id", what, row.where) == "skip":
            return None
        number = 2
        while f"{document.id}#{number}" in seen:
            number += 1
        return replace(document, id=f"{document.id}#{number}")

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The stated categories in their order, or else the labels that occur, in alphabetical order."""
        if self.closed is not None:
            return self.closed
        return count_categories(self.documents()).in_train_or_test()

    def fingerprint(self) -> str:
        """The sha256 of the contents of the table or of all files."""
        if self.name == "folders":
            return DocumentTree(self.path).fingerprint()
        return combine_hashes([(self.name, hash_file(self.path))])

    def stream(self) -> Iterator[Document]:
        """Yield the documents in one pass; where sides are drawn at random, `draw_sides` gives them afterwards."""
        self.problems = Problems.with_policy(self.policy)
        for _, document in self._read(self.problems):
            yield document

    def draw_sides(self, documents: int) -> list[Split] | None:
        """Return the side of each document, or None where the documents have sides of their own."""
        if self.side is not None or self.ratio is None:
            return None
        training = draw_training_mask(documents, seed=self.seed, ratio=self.ratio)
        return ["train" if chosen else "test" for chosen in training]

    def list_categories(self, counts: CategoryCounts) -> tuple[str, ...]:
        """Return the categories, given the labels counted in a pass over the documents."""
        return counts.in_train_or_test() if self.closed is None else self.closed


def _check_encoding(encoding: str) -> None:
    try:
        newline = "\n".encode(encoding)
    except LookupError as problem:
        raise UsageError(f"there is no encoding {encoding!r}", hint="Such as utf-8 or latin-1.") from problem
    if newline != b"\n":
        raise UsageError(f"files in {encoding} are not read", hint="Convert them to utf-8.")
