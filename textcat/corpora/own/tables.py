"""Read rows of CSV, TSV and JSON Lines with their lines, for training and for new documents; policies for bad rows.

Rows stream: no more than one is held. A byte-order mark at the beginning of a file is skipped.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from textcat.corpora.text_files import is_writable
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

TableFormat = Literal["csv", "tsv", "jsonl"]

# The actions for each kind of problem; the first is the default.
POLICIES: dict[str, tuple[str, ...]] = {
    "encoding": ("replace", "skip", "error"),
    "malformed": ("error", "skip"),
    "missing": ("error", "skip"),
    "unknown-label": ("drop", "skip", "error"),
    "unknown-side": ("error", "skip"),
    "duplicate-id": ("skip", "rename", "error"),
    "empty": ("keep", "skip", "error"),
}
PROBLEM_DESCRIPTIONS = {
    "encoding": "bytes that are not in the stated encoding",
    "malformed": "a line that cannot be parsed",
    "missing": "a document that lacks a required column",
    "unknown-label": "a label that is not in the list of categories",
    "unknown-side": "a word that names no side of a split",
    "duplicate-id": "an id that an earlier document has",
    "empty": "a document without any text",
}
_MAX_EXAMPLES = 10
_MAX_FIELD_BYTES = 1 << 28


@dataclass
class Problems:
    """Problems met while reading: counts by kind, the first few with their places, and the policy.

    `hint` replaces the advice in errors, for readers that have no policy to change.
    """

    policy: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    hint: str = ""

    @classmethod
    def with_policy(cls, wanted: Mapping[str, str] | None, hint: str = "") -> Problems:
        """Return the default policy changed by `wanted`; `{"all": "error"}` makes every problem an error."""
        wanted = dict(wanted or {})
        everything = wanted.pop("all", None)
        if everything not in (None, "error"):
            raise UsageError(
                f"the policy for all problems can only be 'error', not {everything!r}",
                hint="Write `all: error`, or a policy for each kind.",
            )
        policy = {kind: everything or allowed[0] for kind, allowed in POLICIES.items()}
        for kind, action in wanted.items():
            if kind not in POLICIES:
                raise UsageError(f"unknown kind of problem {kind!r}", hint=f"Known: {', '.join(POLICIES)}.")
            if action not in POLICIES[kind]:
                raise UsageError(
                    f"the policy for {kind} cannot be {action!r}",
                    hint=f"Choose from {', '.join(POLICIES[kind])}.",
                )
            policy[kind] = action
        return cls(policy, hint=hint)

    def report(self, kind: str, what: str, where: str, hint: str = "") -> str:
        """Count a problem and return the action to take; raise an error, with this hint, if that is the policy."""
        action = self.policy[kind]
        if action == "error":
            others = " or ".join(each for each in POLICIES[kind] if each != "error")
            hint = self.hint or hint or f"Fix it, or set the policy for {kind} to {others}."
            raise BadDataError(what, where=where, hint=hint)
        self.counts[kind] += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(f"{where}: {what} ({action})")
        return action

    def summary(self) -> str:
        """Return the counts by kind and the first places, as text."""
        lines = [
            f"{number} x {PROBLEM_DESCRIPTIONS[kind]}: {self.policy[kind]}"
            for kind, number in sorted(self.counts.items())
        ]
        return "\n".join([*lines, *(f"  {example}" for example in self.examples)])


class TableRow(NamedTuple):
    """One record: `where` it begins (file:line), its values by column, and the number of that line."""

    where: str
    values: Mapping[str, Any]
    line: int = 0


def read_table_file(path: Path, form: TableFormat, encoding: str, problems: Problems) -> Iterator[TableRow]:
    """Yield the rows of a file."""
    if not path.is_file():
        raise DataNotAvailableError(
            "no such file",
            where=str(path),
            hint="Fix `corpus.path`; it is relative to the experiment file.",
        )
    with path.open("rb") as opened:
        yield from read_rows(opened, form, str(path), encoding, problems)


def read_rows(
    lines: Iterable[bytes], form: TableFormat, name: str, encoding: str, problems: Problems
) -> Iterator[TableRow]:
    """Yield the rows of a stream of lines; `name` is what errors call it."""
    decoded = decode_lines(lines, name, encoding, problems)
    if form == "jsonl":
        return _read_json_rows(decoded, name, problems)
    return _read_delimited_rows(decoded, name, "\t" if form == "tsv" else ",", problems)


def decode_lines(
    lines: Iterable[bytes], name: str, encoding: str, problems: Problems
) -> Iterator[tuple[int, str]]:
    """Yield each line with its number; undecodable bytes are replaced, or their line skipped, by policy."""
    first, plain = choose_codec(encoding), encoding.lower().replace("_", "-").removesuffix("-sig")
    for number, line in enumerate(lines, 1):
        used = first if number == 1 else plain
        try:
            yield number, line.decode(used)
        except UnicodeDecodeError as problem:
            what = f"byte {problem.start + 1} of the line is not {plain}"
            if problems.report("encoding", what, f"{name}:{number}") == "replace":
                yield number, line.decode(used, errors="replace")


def choose_codec(encoding: str) -> str:
    """Return the codec for the beginning of a file: that of UTF-8 skips a byte-order mark."""
    plain = encoding.lower().replace("_", "-").removesuffix("-sig")
    return "utf-8-sig" if plain in ("utf-8", "utf8") else encoding


def _read_delimited_rows(
    lines: Iterable[tuple[int, str]], name: str, delimiter: str, problems: Problems
) -> Iterator[TableRow]:
    """Yield the rows of a table whose first line names the columns; quoted fields may span lines.

    Blank lines are skipped.
    """
    last = 0

    def count_lines() -> Iterator[str]:
        nonlocal last
        for number, line in lines:
            last = number
            yield line

    csv.field_size_limit(_MAX_FIELD_BYTES)
    reader = csv.reader(count_lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        line = last + 1
        where = f"{name}:{line}"
        try:
            values = next(reader, None)
        except csv.Error as problem:
            problems.report("malformed", f"cannot be parsed: {problem}", where)
            continue
        if values is None:
            return
        if not values:
            continue
        if header is None:
            header = _check_column_names(values, where)
        elif len(values) != len(header):
            what = f"{len(values)} fields where the header has {len(header)}"
            problems.report("malformed", what, where)
        else:
            yield TableRow(where, dict(zip(header, values, strict=True)), line)


def _check_column_names(names: list[str], where: str) -> list[str]:
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise BadDataError(
            f"two columns are called {repeated[0]!r}",
            where=where,
            hint="Give each column of the header a name of its own.",
        )
    return names


def _read_json_rows(lines: Iterable[tuple[int, str]], name: str, problems: Problems) -> Iterator[TableRow]:
    """Yield the objects, one on each line; blank lines are skipped."""
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            values = json.loads(line)
            is_whole = "\\u" not in line or is_writable(json.dumps(values, ensure_ascii=False))
        except (ValueError, RecursionError) as problem:
            problems.report("malformed", f"not JSON: {problem}", where)
            continue
        if not is_whole:
            problems.report("malformed", "it has half of a surrogate pair", where)
        elif isinstance(values, dict):
            yield TableRow(where, values, number)
        else:
            problems.report("malformed", "not a JSON object", where)
