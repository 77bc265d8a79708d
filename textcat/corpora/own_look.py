"""A look at a user's own documents: their format, their columns, their labels, and what was met on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from textcat.corpora.own_columns import Guess, columns_of, guessed, labels_of
from textcat.corpora.own_folders import SIDES, Filed, filed
from textcat.corpora.own_kinds import encoding_of, kind_of
from textcat.corpora.own_rows import json_rows, table_rows
from textcat.corpora.problems import MEANINGS, Problems
from textcat.corpora.trees import DocumentTree
from textcat.corpora.vectors import read_vector_lines
from textcat.errors import BadDataError, UsageError

LOOKED_AT = 5000
_LENIENT = {"malformed": "skip", "encoding": "replace"}


@dataclass(frozen=True)
class OwnLook:
    """What an experiment file must say of the documents, and what a person should be told."""

    kind: str
    text: tuple[str, ...]
    options: Mapping[str, Any]
    single_label: bool
    told: Sequence[str]
    weighted: bool = field(default=False)


def look_at(path: Path) -> OwnLook:
    """Guess from the first few thousand documents."""
    kind = kind_of(path)
    if kind == "folders":
        return _folders(path)
    return _vectors(path) if kind == "svmlight" else _table(kind, path)


def _folders(path: Path) -> OwnLook:
    tree = DocumentTree(path)
    sided = _has_sides(tree.names)
    found = filed(tree, sided=sided, same_name="apart")
    if not found:
        raise BadDataError("its folders hold no files", where=str(path), hint="Put the documents there.")
    contents = b"\n".join(tree.contents([document.files[0] for document in found[:100]]))
    options: dict[str, Any] = {} if _is_utf8(contents) else {"encoding": "latin-1"}
    told = [f"a folder for each class, {len(found):,} files"]
    joined = filed(tree, sided=sided, same_name="one")
    if _same_text(tree, joined):
        options["same_name"] = "one"
        told.append(
            f"{len(found) - len(joined):,} files are copies in the folders of other classes: "
            f"{len(joined):,} documents"
        )
        found = joined
    if sided:
        options["side"] = "folders"
    labels = [document.labels for document in found]
    told += [_of_labels(labels), "split: as the first folders say" if sided else _of_split(None)]
    return OwnLook("folders", ("text",), options, _one_each(labels), told)


def _has_sides(names: Sequence[str]) -> bool:
    """Whether the first folders are called after training and test documents, and classes come below."""
    first = {SIDES.get(name.split("/")[0].lower()) for name in names if "/" in name}
    return {"train", "test"} <= first and None not in first


def _same_text(tree: DocumentTree, joined: Sequence[Filed]) -> bool:
    """Whether file names occur in several folders, and those looked at hold the same text."""
    several = [document.files[:2] for document in joined if len(document.files) > 1]
    pairs = [tuple(tree.contents(files)) for files in several[:20]]
    return bool(pairs) and all(first == second for first, second in pairs)


def _vectors(path: Path) -> OwnLook:
    heads = read_vector_lines([path]).heads
    labels = [tuple(label for label in head.split(",") if label) for head in heads]
    told = [f"svmlight, {len(heads):,} vectors", _of_labels(labels), _of_split(None)]
    return OwnLook("svmlight", (), {}, _one_each(labels), told, weighted=True)


def _table(kind: str, path: Path) -> OwnLook:
    encoding = encoding_of(path)
    problems = Problems.with_policy(_LENIENT)
    rows = _rows(kind, path, encoding, problems)
    guess = guessed(rows)
    if guess is None:
        names = ", ".join(repr(column.name) for column in columns_of(rows)) or "none"
        hint = "Give the first line names for the columns, such as text and label."
        raise UsageError(f"no column of text and one of labels among {names}", where=str(path), hint=hint)
    found = {column.name: column for column in columns_of(rows)}
    labels = labels_of(found[guess.label], guess.separator)
    options, met = _options(guess, encoding), _policy(guess, rows, problems)
    if met:
        options["policy"] = met
    looked = f"the first {LOOKED_AT:,} documents" if len(rows) == LOOKED_AT else f"{len(rows):,} documents"
    told = [
        f"{kind}{'' if encoding == 'utf-8' else f' in {encoding}'}, {looked}",
        f"text: {', '.join(guess.text)}",
        f"labels: {guess.label}{_parted(guess.separator)}; {_of_labels(labels)}",
        _of_split(guess.side),
        *(f"{MEANINGS[name]}: {action}" for name, action in met.items()),
    ]
    return OwnLook(kind, guess.text, options, _one_each(labels), told)


def _rows(kind: str, path: Path, encoding: str, problems: Problems) -> list[Mapping[str, Any]]:
    if kind == "jsonl":
        rows: Iterator[Any] = json_rows(path, encoding, problems)
    else:
        rows = table_rows(path, encoding, "\t" if kind == "tsv" else ",", problems)
    found = [row.values for row in islice(rows, LOOKED_AT)]
    if not found:
        raise BadDataError("the file holds no documents", where=str(path), hint="Name a file with documents.")
    return found


def _options(guess: Guess, encoding: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "text": list(guess.text),
        "label": guess.label,
        "label_separator": guess.separator,
    }
    options |= {name: value for name, value in (("id", guess.id), ("side", guess.side)) if value}
    return options if encoding == "utf-8" else options | {"encoding": encoding}


def _policy(guess: Guess, rows: Sequence[Mapping[str, Any]], problems: Problems) -> dict[str, str]:
    """What must be let pass so that the documents can be read."""
    needed = (*guess.text, guess.label)
    met = {"malformed": "skip"} if problems.counts["malformed"] else {}
    missing = any(row.get(column) is None for row in rows for column in needed)
    return met | ({"missing": "skip"} if missing else {})


def _of_labels(labels: Iterable[tuple[str, ...]]) -> str:
    each = list(labels)
    different = len({label for found in each for label in found})
    mean = sum(map(len, each)) / max(len(each), 1)
    return f"{different:,} categories, {mean:.2g} a document"


def _of_split(side: str | None) -> str:
    if side:
        return f"split: as the column {side} says"
    return "split: drawn at random, four training documents to a test document"


def _parted(separator: str | None) -> str:
    if separator is None:
        return ""
    return ", parted by spaces" if separator == " " else f", parted by {separator}"


def _one_each(labels: Sequence[tuple[str, ...]]) -> bool:
    return all(len(found) == 1 for found in labels)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
