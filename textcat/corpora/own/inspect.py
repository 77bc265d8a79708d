"""Inspect a user's own documents: format, encoding, columns, split and labels, in one or two passes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, cast

from textcat.corpora.collection_files import DocumentTree, check_name
from textcat.corpora.document import find_side_by_name, is_split
from textcat.corpora.own.documents import (
    EACH_FILE,
    FolderDocument,
    OwnDocuments,
    is_html,
    list_folder_documents,
)
from textcat.corpora.own.formats import (
    SAMPLE_BYTES,
    WORDS_OF_TEXT,
    ColumnGuess,
    TableSummary,
    choose_encoding,
    choose_file_encoding,
    detect_encoding,
    detect_format,
    guess_columns,
    list_unused_columns,
    report_files,
    summarize_columns,
)
from textcat.corpora.own.label_counts import LabelCounts
from textcat.corpora.own.problems import Problems
from textcat.corpora.own.tables import TableFormat, read_table_file
from textcat.corpora.vector_files import read_vector_lines
from textcat.errors import BadDataError, UsageError
from textcat.yaml_reader import list_first

_LENIENT = {"malformed": "skip", "encoding": "replace"}
_RATIO = 4
MANY_LABELS = 50
# With more labels, all weights and held-out scores take too much memory: see docs/decisions.md.
THOUSANDS = 1000
# With more documents times labels than this, the scores of a document's labels are not in memory at once.
MOST_SCORES = 20_000_000


@dataclass(frozen=True)
class Inspection:
    """The settings that an experiment file needs for the documents, and a report for the user, line by line."""

    kind: str
    text: tuple[str, ...]
    options: Mapping[str, Any]
    counts: LabelCounts
    report: Sequence[str]

    @property
    def single_label(self) -> bool:
        """Whether documents have exactly one label each, apart from those that are left out."""
        return self.counts.is_single_label

    @property
    def leaves_out(self) -> bool:
        """Whether documents without a label are left out."""
        return self.single_label and self.counts.unlabelled > 0

    @property
    def weighted(self) -> bool:
        """Whether the documents are vectors that are not weighted again."""
        return self.kind == "svmlight"

    @property
    def many_labels(self) -> bool:
        """Whether documents have several labels of more than MANY_LABELS, so that their ranking is measured."""
        return not self.single_label and self.counts.number_of_categories > MANY_LABELS

    @property
    def thousands(self) -> bool:
        """Whether there are so many labels that small weights are dropped."""
        return self.counts.number_of_categories > THOUSANDS

    @property
    def at_least_one(self) -> bool:
        """Whether each document has a label and so gets one; with more scores, labels are decided in blocks."""
        counts = self.counts
        return not counts.unlabelled and counts.used * counts.number_of_categories <= MOST_SCORES

    @property
    def short_texts(self) -> bool:
        """Whether texts have so few words that n-grams of characters are added."""
        return self.counts.has_short_texts


def inspect_documents(path: Path, test: Path | None = None) -> Inspection:
    """Read all documents and return the settings that an experiment file needs for them.

    `test` is a second file with the test documents.
    """
    for each in (path, test or path):
        check_name(str(each))
    kind = detect_format(path)
    own_test = {} if test is None else {"test": _check_test_file(kind, path, test)}
    if kind == "folders":
        return _inspect_folders(path)
    return _inspect_vectors(path, own_test) if kind == "svmlight" else _inspect_table(kind, path, own_test)


def _check_test_file(kind: str, path: Path, test: Path) -> str:
    """Return the path of the test documents seen from the folder of the training documents."""
    if kind == "folders":
        hint = "Put the folders of classes into the folders train and test, and name the folder above them."
        raise UsageError("--test names a file, for a file of training documents", where=str(path), hint=hint)
    other = detect_format(test)
    if other != kind:
        hint = f"Save both files as {kind}."
        raise UsageError(f"{other}, but {path} is {kind}", where=str(test), hint=hint)
    return os.path.relpath(test.resolve(), path.resolve().parent)


def _inspect_table(kind: str, path: Path, own_test: dict[str, str]) -> Inspection:
    encoding = detect_encoding(path, *(path.parent / each for each in own_test.values()))
    problems = Problems.with_policy(_LENIENT)
    rows = read_table_file(path, cast(TableFormat, kind), encoding, problems)
    table = summarize_columns(row.values for row in rows)
    if table.rows <= problems.counts["malformed"]:
        _refuse_without_rows(path, problems, table.rows)
    guess = guess_columns(table)
    if guess is None:
        names = ", ".join(repr(column.name) for column in table.columns) or "none"
        hint = (
            "Name the columns, such as text and label; in CSV and TSV the first line has the names. Or write "
            f"an experiment with `corpus: {{name: {kind}, path: FILE, options: {{text: COLUMN, label: COLUMN}}}}`."
        )
        raise UsageError(f"no column of text and one of labels among {names}", where=str(path), hint=hint)
    if kind in ("csv", "tsv"):
        _check_header(guess, path)
    if own_test and guess.side:
        unused = {guess.side.column.name: f"{own_test['test']} has the test documents"}
        guess = replace(guess, side=None, not_sides=unused)
    source, sides = (f"column {guess.side.column.name}", guess.side.rows) if guess.side else ("", {})
    options = _make_table_options(guess, encoding) | _make_validation_option(sides) | own_test
    if policy := _make_table_policy(guess, table, problems, has_test_file=bool(own_test)):
        options["policy"] = policy
    if own_test:
        source = own_test["test"]
    corpus = OwnDocuments(kind, path, ratio=None, **options)
    counts = _count_documents(corpus)
    left = list_unused_columns(guess, table)
    report = [
        f"{kind}, {encoding}: {table.rows:,} rows",
        f"text: {', '.join(column.name for column in guess.text)}",
        f"labels: {_describe_labels(guess)}; {counts.report()}",
        f"ids: {_report_ids(guess, table)}",
        *(f"column {name} is not used as the split: {why}" for name, why in guess.not_sides.items()),
        *([f"columns that are not used: {list_first(left)}"] if left else []),
        *counts.report_doubts(),
        *_report_split(source, sides, counts, options),
        *corpus.problems.summary().splitlines(),
    ]
    text = tuple(column.name for column in guess.text)
    return Inspection(kind, text, options, counts, report)


def _refuse_without_rows(path: Path, problems: Problems, read: int) -> NoReturn:
    """Refuse a table of which at least half of the rows cannot be read: something is wrong with all of it."""
    if malformed := problems.counts["malformed"]:
        some = f"{malformed:,} of its {read + malformed:,} rows cannot be read"
        what = f"{some if read else f'none of its {malformed:,} rows can be read'}, such as {problems.examples[0]}"
        raise BadDataError(what.removesuffix(" (skip)"), where=str(path), hint="Fix the rows or the header.")
    raise BadDataError("the file has no documents", where=str(path), hint="Name a file with documents.")


def _check_header(guess: ColumnGuess, path: Path) -> None:
    """Refuse a table whose first line looks like a document: a text, or a label of other rows."""
    prose = [column.name for column in guess.text if len(column.name.split()) >= WORDS_OF_TEXT]
    if prose or guess.labels[0].values[guess.labels[0].name]:
        example = prose[0] if prose else guess.labels[0].name
        raise UsageError(
            f"the first line looks like a document, not like names of columns: {example[:60]!r}",
            where=f"{path}:1",
            hint="Add a first line with names for the columns, such as text,label.",
        )


def _make_table_options(guess: ColumnGuess, encoding: str) -> dict[str, Any]:
    names = [column.name for column in guess.labels]
    options: dict[str, Any] = {
        "text": [column.name for column in guess.text],
        "label": names[0] if len(names) == 1 else names,
        "label_separator": guess.separator,
    }
    if guess.id:
        options["id"] = guess.id.name
    if guess.side:
        options["side"] = guess.side.column.name
    return options if encoding == "utf-8" else options | {"encoding": encoding}


def _make_table_policy(
    guess: ColumnGuess, table: TableSummary, problems: Problems, *, has_test_file: bool
) -> dict[str, str]:
    """Return the policy with which the documents can be read; ids of a second file may be those of the first."""
    policy = {"malformed": "skip"} if problems.counts["malformed"] else {}
    needed = [*guess.text, *guess.labels, *([guess.side.column] if guess.side else [])]
    if any(column.present < table.rows for column in needed):
        policy["missing"] = "skip"
    if guess.side and guess.side.rows.get(None):
        policy["unknown-side"] = "skip"
    # A column `id` is used even if no option names it.
    if has_test_file or (guess.id is None and any(column.name == "id" for column in table.columns)):
        policy["duplicate-id"] = "rename"
    return policy


def _make_validation_option(rows: Mapping[str | None, int]) -> dict[str, str]:
    """Test on validation documents if there are no test documents, else leave them out."""
    if not rows.get("validation"):
        return {}
    return {"validation": "unused" if rows.get("test") else "test"}


def _count_documents(corpus: OwnDocuments) -> LabelCounts:
    """Count the documents that a run of the experiment will read."""
    counts = LabelCounts()
    for document in corpus.documents():
        counts.add(document.where, document.labels, document.split, "\n".join(document.fields.values()))
        if document.split != "unused":
            counts.words += sum(len(text.split()) for text in document.fields.values())
    if not counts.used:
        hint = "Each document needs text, labels and a side in columns of their own."
        raise BadDataError("no document can be used", where=str(corpus.path), hint=hint)
    counts.check_categories(str(corpus.path))
    return counts


def _report_ids(guess: ColumnGuess, table: TableSummary) -> str:
    if guess.id:
        return guess.id.name
    if any(column.name == "id" for column in table.columns):
        return "column id repeats or lacks values; repeated ids get a number (policy: duplicate-id: rename)"
    return "row numbers"


def _report_split(
    source: str, rows: Mapping[str | None, int], counts: LabelCounts, options: Mapping[str, Any]
) -> list[str]:
    """Return lines on the source of the split, the documents of each side, and the assumptions made."""
    if not source:
        tests = round(counts.used / (_RATIO + 1))
        return [
            f"split: none given, drawn at random: {counts.used - tests:,} training and "
            f"{tests:,} test documents (ratio: {_RATIO})"
        ]
    report = [
        f"split: from {source}; {counts.sides['train']:,} training, {counts.sides['test']:,} test and "
        f"{counts.sides['unused']:,} unused documents"
    ]
    use = options.get("validation")
    if use == "test":
        report.append(
            f"validation: there are no test documents; {rows['validation']:,} validation documents are used as such"
        )
    elif use:
        report.append(
            f"validation: {rows['validation']:,} documents are unused (`validation: train` uses them for training)"
        )
    if unseen := sorted(counts.categories["test"] - counts.categories["train"]):
        counted = (
            "1 category of test documents has no training document"
            if len(unseen) == 1
            else f"{len(unseen):,} categories of test documents have no training document"
        )
        report.append(f"{counted}: {list_first(unseen)}")
    return report


def _describe_labels(guess: ColumnGuess) -> str:
    names = [column.name for column in guess.labels]
    if len(names) > 1:
        return f"a column for each label, with 1 where the document has it: {list_first(names)}"
    if guess.separator is None:
        return names[0]
    return f"{names[0]}, separated by {'spaces' if guess.separator == ' ' else guess.separator}"


def _inspect_folders(path: Path) -> Inspection:
    tree = DocumentTree(path)
    # The first level of folders may be sides of a split, with classes below them.
    sided = is_split(find_side_by_name(p[0]) for name in tree.names if len(p := name.split("/")) > 2)
    names = [name for name in tree.names if "/" in name]
    if not names:
        raise BadDataError(
            "its folders have no files",
            where=str(path),
            hint="Put each class's documents into a folder of the class's name.",
        )
    if not sided and all(find_side_by_name(name.split("/")[0]) for name in names):
        hint = "Put a folder for each class into each of them."
        raise UsageError("its folders are sides of a split, not classes", where=str(path), hint=hint)
    found = list_folder_documents(tree, sided=sided, same_name="apart")
    if not found:
        raise BadDataError("its folders have no files", where=str(path), hint="Put the documents there.")
    files = [file for document in found for file in document.files]
    if all(b"\0" in content[:SAMPLE_BYTES] for content in tree.contents(files)):
        raise BadDataError(
            "its files are not text",
            where=str(path),
            hint="Extract the text: one text file for each document.",
        )
    encoding, others = _choose_encoding_of_files(tree, files)
    options: dict[str, Any] = {} if encoding == "utf-8" else {"encoding": encoding}
    report = [f"a folder for each class, {encoding}: {len(found):,} files", *others]
    if pages := sum(map(is_html, files)):
        report.append(f"HTML, read without markup: {pages:,} files")
    report += report_files(tree.names, sided=sided)
    joined = list_folder_documents(tree, sided=sided, same_name="one")
    if _is_same_text(tree, joined):
        options["same_name"] = "one"
        copies = len(found) - len(joined)
        report.append(
            f"{copies:,} files are copies in the folders of other classes: {len(joined):,} documents"
        )
        found = joined
    rows: Counter[str | None] = Counter(find_side_by_name(document.side) for document in found)
    if sided:
        options |= {"side": "folders"} | _make_validation_option(rows)
        if rows[None]:
            options["policy"] = {"unknown-side": "skip"}
    corpus = OwnDocuments("folders", path, ratio=None, **options)
    counts = _count_documents(corpus)
    report += [
        f"labels: {counts.report()}",
        *counts.report_doubts(),
        *_report_split("the first folder" if sided else "", rows, counts, options),
        *corpus.problems.summary().splitlines(),
    ]
    return Inspection("folders", ("text",), options, counts, report)


def _choose_encoding_of_files(tree: DocumentTree, files: Sequence[str]) -> tuple[str, list[str]]:
    """Return the encoding of all files, or `each-file` with a line on those that are not utf-8."""
    named: dict[str, list[str]] = {}
    for name, content in zip(files, tree.contents(files), strict=True):
        if not content.isascii():
            named.setdefault(choose_file_encoding(content), []).append(name)
    if "utf-8" not in named or len(named) == 1:
        return choose_encoding(tree.contents(files)), []
    others = sorted(name for encoding, names in named.items() if encoding != "utf-8" for name in names)
    which = " or ".join(sorted(set(named) - {"utf-8"}))
    what = f"{len(named['utf-8']):,} files are utf-8 and {len(others):,} are {which}"
    return EACH_FILE, [f"encodings: {what}, each is read as such: {list_first(others)}"]


def _is_same_text(tree: DocumentTree, joined: Sequence[FolderDocument]) -> bool:
    """Return whether file names occur in several folders and files of one name all have the same text."""
    several = [document.files for document in joined if len(document.files) > 1]
    contents = tree.contents([file for files in several for file in files])
    return bool(several) and all(len({next(contents) for _ in files}) == 1 for files in several)


def _inspect_vectors(path: Path, own_test: dict[str, str]) -> Inspection:
    paths = [path, *(path.parent / each for each in own_test.values())]
    heads = [
        (each, number, head)
        for each in paths
        for number, head in enumerate(read_vector_lines([each]).heads, 1)
    ]
    counts = LabelCounts()
    for each, number, head in heads:
        labels = [label for label in head.split(",") if label]
        counts.add(f"{each}, vector {number}", labels, "train" if each is path else "test")
    counts.check_categories(str(path))
    report = [
        f"svmlight: {len(heads):,} vectors",
        f"labels: {counts.report()}",
        *counts.report_doubts(),
        *_report_split(own_test.get("test", ""), {}, counts, {}),
    ]
    return Inspection("svmlight", (), own_test, counts, report)
