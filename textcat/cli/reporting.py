"""Writing an experiment's report and printing its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from textcat.cli.options import Workplace
    from textcat.experiment.pipeline import Plan
    from textcat.experiment.runner import Timings
    from textcat.experiment.steps.step import Workshop


def write_and_print(
    plan: Plan,
    workshop: Workshop,
    timings: Timings,
    place: Workplace,
    *,
    anew: bool,
    quote: bool | None = None,
) -> None:
    """results.json and its readers' forms in results/EXPERIMENT/, and the tables on standard output."""
    from textcat.experiment.document_checks import most_empty
    from textcat.experiment.results import collect
    from textcat.experiment.results_file import encoded, with_timings
    from textcat.experiment.timings import timings_of, write_timings
    from textcat.report.looks import look
    from textcat.report.writer import terminal_text, write_report
    from textcat.store.files import write_whole

    collected = collect(plan, workshop)
    folder = place.results / plan.experiment.name
    content = encoded(collected)
    seconds = timings_of(plan, workshop, timings)
    timed = with_timings(collected, seconds)
    empty = most_empty(plan, workshop)
    if anew or timings.built.get("train") or not _is_written(folder, content):
        write_whole(folder / "results.json", content)
        write_timings(folder, seconds)
        looks = look(plan, workshop, collected["runs"], place.data, quote=quote)
        looks = replace(looks, empty=str(empty))
        write_report(folder, timed, timings.seconds, looks)
    place.say(terminal_text(timed))
    place.say(f"\n{empty.summary}")
    stages = "  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.seconds.items())
    place.say(f"\nTime: {stages}\nReport: {folder / 'report.html'}")


def _is_written(folder: Path, content: str) -> bool:
    """Whether the report of exactly these results stands there already."""
    try:
        same = (folder / "results.json").read_text(encoding="utf-8") == content
    except (OSError, UnicodeDecodeError):
        return False
    return same and all((folder / name).is_file() for name in ("report.html", "table.md", "timings.json"))
