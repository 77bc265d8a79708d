"""The headline of the matrix: every printed number counted once under each reading.

The held-out reading of a table was found without that table, so no cell has had a say in the reading it is judged
under. The reconstructed reading was found with all numbers, and the experiment files have it. The literal reading
follows the words of a paper alone. Numbers under the held-out and the literal reading are those of multiverse.json.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from textcat.experiment.run.multiverse import READINGS
from textcat.experiment.run.reading_plan import ReadableExperiment
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.published.check import HEADLINE, CellVerdict, count_verdicts
from textcat.published.printed_tables import PAPERS
from textcat.published.readings import Answers, find_reading, load_answers, load_readings
from textcat.report.multiverse_page import LABELS, read_summary
from textcat.report.strips import Range

COMPARED = HEADLINE[:3]
MEANINGS = {
    "held_out": "found without the table that is judged",
    "reconstructed": "found with all printed numbers",
    "literal": "found in the words of the paper alone",
}


@dataclass(frozen=True)
class Answered:
    """How an experiment answers the open questions of its paper.

    `departures`: questions that it answers otherwise than the reconstructed reading does; `against_words`: the answers
    other than the literal ones, with their certainty.
    """

    departures: tuple[str, ...] = ()
    against_words: tuple[tuple[str, str, float], ...] = ()


@cache
def find_answers(experiment: str) -> Answered | None:
    """Compare an experiment of the papers with the reconstructed reading; None for other experiments."""
    paper = "zhang_oles_2001" if experiment == "reuters_modapte" else experiment.partition("/")[0]
    if paper not in PAPERS or experiment not in find_experiment_files():
        return None
    readings = load_readings(paper)
    loaded = ReadableExperiment.load(experiment, readings)
    answers = load_answers().get(paper, Answers())
    effective = loaded.find_effective_options()
    against = [
        (name, option, answers.certainty.get(name, 1.0))
        for name, option in answers.reconstructed.items()
        if name in effective and effective[name].get(option) != readings.questions[name].literal
    ]
    departures = loaded.find_departures(find_reading("reconstructed", readings))
    return Answered(tuple(departures), tuple(against))


def describe_choices(experiments: Iterable[str]) -> str:
    """Say in one line how the open questions were answered; empty for experiments that are not the papers'."""
    known = [found for name in experiments if (found := find_answers(name)) is not None]
    if not known:
        return ""
    against = sorted(
        {answer for found in known for answer in found.against_words}, key=lambda answer: answer[2]
    )
    if against:
        name, option, certainty = against[0]
        line = (
            f"Reading: reconstructed from the paper's printed numbers; least certain answer: {_plain(name)} "
            f"{_plain(option)} ({100 * certainty:.0f} % of resamples)."
        )
    else:
        line = "Reading: literal; the printed numbers identify no other answer."
    departures = sorted({name for found in known for name in found.departures})
    return line + (f" Answered otherwise here: {', '.join(map(_plain, departures))}." if departures else "")


def _plain(name: str) -> str:
    return name.replace("_", " ")


def read_multiverses(folder: Path, papers: Iterable[str] = PAPERS) -> dict[str, dict[str, Any]]:
    """Map papers to what was found about their readings, unless that answers outdated questions."""
    found: dict[str, dict[str, Any]] = {}
    for paper in papers:
        summary = read_summary(folder / paper)
        is_current = summary is not None and summary["options"] == load_readings(paper).patches
        if summary is not None and is_current and "cells" in summary:
            found[paper] = summary
    return found


def read_ranges(folder: Path, papers: Iterable[str] = PAPERS) -> dict[str, Range]:
    """Map cells to their least and greatest number over the readings of their paper."""
    return {
        name: (cell["range"][0], cell["range"][1])
        for found in read_multiverses(folder, papers).values()
        for name, cell in found["cells"].items()
        if cell["range"]
    }


def summarize_by_reading(verdicts: Sequence[CellVerdict], folder: Path | None) -> dict[str, Any]:
    """Count the cells of tables that each reading reproduces, comes close to or misses, in all and by paper.

    Cells whose readings were not searched count under the reading of their experiment file.
    """
    found = read_multiverses(folder) if folder else {}
    cells = {name: each for summary in found.values() for name, each in summary["cells"].items()}
    in_tables = [entry for entry in verdicts if entry.cell.group == "tables" and entry.cell.counted]
    judged = [
        entry for entry in in_tables if entry.gated and entry.state == "run" and entry.verdict != "missing"
    ]
    by_paper: dict[str, dict[str, Counter[str]]] = {}
    for entry in judged:
        for which in READINGS:
            verdict: str = entry.verdict
            if which != "reconstructed" and entry.cell.id in cells:
                verdict = cells[entry.cell.id]["verdicts"][READINGS.index(which)]
            counts = by_paper.setdefault(entry.cell.paper, {name: Counter() for name in READINGS})
            counts[which][verdict if verdict in COMPARED else "off"] += 1
    chances = [summary["chance"] for summary in found.values()]
    return {
        "judged": len(judged),
        "searched": sum(entry.cell.id in cells for entry in judged),
        **{
            which: {place: sum(by[which][place] for by in by_paper.values()) for place in COMPARED}
            for which in ("held_out", "reconstructed", "literal")
        },
        "papers": {
            paper: {which: {place: by[which][place] for place in COMPARED} for which in MEANINGS}
            for paper, by in by_paper.items()
        },
        "chance": {
            "mean": round(sum(mean for mean, _ in chances), 1),
            "sd": round(math.sqrt(sum(sd**2 for _, sd in chances)), 1),
        },
        "not_judged": count_verdicts(in_tables)["headline"],
    }


def list_headline_rows(matrix: Mapping[str, Any]) -> list[list[str]]:
    """Return the counts as rows: numbers in tables by reading, then running text and standard deviations."""
    by_reading = matrix["readings"]
    beside = [str(by_reading["not_judged"][name]) for name in HEADLINE[3:]]
    total = str(matrix["totals"]["counted"])
    rows = [
        [
            f"{LABELS[which]} reading: {meaning}",
            *(str(by_reading[which][place]) for place in COMPARED),
            *beside,
            total,
        ]
        for which, meaning in MEANINGS.items()
    ]
    for name, counts in (
        ("numbers in running text", matrix["text"]),
        ("standard deviations", matrix["spreads"]),
    ):
        rows.append([name, *(str(counts["headline"][place]) for place in HEADLINE), str(counts["counted"])])
    return rows


def format_headline(matrix: Mapping[str, Any]) -> str:
    """Return the headline in Markdown: a sentence, the counts by reading and by paper, and what was not judged."""
    names = ["", *HEADLINE, "all"]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(row)} |" for row in list_headline_rows(matrix)]
    papers = ["| reproduced / close / off | held-out | reconstructed | literal |", "|---|---|---|---|"]
    papers += [f"| {' | '.join(row)} |" for row in list_paper_rows(matrix["readings"])]
    first, *others = list_headline_sentences(matrix)
    return "\n\n".join([first, "\n".join(lines), "\n".join(papers), *others]) + "\n"


def list_paper_rows(by_reading: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each paper: its cells reproduced, close and off under each reading."""
    return [
        [paper, *(" / ".join(str(by[which][place]) for place in COMPARED) for which in MEANINGS)]
        for paper, by in by_reading["papers"].items()
    ]


def list_headline_sentences(matrix: Mapping[str, Any]) -> list[str]:
    """Return the headline as sentences: the counts under held-out readings, chance, what is left out, conclusions."""
    totals, claims = matrix["totals"], matrix["claims"]
    return [
        describe_readings(matrix["readings"]),
        f"Of the {totals['cells']} numbers in tables {totals['repeats']} repeat another one. Of the conclusions, "
        f"{claims['holds']} hold, {claims['fails']} fail and {claims['not run']} could not be tested; "
        f"{claims['cannot fail']} more follow from definitions.",
    ]


BAR_COLOURS = {
    "reproduced": "#4c9f70", "close": "#e9c46a", "off": "#d1685a", "not judged": "#b8c0c8", "no data": "#e3e7ea"
}  # fmt: skip
BAR_WIDTH, BAR_HEIGHT, BAR_LEFT = 560.0, 26, 120


def draw_headline(by_reading: Mapping[str, Any]) -> str:
    """Draw the counts under each reading as stacked bars, an SVG image."""
    beside = {name: by_reading["not_judged"][name] for name in HEADLINE[3:]}
    total = by_reading["judged"] + sum(beside.values())
    lines = []
    for row, which in enumerate(MEANINGS):
        top, x = 34 + row * (BAR_HEIGHT + 8), float(BAR_LEFT)
        lines.append(f'<text x="{BAR_LEFT - 8}" y="{top + 18}" text-anchor="end">{LABELS[which]}</text>')
        for place, number in {**by_reading[which], **beside}.items():
            width = BAR_WIDTH * number / max(total, 1)
            box = f'x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}"'
            lines.append(f'<rect {box} fill="{BAR_COLOURS[place]}"><title>{number} {place}</title></rect>')
            if width > 24:
                lines.append(
                    f'<text x="{x + width / 2:.1f}" y="{top + 18}" text-anchor="middle">{number}</text>'
                )
            x += width
    for column, (place, colour) in enumerate(BAR_COLOURS.items()):
        x = BAR_LEFT + 112 * column
        lines.append(
            f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="19">{place}</text>'
        )
    height = 34 + len(MEANINGS) * (BAR_HEIGHT + 8)
    size = f'viewBox="0 0 {BAR_LEFT + BAR_WIDTH + 10:.0f} {height}" width="700" role="img"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([start, ground, *lines, "</svg>"]) + "\n"


def describe_readings(by_reading: Mapping[str, Any]) -> str:
    """Say what is reproduced under held-out readings, and what chance would reproduce."""
    judged, held = by_reading["judged"], by_reading["held_out"]
    text = (
        f"Of {judged} judged numbers with data, {held['reproduced']} are reproduced and {held['close']} are close "
        "under readings that were found without them."
    )
    chance = by_reading["chance"]
    if chance["mean"]:
        text += (
            f" With printed numbers permuted among cells of one kind, {chance['mean']:.0f} \u00b1 {chance['sd']:.0f} "
            "would be."
        )
    if by_reading["searched"] < judged:
        text += f" The readings of {judged - by_reading['searched']} numbers were not searched."
    return text


def format_percent(share: float | None) -> str:
    """Format a share as a whole percentage."""
    return "-" if share is None else f"{100 * share:.0f}%"
