"""Readings of a paper: its open questions with their options, and summaries of cells and claims over all readings.

A reading takes one option for every question. The default reading is computed from the support of the options
and never written down, so that no test result can choose it. Summaries are pure functions of measured numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from textcat.errors import UsageError
from textcat.published.check import CellValues, MeasuresByExperiment, judge_cells
from textcat.published.claims import Claim, evaluate_claim, list_claim_experiments
from textcat.published.printed_tables import PAPERS, PublishedCell
from textcat.published.verdicts import find_measure_kind, read_printed
from textcat.settings import StrictSettings, describe_fault
from textcat.yaml_reader import YamlSource, make_yaml_error, parse_yaml, read_yaml

Support = Literal["paper", "author", "training", "convention", "none"]
SUPPORTS: tuple[Support, ...] = ("paper", "author", "training", "convention", "none")
"""From the strongest support to none: the paper's own text, another text or program of its authors, training
data (cross-validation, printed counts of words, features or documents), and the habit of the field."""

Assignment = Mapping[str, str]
"""One reading: question -> option."""


class ReadingOption(StrictSettings):
    """One answer to a question: the settings it changes, and what speaks for it."""

    patch: dict[str, Any] = Field(default_factory=dict)
    support: Support
    because: str = Field(min_length=1)
    simplest: bool = False
    implemented: bool = True
    contradicted: bool = False

    @property
    def runs(self) -> bool:
        """Whether the option is tried: it is implemented, and the paper does not contradict it."""
        return self.implemented and not self.contradicted


class Question(StrictSettings):
    """One thing that a paper leaves open; `experiments` are patterns of the experiments it concerns."""

    question: str = Field(min_length=1)
    where: str = Field(min_length=1)
    says: str = Field(min_length=1)
    experiments: tuple[str, ...] = ("*",)
    options: dict[str, ReadingOption] = Field(min_length=2)

    @model_validator(mode="after")
    def _check_options(self) -> Question:
        if sum(option.simplest for option in self.options.values()) > 1:
            raise ValueError("at most one option is the simplest")
        if not self.tried:
            raise ValueError("at least one option must be implemented and not contradicted by the paper")
        return self

    @property
    def tried(self) -> dict[str, ReadingOption]:
        """The options that readings take."""
        return {name: option for name, option in self.options.items() if option.runs}

    @property
    def default(self) -> str:
        """The option with the strongest support of those tried; of equal ones the simplest, else the first."""

        def rank(name: str) -> tuple[int, bool]:
            option = self.options[name]
            return SUPPORTS.index(option.support), not option.simplest

        return min(self.tried, key=rank)

    @property
    def settings(self) -> set[tuple[str, ...]]:
        """The last two keys of each path that an option sets, such as (selection, scope)."""
        return {tuple(path.split(".")[-2:]) for option in self.options.values() for path in option.patch}

    def shares_setting(self, other: Question) -> bool:
        """Return whether both questions set the same key, of the experiment or of runs."""
        return not self.settings.isdisjoint(other.settings)

    def concerns(self, experiment: str) -> bool:
        """Return whether one of the patterns matches the experiment's name."""
        return any(fnmatchcase(experiment, pattern) for pattern in self.experiments)


class Readings(StrictSettings):
    """All open questions of one paper, or of a user's own experiment (then `paper` is empty)."""

    paper: str = ""
    questions: dict[str, Question] = Field(min_length=1)

    @property
    def default(self) -> dict[str, str]:
        """The default reading."""
        return {name: question.default for name, question in self.questions.items()}

    @model_validator(mode="after")
    def _check_patches_apart(self) -> Readings:
        """Refuse two questions that set the same thing, since the later one would silently win."""
        owner: dict[str, str] = {}
        for name, question in self.questions.items():
            for path in {path for option in question.options.values() for path in option.patch}:
                other = owner.setdefault(path, name)
                both = [self.questions[question_name].experiments for question_name in (other, name)]
                # Patterns are compared as names of each other.
                overlap = any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in both[0] for b in both[1])
                if other != name and overlap:
                    raise ValueError(f"the questions {other} and {name} both set {path}")
        return self


@cache
def load_readings(paper: str) -> Readings:
    """Return the readings of a paper."""
    if paper not in PAPERS:
        raise UsageError(f"there are no readings of '{paper}'", hint=f"The papers are {', '.join(PAPERS)}.")
    name = f"readings/{paper}.yaml"
    text = files("textcat.published").joinpath(name).read_text(encoding="utf-8")
    return _validate(parse_yaml(text, Path(name)), paper)


def read_readings(path: Path) -> Readings:
    """Read the questions and options of a user's own file."""
    return _validate(read_yaml(path), "")


def _validate(source: YamlSource, paper: str) -> Readings:
    try:
        readings = Readings.model_validate(source.data)
    except ValidationError as error:
        place = source.find_place(error.errors()[0]["loc"])
        hint = "The format is described in docs/readings.md."
        raise make_yaml_error(place, describe_fault(error), hint) from error
    if paper and readings.paper != paper:
        raise make_yaml_error(source.find_place(("paper",)), f"`paper` must be {paper}", "Correct the key.")
    return readings


Floats = NDArray[np.float64]
FITTED = "fitted to test results"


@dataclass(frozen=True)
class MeasuredReading:
    """One reading with the value of each cell (None: no such number)."""

    reading: Assignment
    values: CellValues


def measure_distance(cell: PublishedCell, value: float | None) -> float | None:
    """Return measured minus printed: in points, in powers of ten, or in percent of the printed number."""
    rule = find_measure_kind(cell.kind).rule
    if value is None or cell.printed is None or cell.unit == "text" or rule == "none":
        return None
    printed = read_printed(cell.printed, cell.unit).value
    if rule == "decades":
        return math.log10(value) - math.log10(printed) if value > 0 else None
    if rule == "relative":
        return 100.0 * (value - printed) / printed if printed else None
    return value - printed


def choose_compared_cells(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """Return the cells in points of a percentage; if there are none, all cells that are judged."""
    judged = [cell for cell in cells if find_measure_kind(cell.kind).rule != "none"]
    in_points = [cell for cell in judged if find_measure_kind(cell.kind).rule == "points"]
    return in_points or judged


def compute_mean_difference(cells: Sequence[PublishedCell], values: CellValues) -> float | None:
    """Return the mean absolute difference from print over the compared cells."""
    distances = [measure_distance(cell, values.get(cell.id)) for cell in choose_compared_cells(cells)]
    known = [abs(distance) for distance in distances if distance is not None]
    return sum(known) / len(known) if known else None


def find_nearest(cells: Sequence[PublishedCell], measured: Sequence[MeasuredReading]) -> int | None:
    """Return the position of the reading with the least mean absolute difference; the first of equal ones."""
    differences = [compute_mean_difference(cells, reading.values) for reading in measured]
    known = [
        (difference, position) for position, difference in enumerate(differences) if difference is not None
    ]
    return min(known)[1] if known else None


def summarize_cells(cells: Sequence[PublishedCell], measured: Sequence[MeasuredReading]) -> dict[str, Any]:
    """Return for each cell: printed, default, nearest, least, greatest, shares within tolerance and within close.

    The first reading is the default.
    """
    nearest = find_nearest(cells, measured)
    verdicts = [
        {v.cell.id: v.verdict for v in judge_cells(reading.values, cells, {})} for reading in measured
    ]
    summary = {}
    for cell in cells:
        values = [reading.values.get(cell.id) for reading in measured]
        known = [value for value in values if value is not None]
        judged = [by_cell[cell.id] for by_cell in verdicts]
        gated = cell.printed is not None and find_measure_kind(cell.kind).gated
        summary[cell.id] = {
            "table": cell.table_id,
            "row": cell.row,
            "column": cell.column,
            "printed": cell.printed,
            "unit": cell.unit,
            "default": _round(values[0]),
            "nearest": None if nearest is None else _round(values[nearest]),
            "min": _round(min(known, default=None)),
            "max": _round(max(known, default=None)),
            "default_verdict": judged[0],
            "nearest_verdict": None if nearest is None else judged[nearest],
            "within_tolerance": _share(judged, {"reproduced"}) if gated else None,
            "within_close": _share(judged, {"reproduced", "close"}) if gated else None,
        }
    return summary


def _share(verdicts: Sequence[str], wanted: set[str]) -> float:
    return round(sum(verdict in wanted for verdict in verdicts) / len(verdicts), 4)


def _round(value: float | None) -> float | None:
    """Round to ten significant digits, as in results.json, so that small differences of machines do not show."""
    return None if value is None else float(f"{value:.10g}")


def compute_main_effects(
    measured: Sequence[MeasuredReading], cells: Sequence[PublishedCell], questions: Iterable[str]
) -> dict[str, Any]:
    """Return how far each question moves the compared cells, in their unit.

    An additive model of questions is fitted to each cell by least squares; over a full cross product its
    coefficients are differences between the means of options. `effect` is the mean over cells of the distance
    between the highest and the lowest option, `options` the mean over cells of each option less the default.
    A question that the readings at hand do not vary, or cannot separate from others, has None.
    """
    compared = [
        cell
        for cell in choose_compared_cells(cells)
        if all(m.values.get(cell.id) is not None for m in measured)
    ]
    # The default's option is first, since its reading is.
    seen = {name: list(dict.fromkeys(reading.reading[name] for reading in measured)) for name in questions}
    columns = [(name, option) for name, options in seen.items() for option in options[1:]]
    unknown: dict[str, Any] = {name: {"effect": None, "options": {}} for name in seen}
    if not compared or not columns:
        return unknown
    design = np.array(
        [[1.0, *(float(m.reading[name] == option) for name, option in columns)] for m in measured]
    )
    values = np.array([[m.values[cell.id] for cell in compared] for m in measured], dtype=np.float64)
    coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    if rank < design.shape[1]:
        return unknown
    shifts = {column: coefficients[1 + place] for place, column in enumerate(columns)}
    return unknown | {
        name: _describe_effect(name, options, shifts, compared)
        for name, options in seen.items()
        if len(options) > 1
    }


def _describe_effect(
    name: str,
    options: Sequence[str],
    shifts: Mapping[tuple[str, str], Floats],
    cells: Sequence[PublishedCell],
) -> dict[str, Any]:
    zero = np.zeros(len(cells))
    by_option = np.array([shifts.get((name, option), zero) for option in options])
    spread = by_option.max(axis=0) - by_option.min(axis=0)
    tables: dict[str, list[float]] = {}
    for cell, cell_spread in zip(cells, spread, strict=True):
        tables.setdefault(cell.table_id, []).append(float(cell_spread))
    return {
        "effect": round(float(spread.mean()), 4),
        "options": {
            option: round(float(row.mean()), 4) for option, row in zip(options, by_option, strict=True)
        },
        "tables": {table: round(sum(spreads) / len(spreads), 4) for table, spreads in tables.items()},
    }


def summarize_claims(claims: Iterable[Claim], readings: Sequence[MeasuresByExperiment]) -> dict[str, Any]:
    """Return for each claim that these results can answer the share of readings in which it holds."""
    summary = {}
    available = set().union(*(set(results) for results in readings)) if readings else set()
    for claim in claims:
        needed = list_claim_experiments(claim)
        if not needed or not set(needed) <= available:
            continue
        outcomes = [evaluate_claim(claim, results).outcome for results in readings]
        decided = [outcome for outcome in outcomes if outcome != "not run"]
        if decided:
            summary[claim.id] = {
                "statement": claim.statement,
                "where": claim.where,
                "experiments": needed,
                "default": outcomes[0],
                "readings": len(decided),
                "holds": round(sum(outcome == "holds" for outcome in decided) / len(decided), 4),
            }
    return summary
