"""Inspect a user's own documents: format, columns, split and labels, read from all of them without keeping them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textcat.corpora.document_tree import DocumentTree
from textcat.corpora.own.columns import ColumnGuess, TableSummary, guess_columns, summarize_columns
from textcat.corpora.own.documents import OwnDocuments
from textcat.corpora.own.folders import FolderDocument, list_folder_documents
from textcat.corpora.own.formats import detect_encoding, detect_format, is_split, likeliest_encoding
from textcat.corpora.own.tables import Problems, read_json_rows, read_table_rows
from textcat.corpora.splits import side_named
from textcat.corpora.vector_files import read_vector_lines
from textcat.errors import BadDataError, UsageError

_LENIENT = {"malformed": "skip", "encoding": "replace"}
_RATIO = 4
MANY_LABELS = 50


@dataclass(frozen=True)
class Inspection:
    """What an experiment file must say of the documents, and a report for a person, line by line."""

    kind: str
    text: tuple[str, ...]
    options: Mapping[str, Any]
    single_label: bool
    report: Sequence[str]
    documents: int
    weighted: bool = field(default=False)
    categories: int = 0

    @property
    def many_labels(self) -> bool:
        """Whether documents have several of so many labels that their ranking is measured."""
        return not self.single_label and self.categories > MANY_LABELS


@dataclass
class LabelCounts:
    """Documents counted by side, and the labels of training and test documents."""

    sides: Counter[str] = field(default_factory=Counter)
    categories: dict[str, set[str]] = field(default_factory=lambda: {"train": set(), "test": set()})
    labels: int = 0
    several: int = 0
    first_several: str = ""
    unlabelled: int = 0
    first_unlabelled: str = ""

    def add(self, where: str, labels: Sequence[str], side: str) -> None:
        """Count one document; of unused ones only their number counts."""
        self.sides[side] += 1
        if side == "unused":
            return
        self.categories[side].update(labels)
        self.labels += len(labels)
        if len(labels) > 1:
            self.several += 1
            self.first_several = self.first_several or where
        elif not labels:
            self.unlabelled += 1
            self.first_unlabelled = self.first_unlabelled or where

    @property
    def used(self) -> int:
        """How many documents are training or test documents."""
        return self.sides["train"] + self.sides["test"]

    @property
    def is_single_label(self) -> bool:
        """Whether each training and test document has exactly one label."""
        return self.used > 0 and not self.several and not self.unlabelled

    @property
    def number_of_categories(self) -> int:
        """How many labels occur in training and test documents."""
        return len(self.categories["train"] | self.categories["test"])

    def report(self) -> str:
        """Say how many categories there are and how many labels a document has."""
        different = self.number_of_categories
        if self.is_single_label:
            return f"{different:,} categories, one label a document"
        said = [f"{different:,} categories, {self.labels / max(self.used, 1):.2f} labels a document"]
        if self.several:
            said.append(f"{self.several:,} documents have several (first: {self.first_several})")
        if self.unlabelled:
            said.append(f"{self.unlabelled:,} documents have none (first: {self.first_unlabelled})")
        return "; ".join(said)


def _make_inspection(
    kind: str,
    text: tuple[str, ...],
    options: Mapping[str, Any],
    counts: LabelCounts,
    report: Sequence[str],
    *,
    weighted: bool = False,
) -> Inspection:
    return Inspection(
        kind,
        text,
        options,
        counts.is_single_label,
        report,
        counts.sides.total(),
        weighted,
        counts.number_of_categories,
    )


def inspect_documents(path: Path) -> Inspection:
    """Read all documents and say what an experiment file must say of them."""
    kind = detect_format(path)
    if kind == "folders":
        return _inspect_folders(path)
    return _inspect_vectors(path) if kind == "svmlight" else _inspect_table(kind, path)


def _inspect_table(kind: str, path: Path) -> Inspection:
    encoding = detect_encoding(path)
    problems = Problems.with_policy(_LENIENT)
    table = _summarize_table(kind, path, encoding, problems)
    guess = guess_columns(table)
    if guess is None:
        names = ", ".join(repr(column.name) for column in table.columns) or "none"
        hint = "Give the first line names for the columns, such as text and label."
        raise UsageError(f"no column of text and one of labels among {names}", where=str(path), hint=hint)
    place, sides = (f"column {guess.side.column.name}", guess.side.rows) if guess.side else ("", {})
    options = _table_options(guess, encoding) | _validation_option(sides)
    if policy := _table_policy(guess, table, problems):
        options["policy"] = policy
    corpus = OwnDocuments(kind, path, ratio=None, **options)
    counts = _count_documents(corpus)
    report = [
        f"{kind}, {encoding}: {table.rows:,} rows",
        f"text: {', '.join(column.name for column in guess.text)}",
        f"labels: {guess.label.name}{_separated_by(guess.separator)}; {counts.report()}",
        f"ids: {_report_ids(guess, table)}",
        *(f"column {name} is not taken as the split: {why}" for name, why in guess.not_sides.items()),
        *_report_split(place, sides, counts, options),
        *corpus.problems.summary().splitlines(),
    ]
    text = tuple(column.name for column in guess.text)
    return _make_inspection(kind, text, options, counts, report)


def _summarize_table(kind: str, path: Path, encoding: str, problems: Problems) -> TableSummary:
    if kind == "jsonl":
        rows = read_json_rows(path, encoding, problems)
    else:
        rows = read_table_rows(path, encoding, "\t" if kind == "tsv" else ",", problems)
    table = summarize_columns(row.values for row in rows)
    if not table.rows:
        raise BadDataError("the file holds no documents", where=str(path), hint="Name a file with documents.")
    return table


def _table_options(guess: ColumnGuess, encoding: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "text": [column.name for column in guess.text],
        "label": guess.label.name,
        "label_separator": guess.separator,
    }
    if guess.id:
        options["id"] = guess.id.name
    if guess.side:
        options["side"] = guess.side.column.name
    return options if encoding == "utf-8" else options | {"encoding": encoding}


def _table_policy(guess: ColumnGuess, table: TableSummary, problems: Problems) -> dict[str, str]:
    """What must be skipped or renamed so that the documents can be read."""
    policy = {"malformed": "skip"} if problems.counts["malformed"] else {}
    needed = [*guess.text, guess.label, *([guess.side.column] if guess.side else [])]
    if any(column.present < table.rows for column in needed):
        policy["missing"] = "skip"
    if guess.side and guess.side.rows.get(None):
        policy["unknown-side"] = "skip"
    # A column `id` is read even where no option names it.
    if guess.id is None and any(column.name == "id" for column in table.columns):
        policy["duplicate-id"] = "rename"
    return policy


def _validation_option(rows: Mapping[str | None, int]) -> dict[str, str]:
    """Leave validation documents out, or test on them where there are no test documents."""
    if not rows.get("validation"):
        return {}
    return {"validation": "unused" if rows.get("test") else "test"}


def _count_documents(corpus: OwnDocuments) -> LabelCounts:
    """Count what a run of the experiment will read."""
    counts = LabelCounts()
    for where, document in corpus.documents_with_places():
        counts.add(where, document.labels, document.split)
    if not counts.used:
        hint = "Make sure that documents have text, labels and a side in one of the columns each."
        raise BadDataError("no document can be used", where=str(corpus.path), hint=hint)
    return counts


def _report_ids(guess: ColumnGuess, table: TableSummary) -> str:
    if guess.id:
        return guess.id.name
    if any(column.name == "id" for column in table.columns):
        return "column id repeats or lacks values; repeated ids get a number (policy: duplicate-id: rename)"
    return "the rows' numbers"


def _report_split(
    place: str, rows: Mapping[str | None, int], counts: LabelCounts, options: Mapping[str, Any]
) -> list[str]:
    """Say where the split comes from, how many documents each side has, and what was assumed."""
    if not place:
        tests = round(counts.used / (_RATIO + 1))
        return [
            f"split: no column or folder says it; drawn at random: {counts.used - tests:,} training and "
            f"{tests:,} test documents (ratio: {_RATIO})"
        ]
    report = [
        f"split: as {place} says; {counts.sides['train']:,} training, {counts.sides['test']:,} test and "
        f"{counts.sides['unused']:,} unused documents"
    ]
    use = options.get("validation")
    if use == "test":
        report.append(
            f"validation: there are no test documents; {rows['validation']:,} validation documents are tested on"
        )
    elif use:
        report.append(
            f"validation: {rows['validation']:,} documents are unused (`validation: train` learns from them too)"
        )
    if unseen := len(counts.categories["test"] - counts.categories["train"]):
        report.append(f"{unseen:,} categories of test documents have no training document")
    return report


def _separated_by(separator: str | None) -> str:
    if separator is None:
        return ""
    return ", separated by spaces" if separator == " " else f", separated by {separator}"


def _inspect_folders(path: Path) -> Inspection:
    tree = DocumentTree(path)
    sided = _has_sides(tree.names)
    if not sided and all(side_named(name.split("/")[0]) for name in tree.names if "/" in name):
        hint = "Put a folder for each class into each of them."
        raise UsageError("its folders are parts of a split, not classes", where=str(path), hint=hint)
    found = list_folder_documents(tree, sided=sided, same_name="apart")
    if not found:
        raise BadDataError("its folders hold no files", where=str(path), hint="Put the documents there.")
    encoding = likeliest_encoding(tree.contents([file for document in found for file in document.files]))
    options: dict[str, Any] = {} if encoding == "utf-8" else {"encoding": encoding}
    report = [f"a folder for each class, {encoding}: {len(found):,} files"]
    joined = list_folder_documents(tree, sided=sided, same_name="one")
    if _is_same_text(tree, joined):
        options["same_name"] = "one"
        copies = len(found) - len(joined)
        report.append(
            f"{copies:,} files are copies in the folders of other classes: {len(joined):,} documents"
        )
        found = joined
    rows: Counter[str | None] = Counter(side_named(document.side) for document in found)
    if sided:
        options |= {"side": "folders"} | _validation_option(rows)
        if rows[None]:
            options["policy"] = {"unknown-side": "skip"}
    corpus = OwnDocuments("folders", path, ratio=None, **options)
    counts = _count_documents(corpus)
    report += [
        f"labels: {counts.report()}",
        *_report_split("the first folder" if sided else "", rows, counts, options),
        *corpus.problems.summary().splitlines(),
    ]
    return _make_inspection("folders", ("text",), options, counts, report)


def _has_sides(names: Sequence[str]) -> bool:
    """Whether the first folders are called after sides of a split and classes come below."""
    return is_split(side_named(parts[0]) for name in names if len(parts := name.split("/")) > 2)


def _is_same_text(tree: DocumentTree, joined: Sequence[FolderDocument]) -> bool:
    """Whether file names occur in several folders, and files of one name all hold the same text."""
    several = [document.files for document in joined if len(document.files) > 1]
    contents = tree.contents([file for files in several for file in files])
    return bool(several) and all(_are_equal([next(contents) for _ in files]) for files in several)


def _are_equal(contents: Sequence[bytes]) -> bool:
    return all(content == contents[0] for content in contents)


def _inspect_vectors(path: Path) -> Inspection:
    heads = read_vector_lines([path]).heads
    counts = LabelCounts()
    for number, head in enumerate(heads, 1):
        labels = [label for label in head.split(",") if label]
        counts.add(f"{path}, vector {number}", labels, "train")
    report = [
        f"svmlight: {len(heads):,} vectors",
        f"labels: {counts.report()}",
        *_report_split("", {}, counts, {}),
    ]
    return _make_inspection("svmlight", (), {}, counts, report, weighted=True)
