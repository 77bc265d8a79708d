"""Read a user's own documents: tables, or a folder for each class.

Folders of classes may be in folders of training and test documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, cast

from textcat.corpora.cards import combine_hashes
from textcat.corpora.collection_files import DocumentTree
from textcat.corpora.document import (
    CategoryCounts,
    CountingCorpus,
    Document,
    Split,
    count_categories,
    find_side_by_name,
)
from textcat.corpora.markup import extract_text, extract_title
from textcat.corpora.own.formats import choose_file_encoding
from textcat.corpora.own.problems import Problems
from textcat.corpora.own.tables import (
    TableFormat,
    TableRow,
    choose_codec,
    is_missing,
    parse_flag,
    parse_list,
    read_table_file,
    to_text,
)
from textcat.errors import BadDataError, UsageError
from textcat.splits import digest_text, draw_training_mask, number_equal_texts
from textcat.store.files import hash_file
from textcat.yaml_reader import find_near_names

# How the id of a document begins whose text is the name of its label.
LABEL_NAME = "name of label "


# The option `encoding` for folders whose files have different encodings.
EACH_FILE = "each-file"


class FolderDocument(NamedTuple):
    """One document: the files that hold it, its labels, and its side (or the folder's name if that is no side)."""

    files: tuple[str, ...]
    labels: tuple[str, ...]
    side: str


def list_folder_documents(tree: DocumentTree, *, sided: bool, same_name: str) -> list[FolderDocument]:
    """Return the documents of a tree, in the order of their first files.

    sided: the first level of folders are sides and the second are classes.
    same_name: with "one", files of one name in several classes are one document with all these labels.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name in tree.names:
        parts = name.split("/")
        if len(parts) < 2 + sided:
            continue
        side = (find_side_by_name(parts[0]) or parts[0]) if sided else ""
        own = "/".join(parts[1 + sided :]) if same_name == "one" else name
        found.setdefault((side, own), []).append(name)
    return [
        FolderDocument(
            tuple(names), tuple(dict.fromkeys(name.split("/")[int(sided)] for name in names)), side
        )
        for (side, _), names in found.items()
    ]


def read_folder_rows(
    tree: DocumentTree,
    documents: Sequence[FolderDocument],
    text: str,
    label: str,
    encoding: str,
    problems: Problems,
) -> Iterator[TableRow]:
    """Yield a row for each document; raise BadDataError if the files of one document differ."""
    contents = tree.contents([name for document in documents for name in document.files])
    for document in documents:
        first, *others = (next(contents) for _ in document.files)
        name = document.files[0]
        if any(other != first for other in others):
            raise BadDataError(
                f"the files {', '.join(document.files)} differ",
                where=str(tree.folder),
                hint="Remove `same_name: one`: they are different documents.",
            )
        read = read_text(first, f"{tree.folder}/{name}", encoding, problems, page=is_html(name))
        if read is not None:
            values = {"id": name, text: read, label: list(document.labels), "side": document.side}
            yield TableRow(f"{tree.folder}/{name}", values)


def is_html(name: str) -> bool:
    """Return whether a file is read as an HTML page, without its markup."""
    return name.lower().endswith((".html", ".htm"))


def read_text(content: bytes, where: str, encoding: str, problems: Problems, *, page: bool) -> str | None:
    """Return the text of a file that is one document, of a page its title and visible text; None to skip it."""
    read = _decode(content, where, encoding, problems)
    return f"{extract_title(read)}\n{extract_text(read)}".strip() if page and read is not None else read


def _decode(content: bytes, where: str, encoding: str, problems: Problems) -> str | None:
    encoding = choose_file_encoding(content) if encoding == EACH_FILE else encoding
    codec = choose_codec(encoding)
    if codec != "utf-8-sig" and not content.isascii() and choose_file_encoding(content) == "utf-8":
        what = f"the file is utf-8, not {encoding}: set `encoding: {EACH_FILE}`"
        return (
            None if problems.report("encoding", what, where) == "skip" else content.decode(codec, "replace")
        )
    try:
        return content.decode(codec)
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        if problems.report("encoding", f"a byte is not {encoding}", f"{where}:{line}") == "skip":
            return None
        return content.decode(codec, errors="replace")


class OwnDocuments(CountingCorpus):
    """Documents of one table, or of one folder with a folder for each class.

    The registry describes and checks the options. Words of sides are in
    lists/side_words.yaml. `problems` holds the problems that the last pass over `documents` met.
    """

    def __init__(
        self,
        kind: str,
        path: Path,
        *,
        text: str | Sequence[str] = "text",
        label: str | Sequence[str] = "label",
        id: str | None = None,  # noqa: A002 - the column's name in experiment files
        side: str | None = None,
        test: str | None = None,
        validation: Split = "unused",
        label_separator: str | None = ",",
        encoding: str = "utf-8",
        categories: Sequence[str] | None = None,
        ratio: float | None = 4,
        seed: int = 0,
        policy: Mapping[str, str] | None = None,
        same_name: str = "apart",
        label_names: bool = False,
    ) -> None:
        if test is not None and (side is not None or kind == "folders"):
            other = "options.side" if side is not None else "folders of sides"
            raise UsageError(f"options.test cannot be combined with {other}", hint="Name one of the two.")
        if encoding == EACH_FILE and kind != "folders":
            raise UsageError(f"`encoding: {EACH_FILE}` is for folders", hint="Name one encoding.")
        self.name = kind
        self.path = path
        self.text = (text,) if isinstance(text, str) else tuple(text)
        self.label = (label,) if isinstance(label, str) else tuple(label)
        self.id = id
        # Rows of folders have their side in a column of this name.
        self.side = "side" if kind == "folders" and side is not None else side
        self.paths = (path,) if test is None else (path, path.parent / test)
        self.validation = validation
        self.same_name = same_name
        self.label_names = label_names
        self._named = 0
        self._texts: list[bytes] = []
        self.label_separator = label_separator
        self.encoding = encoding
        self.closed = None if categories is None else tuple(categories)
        self.ratio = ratio
        self.seed = seed
        self.policy = policy
        self.problems = Problems.with_policy(policy)

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file, without those that the policy skips."""
        sides = self._random_sides
        for number, document in enumerate(self.stream()):
            yield replace(document, split=sides[number]) if sides else document

    @cached_property
    def _random_sides(self) -> list[Split] | None:
        if not self._is_drawn:
            return None
        return self.draw_sides(sum(1 for _ in self._read(Problems.with_policy(self.policy))))

    @property
    def _is_drawn(self) -> bool:
        return self.side is None and len(self.paths) == 1 and self.ratio is not None

    def _read(self, problems: Problems) -> Iterator[Document]:
        """Yield the documents; without `side`, all are training documents."""
        seen: set[str] = set()
        labels: list[tuple[str, ...]] = []
        texts: list[bytes] = []
        for number, (row, side) in enumerate(self._read_rows(problems), 1):
            # Spreadsheets write rows without any value after the last one.
            if self.name in ("csv", "tsv") and not any(value.strip() for value in row.values.values()):
                continue
            document = self._make_document(row, number, side, problems)
            if document is not None:
                document = self._ensure_unique_id(document, seen, problems)
            if document is not None:
                seen.add(document.id)
                if self._is_drawn:
                    # Documents without text differ by their ids.
                    known = any(document.fields.values())
                    texts.append(digest_text(*document.fields.values()) if known else document.id.encode())
                if self.label_names:
                    labels.append(document.labels if document.split == "train" else ())
                yield document
        self._texts = texts
        if self.label_names:
            self._named = 0
            sides = self.draw_sides(len(labels)) or ["train"] * len(labels)
            learned = {
                name for own, side in zip(labels, sides, strict=True) if side == "train" for name in own
            }
            self._named = len(learned)
            yield from map(self._make_label_document, sorted(learned))

    def _make_label_document(self, label: str) -> Document:
        """Return a training document whose text is the name of its label."""
        fields = dict.fromkeys(self.text, "") | {self.text[0]: split_name(label)}
        return Document(f"{LABEL_NAME}{label}", fields, (label,), "train", f"label {label!r}")

    def _read_rows(self, problems: Problems) -> Iterator[tuple[TableRow, Split]]:
        """Yield each row and the side of its file."""
        if self.name != "folders":
            sides: tuple[Split, Split] = ("train", "test")
            for path, side in zip(self.paths, sides, strict=False):
                form = cast(TableFormat, self.name)
                yield from ((row, side) for row in read_table_file(path, form, self.encoding, problems))
            return
        tree = DocumentTree(self.path)
        documents = list_folder_documents(tree, sided=self.side is not None, same_name=self.same_name)
        rows = read_folder_rows(tree, documents, self.text[0], self.label[0], self.encoding, problems)
        yield from ((row, "train") for row in rows)

    def _make_document(self, row: TableRow, number: int, side: Split, problems: Problems) -> Document | None:
        values = row.values
        for column in (*self.text, *self.label, *filter(None, (self.id, self.side))):
            if values.get(column) is None and not self._can_be_empty(column, values, problems):
                self._report_missing(column, row, problems)
                return None
        assigned = side if self.side is None else self._assign_side(row, problems)
        if assigned is None:
            return None
        fields = {
            column: "" if values.get(column) is None else to_text(values[column]) for column in self.text
        }
        empty = not any(text.strip() for text in fields.values())
        if empty and problems.report("empty", "the document has no text", row.where) == "skip":
            return None
        labels = self._read_labels(row, problems)
        if labels is None:
            return None
        own_id = values.get(self.id if self.id is not None else "id")
        return Document(str(number if own_id in (None, "") else own_id), fields, labels, assigned, row.where)

    def _can_be_empty(self, column: str, values: Mapping[str, Any], problems: Problems) -> bool:
        """Return whether a missing value is an empty text: where such documents are skipped, those with no text are."""
        others = [each for each in self.text if values.get(each) is not None]
        return column in self.text and bool(others) and problems.policy["missing"] == "skip"

    def _report_missing(self, column: str, row: TableRow, problems: Problems) -> None:
        """Report a row without a value; where the table has no such column, name those that it has."""
        if column in row.values or self.name == "jsonl":
            known = ", ".join(map(str, row.values)) if column not in row.values else ""
            has = f" (it has {known})" if known else ""
            problems.report("missing", f"no column {column!r}{has}", row.where)
            return
        columns = [str(name) for name in row.values]
        near = find_near_names(column, columns, most=1)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        options = {"text": self.text, "label": self.label, "id": (self.id,), "side": (self.side,)}
        option = next(name for name, named in options.items() if column in named)
        hint = f"{meant}Name one of them as `{option}` in `corpus.options`."
        problems.report(
            "missing", f"no column {column!r}; the columns are {', '.join(columns)}", row.where, hint
        )

    def _read_labels(self, row: TableRow, problems: Problems) -> tuple[str, ...] | None:
        """Return the labels; None if the document is skipped."""
        value = parse_list(row.values[self.label[0]])
        marks = {column: row.values[column] for column in self.label} if len(self.label) > 1 else value
        if isinstance(marks, Mapping):
            flags = {str(column): parse_flag(mark) for column, mark in marks.items()}
            if unclear := [(column, mark) for column, mark in marks.items() if flags[str(column)] is None]:
                column, mark = unclear[0]
                what = f"{str(mark)!r} in column {column!r} is neither yes nor no"
                problems.report("malformed", what, row.where)
                return None
            parts = [column for column, flag in flags.items() if flag]
        elif isinstance(value, list):
            parts = list(map(str, _flatten(value)))
            if objects := [each for each in _flatten(value) if isinstance(each, Mapping)]:
                problems.report("malformed", f"the label {str(objects[0])[:80]} is an object", row.where)
                return None
        else:
            text = str(value)
            parts = [text] if self.label_separator is None else text.split(self.label_separator)
        found = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if self.closed is not None:
            for label in [each for each in found if each not in self.closed]:
                if (
                    problems.report("unknown-label", f"label {label!r} is not a category", row.where)
                    == "skip"
                ):
                    return None
                found.remove(label)
        return tuple(found)

    def _assign_side(self, row: TableRow, problems: Problems) -> Split | None:
        word = str(row.values[cast(str, self.side)])
        side = find_side_by_name(word)
        if side is None:
            what = f"{word.strip()!r} is neither train, test, validation nor unused"
            hint = "Fix it, name another column as `side`, or set the policy for unknown-side to skip."
            problems.report("unknown-side", what, row.where, hint)
            return None
        return self.validation if side == "validation" else cast(Split, side)

    def _ensure_unique_id(self, document: Document, seen: set[str], problems: Problems) -> Document | None:
        if document.id not in seen:
            return document
        what = f"an earlier document has the id {document.id!r}"
        if problems.report("duplicate-id", what, document.where) == "skip":
            return None
        number = 2
        while f"{document.id}#{number}" in seen:
            number += 1
        return replace(document, id=f"{document.id}#{number}")

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The stated categories in their order, or the labels of training and test documents, sorted."""
        if self.closed is not None:
            return self.closed
        return count_categories(self._read(Problems.with_policy(self.policy))).in_train_or_test()

    def fingerprint(self) -> str:
        """Return the sha256 of the contents of the table or of all files."""
        if self.name == "folders":
            tree = DocumentTree(self.path)
            own = tree.fingerprint()
            # Documents that were read with their markup have other contents.
            return combine_hashes([("", own), ("markup", "")]) if any(map(is_html, tree.names)) else own
        hashes = [(self.name, hash_file(path)) for path in self.paths[:1]]
        return combine_hashes([*hashes, *(("test", hash_file(path)) for path in self.paths[1:])])

    def stream(self) -> Iterator[Document]:
        """Yield the documents in one pass; where sides are drawn at random, `draw_sides` gives them afterwards."""
        self.problems = Problems.with_policy(self.policy)
        yield from self._read(self.problems)

    def draw_sides(self, documents: int) -> list[Split] | None:
        """Return the side of each document, or None where the documents have sides of their own.

        Documents of equal text are on one side.
        """
        if not self._is_drawn:
            return None
        own = documents - self._named
        groups = number_equal_texts(self._texts)
        training = draw_training_mask(own, seed=self.seed, ratio=cast(float, self.ratio), groups=groups)
        sides: list[Split] = ["train" if chosen else "test" for chosen in training]
        return sides + ["train"] * self._named

    def list_categories(self, counts: CategoryCounts) -> tuple[str, ...]:
        """Return the categories, given the labels counted in a pass over the documents."""
        return counts.in_train_or_test() if self.closed is None else self.closed


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values of a list and of the lists in it, without those that are missing."""
    for value in values:
        if isinstance(value, list):
            yield from _flatten(value)
        elif not is_missing(value):
            yield value


def count_label_documents(ids: Sequence[str]) -> int:
    """Return how many of the last documents are names of labels, for documents that were read with `label_names`."""
    return sum(1 for _ in takewhile(lambda each: each.startswith(LABEL_NAME), reversed(ids)))


def split_name(name: str) -> str:
    """Return the words of a name such as card_arrival, rec.sport.hockey or cardArrival."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip()
