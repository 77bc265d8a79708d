"""multiverse.json and its page: how each open question of a paper was answered, and what each reading reproduces."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from textcat.errors import BadDataError
from textcat.experiment.run.multiverse import FORMAT, READINGS, make_answers
from textcat.published.check import HEADLINE
from textcat.published.printed_tables import PublishedCell, load_all_cells
from textcat.published.readings import ANSWERS_HEADER, Answers, load_answers
from textcat.report.experiment_page import render_template
from textcat.store.files import write_atomically

SUMMARY_FILE = "multiverse.json"
PAGE_FILE = "multiverse.html"
FOUND = ("readings", "misfit", "answers", "cells", "chance", "claims")
LABELS = {"literal": "literal", "reconstructed": "reconstructed", "held_out": "held-out"}
PLACES = HEADLINE[:3]


def write_multiverse(
    folder: Path, summary: Mapping[str, Any], earlier: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Write the summary, merged with an earlier one, and its page."""
    merged = merge_summaries(earlier, summary)
    text = json.dumps(merged, indent=1, ensure_ascii=False, sort_keys=False)
    write_atomically(folder / SUMMARY_FILE, _join_lists(text) + "\n")
    write_atomically(folder / PAGE_FILE, render_multiverse_page(merged))
    return merged


def _join_lists(text: str) -> str:
    """Put each list on one line."""
    return re.sub(
        r"\[\s[^\[\]{}]*\]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]).replace("[ ", "["), text
    )


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Return the contents of multiverse.json in a folder; None without the file."""
    path = folder / SUMMARY_FILE
    if not path.exists():
        return None
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if summary["format"] != FORMAT:
            raise ValueError(f"format {summary['format']}")
        if not {"paper", "options", "questions", "experiments"} <= summary.keys():
            raise ValueError("a part is missing")
        return summary
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "Delete it; `textcat multiverse` writes it again."
        raise BadDataError(f"not readable as a multiverse: {error}", where=str(path), hint=hint) from error


def merge_summaries(before: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new summary with the experiments that only an earlier one has.

    What an earlier, complete search found on the same questions is kept where the new one did not end.
    """
    if before is None or before["paper"] != new["paper"]:
        return dict(new)
    merged = {**new, "experiments": {**before["experiments"], **new["experiments"]}}
    unfinished = "readings" not in new or not new["complete"]
    if "readings" in before and before["complete"] and before["options"] == new["options"] and unfinished:
        merged |= {name: before[name] for name in FOUND if name in before} | {"complete": True}
    return merged


def write_answers(summaries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write answers.yaml with the answers of these papers; those of other papers stay."""
    answers = {paper: each.model_dump() for paper, each in load_answers().items()}
    answers |= {
        paper: Answers(**make_answers(each)).model_dump()
        for paper, each in summaries.items()
        if "readings" in each
    }
    path = Path(str(files("textcat.published").joinpath("readings/answers.yaml")))
    text = yaml.safe_dump(dict(sorted(answers.items())), sort_keys=False, allow_unicode=True, width=120)
    write_atomically(path, ANSWERS_HEADER + text)


def find_cells(summary: Mapping[str, Any], group: str = "tables") -> list[PublishedCell]:
    """Return the cells of a summary that a group counts."""
    return [cell for cell in load_all_cells() if cell.id in summary.get("cells", {}) and cell.group == group]


def count_by_reading(summary: Mapping[str, Any], cells: list[PublishedCell]) -> dict[str, dict[str, int]]:
    """Count the cells that each reading reproduces, comes close to, or misses."""
    counts: dict[str, dict[str, int]] = {}
    for position, which in enumerate(READINGS):
        verdicts = Counter(summary["cells"][cell.id]["verdicts"][position] for cell in cells)
        off = sum(number for verdict, number in verdicts.items() if verdict not in PLACES)
        counts[which] = {"reproduced": verdicts["reproduced"], "close": verdicts["close"], "off": off}
    return counts


def describe_certainty(answer: Mapping[str, Any]) -> str:
    """Say in one word or two whether the numbers identify an answer."""
    if answer["certainty"] is None:
        return "not measured"
    if answer["answer"] != answer["literal"]:
        return "identified against the words"
    return "identified as in the words" if answer["certainty"] >= 0.9 else "not identified: words decide"


def render_multiverse_page(summary: Mapping[str, Any]) -> str:
    """Render the page."""
    return render_template(
        "multiverse.html",
        title=f"Readings of {summary['paper']}" if summary["paper"] else "Readings of an experiment",
        kicker="multiverse",
        summary={},
        found=summary if "readings" in summary else None,
        whole=count_by_reading(summary, find_cells(summary)) if "cells" in summary else {},
        tables=_describe_tables(summary),
        answers=_rank_answers(summary),
        describe_certainty=describe_certainty,
        experiments=summary["experiments"],
        effects={name: measure_effects(each) for name, each in summary["experiments"].items()},
        questions=summary["questions"],
        labels=LABELS,
        places=PLACES,
    )


def _rank_answers(summary: Mapping[str, Any]) -> dict[str, Any]:
    answers = summary.get("answers", {})
    changed = sorted(
        (name for name in answers if answers[name]["answer"] != answers[name]["literal"]),
        key=lambda name: -answers[name]["gain"],
    )
    return {name: answers[name] for name in [*changed, *(name for name in answers if name not in changed)]}


def _describe_tables(summary: Mapping[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for group in ("tables", "text", "spreads"):
        for cell in find_cells(summary, group):
            tables.setdefault(cell.table_id, []).append(cell)
    return {
        table: {
            "counts": count_by_reading(summary, cells),
            "held_out": summary["readings"]["held_out"].get(table.removesuffix("_spread"), {}),
            "cells": [{"cell": cell, **summary["cells"][cell.id]} for cell in cells],
        }
        for table, cells in tables.items()
    }


def measure_effects(experiment: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Return how far each single change from the literal reading moves the numbers on average, the largest first."""
    literal = next((each["values"] for each in experiment["readings"] if not each["options"]), None)
    if literal is None:
        return []
    found = []
    for each in experiment["readings"]:
        moved = [
            new - old for new, old in zip(each["values"], literal, strict=True) if None not in (new, old)
        ]
        if len(each["options"]) == 1 and moved:
            [(name, option)] = each["options"].items()
            found.append((name, option, sum(moved) / len(moved)))
    return sorted(found, key=lambda effect: -abs(effect[2]))


def format_summary(summary: Mapping[str, Any]) -> str:
    """Format what was found for a terminal."""
    from tabulate import tabulate  # noqa: PLC0415

    parts = [
        f"{name}: {len(each['readings'])} readings measured" for name, each in summary["experiments"].items()
    ]
    if "readings" not in summary:
        for name, each in summary["experiments"].items():
            rows = [[question, option, f"{moved:+.2f}"] for question, option, moved in measure_effects(each)]
            parts.append(
                f"{name}\n" + tabulate(rows, ["question", "option", "mean change from the literal reading"])
            )
        return "\n\n".join(parts)
    if not summary["complete"]:
        parts.append("The time was over before the search ended; run the command again to go on.")
    rows = []
    for name, each in _rank_answers(summary).items():
        changed = each["answer"] != each["literal"]
        certainty = "" if each["certainty"] is None else f"{100 * each['certainty']:.0f}%"
        gain = f"{each['gain']:.3f}" if changed else ""
        rows.append(
            [
                name,
                each["literal"],
                each["answer"] if changed else "",
                gain,
                certainty,
                describe_certainty(each),
            ]
        )
    parts.append(tabulate(rows, ["question", "literal", "reconstructed", "gain", "certainty", ""]))
    counts = {"all tables": count_by_reading(summary, find_cells(summary))}
    counts |= {table: each["counts"] for table, each in _describe_tables(summary).items()}
    lines = [
        [table, *(" / ".join(str(by[which][place]) for place in PLACES) for which in READINGS)]
        for table, by in counts.items()
    ]
    parts.append(tabulate(lines, ["reproduced / close / off", *(LABELS[which] for which in READINGS)]))
    mean, deviation = summary["chance"]
    parts.append(
        f"With printed numbers permuted among cells of one kind, {mean:.0f} \u00b1 {deviation:.0f} would be reproduced."
    )
    return "\n\n".join(parts)
