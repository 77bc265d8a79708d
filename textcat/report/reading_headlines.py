"""The headline of the matrix: every printed number counted once, and what the default and nearest readings reproduce.

The default reading uses no test result. The nearest reading is fitted to test results, and known only for the
experiments whose readings were run (multiverse.json). Experiments that take other options than the default reading are
counted separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from textcat.experiment.run.multiverse import describe_questions
from textcat.experiment.run.reading_plan import ReadableExperiment
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.published.check import HEADLINE, CellVerdict, count_verdicts
from textcat.published.printed_tables import PAPERS
from textcat.published.readings import FITTED, load_readings
from textcat.report.multiverse_page import read_summary

COMPARED = HEADLINE[:3]


@cache
def find_departures(experiment: str) -> tuple[str, ...]:
    """Return the open questions that an experiment of the papers answers otherwise than the default reading."""
    paper = "zhang_oles_2001" if experiment == "reuters_modapte" else experiment.partition("/")[0]
    if paper not in PAPERS or experiment not in find_experiment_files():
        return ()
    return tuple(ReadableExperiment.load(experiment, load_readings(paper)).find_departures())


def describe_choices(experiments: Iterable[str]) -> str:
    """Say in one sentence how the open questions were answered; empty for experiments that are not the papers'."""
    known = [find_departures(name) for name in experiments if name in find_experiment_files()]
    if not known:
        return ""
    others = _list_names(known)
    if not others:
        return "Open questions: the default reading, chosen without any test result."
    return (
        f"Open questions: answers other than the default reading's, or left to a setting's default: {others}; "
        "otherwise the default reading."
    )


def _list_names(names: Iterable[Iterable[str]]) -> str:
    return ", ".join(name.replace("_", " ") for name in sorted({each for some in names for each in some}))


def summarize_by_reading(verdicts: Sequence[CellVerdict], folder: Path | None) -> dict[str, Any]:
    """Count the cells of tables by reading.

    default: cells of experiments that are the default reading; other: of experiments that depart from it; nearest:
    cells of the experiments whose readings were run, under the nearest and under the default reading.
    """
    in_tables = [entry for entry in verdicts if entry.cell.group == "tables"]
    groups: dict[str, list[CellVerdict]] = {"default": [], "other": []}
    for entry in in_tables:
        groups["other" if find_departures(entry.cell.experiment) else "default"].append(entry)
    how = {"default": "no test result involved", "other": "other answers, not fitted"}
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
    """Map the experiments of all papers to summaries of their readings, unless these answer outdated questions."""
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
    other = by_reading["other"]
    if other["counted"]:
        label = f"{', '.join(other['experiments'])}: {other['how']}"
        rows.append(_make_row(label, other["headline"], other["counted"]))
    if nearest["cells"]:
        cells = f"{nearest['cells']} cells of {len(nearest['papers'])} papers"
        rows += [
            _make_row(f"**nearest reading**, {FITTED}: {cells}", nearest["headline"], nearest["cells"]),
            _make_row("default reading, the same cells", nearest["default_headline"], nearest["cells"]),
        ]
    return rows


def _make_row(label: str, counts: Mapping[str, int], total: int) -> list[str]:
    return [label, *(str(counts.get(name, "")) for name in HEADLINE), str(total)]


def format_headline(matrix: Mapping[str, Any]) -> str:
    """Return the headline in Markdown: the first sentences, the counts as a table, then the other sentences."""
    names = ["", *HEADLINE, "all"]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(row)} |" for row in list_headline_rows(matrix)]
    first, second, *others = list_headline_sentences(matrix)
    return "\n\n".join([first, second, "\n".join(lines), *others]) + "\n"


def list_headline_rows(matrix: Mapping[str, Any]) -> list[list[str]]:
    """Return the counts as rows: numbers in tables by reading, all numbers in tables, then text and deviations."""
    groups = [
        ("all numbers in tables", matrix["totals"]),
        ("numbers in running text", matrix["text"]),
        ("standard deviations", matrix["spreads"]),
    ]
    rows = format_reading_rows(matrix["readings"])
    for name, counts in groups:
        numbers = [*(counts["headline"][each] for each in HEADLINE), counts["counted"]]
        rows.append([name, *map(str, numbers)])
    return rows


def list_headline_sentences(matrix: Mapping[str, Any]) -> list[str]:
    """Return the headline as sentences: first the numbers in tables, then those that are counted separately."""
    totals, claims = matrix["totals"], matrix["claims"]
    found, verdicts = totals["headline"], totals["verdicts"]
    return [
        f"The papers print {totals['cells']} numbers in tables. {totals['repeats']} of them repeat another one by "
        f"construction; of the other {totals['counted']}, {found['reproduced']} are reproduced, "
        f"{found['close']} are close, {found['off']} are off ({verdicts['above']} above print, "
        f"{verdicts['differs']} below it or different otherwise), {found['no data']} have no data here, "
        f"and {found['not judged']} are of kinds that are not judged, such as seconds.",
        describe_readings(matrix["readings"]),
        f"Of the {totals['runnable_gated']} judged numbers with available data, "
        f"{format_percent(totals['share_reproduced'])} are reproduced and "
        f"{format_percent(totals['share_reproduced_or_close'])} are reproduced or close.",
        "Counted separately: "
        + "; ".join(
            f"of {matrix[group]['counted']} {name}, {_list_counts(matrix[group]['headline'])}"
            for group, name in (
                ("spreads", "printed standard deviations"),
                ("text", "numbers of running text"),
            )
        )
        + ".",
        f"Of the papers' conclusions, {claims['holds']} hold, {claims['fails']} fail and {claims['not run']} could "
        f"not be tested. {claims['cannot fail']} more follow from definitions, cannot fail, and are not counted.",
    ]


def describe_readings(by_reading: Mapping[str, Any]) -> str:
    """Say how the papers' open questions were answered, for the default and for the nearest reading."""
    default, other, nearest = (by_reading[name] for name in ("default", "other", "nearest"))
    judged = default["runnable_gated"]
    parts = [
        f"A paper leaves questions open. The default reading answers them without any test result: it reproduces "
        f"{default['headline']['reproduced']} of its {judged} judged numbers with data, and "
        f"{default['headline']['close']} more are close."
    ]
    if other["counted"]:
        parts.append(
            f"{other['headline']['reproduced']} of {other['runnable_gated']} are reproduced by experiments with other "
            f"answers, none fitted ({', '.join(other['experiments'])})."
        )
    if nearest["cells"]:
        parts.append(
            f"The nearest reading is {nearest['how']}: in the {len(nearest['experiments'])} experiments of "
            f"{len(nearest['papers'])} papers whose readings were run, it reproduces "
            f"{nearest['headline']['reproduced']} of {nearest['cells']} numbers, where the default reading "
            f"reproduces {nearest['default_headline']['reproduced']}."
        )
    return " ".join(parts)


def _list_counts(headline: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in headline.items() if number)


def format_percent(share: float | None) -> str:
    """Format a share as a whole percentage."""
    return "-" if share is None else f"{100 * share:.0f}%"
