"""Published baselines of today: numbers of other systems to compare ours with, separate from the five papers.

Each published number is a mark. Ours is `above` if it is at least as high when rounded to the same decimals, else
`below`; neither is a failure. A number fails if it has moved from its pinned value, if it is no longer measured, or if
it was above its mark when pinned and is below it now.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import yaml
from pydantic import TypeAdapter

from textcat.errors import UsageError
from textcat.published.check import MeasuresByExperiment
from textcat.published.printed_tables import validate_contents
from textcat.published.verdicts import ROUNDING_MARGIN, read_printed
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml

MarkVerdict = Literal["above", "below", "not run"]
MARK_VERDICTS: tuple[MarkVerdict, ...] = ("above", "below", "not run")
DRIFT = 0.05
"""The number of points by which a number may move from its pinned value."""

PINNED_HEADER = """# The value compared with each baseline when last accepted, and the corpus files it was made from.
# A value that moves by more than 0.05 fails `textcat check`; `textcat check --pin` accepts it.
"""


class Mark(StrictSettings):
    """A published percentage of one system, and the run and measure of our number."""

    system: str
    published: str
    name: str
    run: str
    measure: str


class BaselineCollection(StrictSettings):
    """A collection, our experiment on it, and the marks published for its authors' split.

    `choices` says which of our settings were chosen with test results in view.
    """

    collection: str
    experiment: str
    documents: str
    source: str
    choices: str
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """The experiment's name without its folder: a collection may have several experiments."""
        return self.experiment.rpartition("/")[2]

    def name_mark(self, mark: Mark) -> str:
        """Return the id of a mark in pinned values and reports."""
        return f"{self.name}[{mark.system}][{mark.name}][{mark.run}]"


class PinnedBaselines(StrictSettings):
    """Accepted values of one experiment by mark, and the fingerprint of its corpus files."""

    corpus: str
    values: dict[str, float]


PinnedByExperiment = Mapping[str, PinnedBaselines]


@dataclass(frozen=True)
class JudgedMark:
    """A mark with our number; `pinned` is None if no value was accepted for these corpus files."""

    collection: BaselineCollection
    mark: Mark
    measured: float | None
    run_exists: bool
    pinned: float | None

    @property
    def id(self) -> str:
        """Return the id of the mark."""
        return self.collection.name_mark(self.mark)

    @property
    def verdict(self) -> MarkVerdict:
        """Return whether our number reaches the mark."""
        return judge_mark(self.measured, self.mark.published)

    @property
    def difference(self) -> float | None:
        """Return our number minus the published one."""
        if self.measured is None:
            return None
        return self.measured - read_printed(self.mark.published, "percent").value

    @property
    def failed(self) -> bool:
        """Return whether the number moved, disappeared, or fell below a mark that it reached."""
        if self.pinned is None or not self.run_exists:
            return False
        if self.measured is None or abs(self.measured - self.pinned) > DRIFT + ROUNDING_MARGIN:
            return True
        return judge_mark(self.pinned, self.mark.published) == "above" and self.verdict != "above"

    def describe(self) -> dict[str, Any]:
        """Return the mark as plain values."""
        return {
            "id": self.id,
            "collection": self.collection.collection,
            "experiment": self.collection.experiment,
            **self.mark.model_dump(),
            "measured": self.measured,
            "difference": self.difference,
            "verdict": self.verdict,
            "pinned": self.pinned,
            "failed": self.failed,
        }


def judge_mark(measured: float | None, published: str) -> MarkVerdict:
    """Return whether a number reaches a published one, which stands for all numbers that round to it."""
    if measured is None:
        return "not run"
    mark = read_printed(published, "percent")
    return "above" if measured >= mark.value - mark.half_unit - ROUNDING_MARGIN else "below"


@cache
def load_baselines() -> tuple[BaselineCollection, ...]:
    """Load the published baselines."""
    return validate_baselines(read_packaged_yaml("published/baselines.yaml"), "baselines.yaml")


def validate_baselines(contents: object, name: str) -> tuple[BaselineCollection, ...]:
    """Return the baselines in plain values read from YAML; `name` is the source in error messages."""
    found: tuple[BaselineCollection, ...] = validate_contents(
        tuple[BaselineCollection, ...], contents, "baselines", name
    )
    ids = Counter(each.name_mark(mark) for each in found for mark in each.marks)
    repeated = [mark for mark, number in ids.items() if number > 1]
    if repeated:
        raise UsageError(f"the mark {repeated[0]} is given twice", where=name, hint="Keep one of the two.")
    for each in found:
        for mark in each.marks:
            read_printed(mark.published, "percent")
    return found


def load_pinned_baselines() -> dict[str, PinnedBaselines]:
    """Load the accepted values by experiment."""
    contents = read_packaged_yaml("published/pinned_baselines.yaml") or {}
    return TypeAdapter(dict[str, PinnedBaselines]).validate_python(contents)


def judge_marks(
    collections: Sequence[BaselineCollection],
    measures: MeasuresByExperiment,
    pinned: PinnedByExperiment,
    corpora: Mapping[str, str | None],
) -> list[JudgedMark]:
    """Judge every mark; `corpora` maps experiments to the fingerprint of the corpus files of their results."""
    found = []
    for each in collections:
        runs = measures.get(each.experiment, {})
        accepted = pinned.get(each.experiment)
        known = accepted is not None and accepted.corpus == corpora.get(each.experiment, accepted.corpus)
        for mark in each.marks:
            value = runs.get(mark.run, {}).get(mark.measure)
            before = accepted.values.get(each.name_mark(mark)) if accepted is not None and known else None
            measured = None if value is None or math.isnan(value) else float(value)
            found.append(JudgedMark(each, mark, measured, bool(runs), before))
    return found


def count_marks(judged: Sequence[JudgedMark]) -> dict[str, int]:
    """Count the marks, by verdict and those that fail."""
    verdicts = Counter(entry.verdict for entry in judged)
    return {
        "marks": len(judged),
        **{verdict: verdicts[verdict] for verdict in MARK_VERDICTS},
        "failed": sum(entry.failed for entry in judged),
    }


def describe_counts(counts: Mapping[str, int]) -> str:
    """Say how many marks are reached."""
    return (
        f"Published baselines of today, counted separately: of {counts['marks']} numbers of other systems, ours are "
        f"above {counts['above']} and below {counts['below']}; {counts['not run']} were not run."
    )


def render_pinned_baselines(
    before: PinnedByExperiment, judged: Sequence[JudgedMark], corpora: Mapping[str, str]
) -> str:
    """Return the text of pinned_baselines.yaml; experiments without results keep their values."""
    pinned = {name: one.model_dump() for name, one in before.items()}
    for name in dict.fromkeys(entry.collection.experiment for entry in judged):
        if name in corpora:
            values = {
                entry.id: round(entry.measured, 4)
                for entry in judged
                if entry.collection.experiment == name and entry.measured is not None
            }
            pinned[name] = {"corpus": corpora[name], "values": values}
    return PINNED_HEADER + yaml.safe_dump(pinned, width=120, sort_keys=True)
