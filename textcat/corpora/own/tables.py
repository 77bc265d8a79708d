"""Read rows of CSV, TSV and JSON Lines files with their line numbers, and apply the policy for bad rows."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from textcat.corpora.text_files import is_writable
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

# What may be done about each kind of problem; the first is the default.
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
    "encoding": "bytes that are not of the stated encoding",
    "malformed": "a line that cannot be parsed",
    "missing": "a document without a needed column",
    "unknown-label": "a label that is not in the stated list of categories",
    "unknown-side": "a word that names no side of a split",
    "duplicate-id": "an id that an earlier document has",
    "empty": "a document without any text",
}
_MAX_EXAMPLES = 10


@dataclass
class Problems:
    """The problems of one reading: counts by kind, the first few with their places, and the policy."""

    policy: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @classmethod
    def with_policy(cls, wanted: Mapping[str, str] | None) -> Problems:
        """The defaults, changed where `wanted` says so; `{"all": "error"}` makes every problem an error."""
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
                raise UsageError(f"there is no problem {kind!r}", hint=f"There are {', '.join(POLICIES)}.")
            if action not in POLICIES[kind]:
                hint = f"Choose of {', '.join(POLICIES[kind])}."
                raise UsageError(f"the policy for {kind} cannot be {action!r}", hint=hint)
            policy[kind] = action
        return cls(policy)

    def report(self, kind: str, what: str, where: str) -> str:
        """Note a problem and say what is to be done; an error is raised at once."""
        action = self.policy[kind]
        if action == "error":
            hint = f"Mend it, or set the policy for {kind} to {' or '.join(POLICIES[kind])}."
            raise BadDataError(what, where=where, hint=hint)
        self.counts[kind] += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(f"{where}: {what} ({action})")
        return action

    def summary(self) -> str:
        """Counts by kind and the first places, for a person."""
        lines = [
            f"{number} x {PROBLEM_DESCRIPTIONS[kind]}: {self.policy[kind]}"
            for kind, number in sorted(self.counts.items())
        ]
        return "\n".join([*lines, *(f"  {example}" for example in self.examples)])


_MAX_FIELD_BYTES = 1 << 28


class TableRow(NamedTuple):
    """One record: where it begins, and its values by column."""

    where: str
    values: Mapping[str, Any]


def read_lines(path: Path, encoding: str, problems: Problems) -> Iterator[tuple[int, str]]:
    """The lines of a file, numbered; undecodable bytes are replaced, or their line left out, by policy."""
    if not path.is_file():
        raise DataNotAvailableError(
            "there is no such file",
            where=str(path),
            hint="Mend `corpus.path`: it is seen from the experiment file.",
        )
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    with path.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            try:
                yield number, line.decode(encoding if number == 1 else encoding.removesuffix("-sig"))
            except UnicodeDecodeError as problem:
                what = f"byte {problem.start + 1} of the line is not {encoding.removesuffix('-sig')}"
                if problems.report("encoding", what, f"{path}:{number}") == "replace":
                    yield number, line.decode(encoding.removesuffix("-sig"), errors="replace")


def read_table_rows(path: Path, encoding: str, delimiter: str, problems: Problems) -> Iterator[TableRow]:
    """The rows of a table whose first line names the columns; quoted fields may span lines."""
    numbers: list[int] = [0]

    def lines() -> Iterator[str]:
        for number, line in read_lines(path, encoding, problems):
            numbers[0] = number
            yield line

    csv.field_size_limit(_MAX_FIELD_BYTES)
    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        begins = numbers[0] + 1
        try:
            values = next(reader, None)
        except csv.Error as problem:
            problems.report("malformed", str(problem), f"{path}:{begins}")
            continue
        if values is None:
            return
        if header is None:
            header = _check_column_names(values, path)
        elif values and len(values) != len(header):
            what = f"{len(values)} fields where the header has {len(header)}"
            problems.report("malformed", what, f"{path}:{begins}")
        elif values:
            yield TableRow(f"{path}:{begins}", dict(zip(header, values, strict=True)))


def _check_column_names(names: list[str], path: Path) -> list[str]:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise BadDataError(
            f"two columns are called {twice[0]!r}",
            where=f"{path}:1",
            hint="Give each column of the header a name of its own.",
        )
    return names


def read_json_rows(path: Path, encoding: str, problems: Problems) -> Iterator[TableRow]:
    """The objects of a file that has one a line; blank lines are left out."""
    for number, line in read_lines(path, encoding, problems):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            values = json.load(io.StringIO(line))
            halves = "\\u" in line and not is_writable(json.dumps(values, ensure_ascii=False))
        except (ValueError, RecursionError) as problem:
            problems.report("malformed", f"not JSON: {problem}", where)
            continue
        if halves:
            problems.report("malformed", "it has half of a surrogate pair", where)
        elif isinstance(values, dict):
            yield TableRow(where, values)
        else:
            problems.report("malformed", "not a JSON object", where)
