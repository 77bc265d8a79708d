"""The headline by reading: what the default reading reproduces, and what the nearest one does.

The default reading uses no test result. The nearest reading is fitted to test results, and known only for the
experiments whose readings were run (multiverse.json). Experiments that still take other options than the default
reading are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from textcat.experiment.run.multiverse import describe_questions
from textcat.experiment.run.reading_plan import ReadableExperiment
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.published.check import HEADLINE, CellVerdict, count_verdicts
from textcat.published.printed_tables import PAPERS
from textcat.published.reading_summary import FITTED
from textcat.published.readings import load_readings
from textcat.report.multiverse_page import read_summary

COMPARED = HEADLINE[:3]


@dataclass(frozen=True)
class Departures:
    """The open questions that an experiment answers differently from the default reading or does not answer.

    `fitted`: those whose answer was chosen by test results.
    """

    questions: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ()


@cache
def find_departures(experiment: str) -> Departures:
    """Compare an experiment of the papers with the default reading; others have no departures."""
    paper = "zhang_oles_2001" if experiment == "reuters_modapte" else experiment.partition("/")[0]
    if paper not in PAPERS or experiment not in find_experiment_files():
        return Departures()
    loaded = ReadableExperiment.load(experiment, load_readings(paper))
    questions = loaded.find_departures()
    if not questions:
        return Departures()
    taken = loaded.find_committed_options()
    fitted = [
        name
        for name in questions
        if (option := taken[name]) and loaded.questions[name].options[option].fitted
    ]
    return Departures(tuple(questions), tuple(fitted))


def describe_choices(experiments: Iterable[str]) -> str:
    """Say in one sentence how the open questions were answered; empty for experiments that are not the papers'."""
    known = [find_departures(name) for name in experiments if name in find_experiment_files()]
    if not known:
        return ""
    fitted = _list_names(found.fitted for found in known)
    others = _list_names(set(found.questions) - set(found.fitted) for found in known)
    if not fitted and not others:
        return "Open questions: the default reading, chosen without any test result."
    parts = [f"answers {FITTED}: {fitted}"] if fitted else []
    parts += (
        [f"answers other than the default reading's, or left to a setting's default: {others}"]
        if others
        else []
    )
    return f"Open questions: {'; '.join(parts)}; otherwise the default reading."


def _list_names(names: Iterable[Iterable[str]]) -> str:
    return ", ".join(name.replace("_", " ") for name in sorted({each for some in names for each in some}))


def summarize_by_reading(verdicts: Sequence[CellVerdict], folder: Path | None) -> dict[str, Any]:
    """Count the cells of tables by reading.

    default: cells of experiments that are the default reading. fitted: of those with an answer chosen by test
    results. other: of those that depart from the default reading without such an answer.
    nearest: for the experiments whose readings were run, the cells under the nearest and under the default reading.
    """
    in_tables = [entry for entry in verdicts if entry.cell.group == "tables"]
    groups: dict[str, list[CellVerdict]] = {"default": [], "fitted": [], "other": []}
    for entry in in_tables:
        found = find_departures(entry.cell.experiment)
        groups["fitted" if found.fitted else "other" if found.questions else "default"].append(entry)
    how = {"default": "no test result involved", "fitted": FITTED, "other": "other answers, not fitted"}
    return {
        **{name: _count(entries) | {"how": how[name]} for name, entries in groups.items()},
        "nearest": _count_nearest(in_tables, read_multiverses(folder) if folder else {}),
    }


def _count(entries: Sequence[CellVerdict]) -> dict[str, Any]:
    counts = count_verdicts(entries)
    return {
        "papers": list(dict.fromkeys(entry.cell.paper for entry in entries)),
        "experiments": sorted({entry.cell.experiment for entry in entries}),
        **{key: counts[key] for key in ("counted", "runnable_gated", "headline")},
    }


def read_multiverses(folder: Path) -> dict[str, dict[str, Any]]:
    """Map the experiments of all papers to summaries of their readings; those of other questions are left out."""
    found: dict[str, dict[str, Any]] = {}
    for paper in PAPERS:
        summary = read_summary(folder / paper)
        if summary is not None and summary["questions"] == describe_questions(load_readings(paper)):
            found |= summary["experiments"]
    return found


def _count_nearest(
    entries: Sequence[CellVerdict], experiments: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Count the judged cells of the experiments whose readings were run, repeats left out."""
    counted = {entry.cell.id: entry.cell.paper for entry in entries if entry.cell.counted and entry.gated}
    cells = [
        (cell_id, cell)
        for experiment in experiments.values()
        for cell_id, cell in experiment["cells"].items()
        if cell_id in counted and cell["nearest_verdict"] is not None
    ]
    return {
        "how": FITTED,
        "papers": list(dict.fromkeys(counted[cell_id] for cell_id, _ in cells)),
        "experiments": {name: len(each["readings"]) for name, each in experiments.items()},
        "cells": len(cells),
        "headline": _count_places(cell["nearest_verdict"] for _, cell in cells),
        "default_headline": _count_places(cell["default_verdict"] for _, cell in cells),
    }


def _count_places(verdicts: Iterable[str]) -> dict[str, int]:
    places = Counter(verdict if verdict in COMPARED else "off" for verdict in verdicts)
    return {name: places[name] for name in COMPARED}


def format_reading_rows(by_reading: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of the headline's table: label, the counts of HEADLINE, and the sum."""
    default, nearest = by_reading["default"], by_reading["nearest"]
    rows = [_make_row(f"**default reading**: {default['how']}", default["headline"], default["counted"])]
    for group in (by_reading["fitted"], by_reading["other"]):
        if group["counted"]:
            label = f"{', '.join(group['experiments'])}: {group['how']}"
            rows.append(_make_row(label, group["headline"], group["counted"]))
    if nearest["cells"]:
        cells = f"{nearest['cells']} cells of {len(nearest['papers'])} papers"
        rows += [
            _make_row(f"**nearest reading**, {FITTED}: {cells}", nearest["headline"], nearest["cells"]),
            _make_row("default reading, the same cells", nearest["default_headline"], nearest["cells"]),
        ]
    return rows


def _make_row(label: str, counts: Mapping[str, int], total: int) -> list[str]:
    return [label, *(str(counts.get(name, "")) for name in HEADLINE), str(total)]
