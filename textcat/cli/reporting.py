"""Writing an experiment's report and printing its tables."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textcat.cli.options import Workplace
    from textcat.experiment.pipeline import Plan
    from textcat.experiment.runner import Timings
    from textcat.experiment.steps.step import Workshop

log = logging.getLogger(__name__)


def write_and_print(
    plan: Plan,
    workshop: Workshop,
    timings: Timings,
    place: Workplace,
    *,
    anew: bool,
    quote: bool | None = None,
) -> None:
    """Bring results/EXPERIMENT/ up to date as a whole, and print the tables on standard output."""
    from textcat.experiment.document_checks import most_empty
    from textcat.experiment.results import collect
    from textcat.experiment.results_file import encoded, with_timings
    from textcat.experiment.timings import timings_of, write_timings
    from textcat.report.folder import find_damage, seal, sweep
    from textcat.report.looks import look
    from textcat.report.writer import terminal_text, write_report
    from textcat.store.files import write_whole
    from textcat.store.locks import folder_held

    collected = collect(plan, workshop)
    folder = place.results / plan.experiment.name
    content = encoded(collected)
    seconds = timings_of(plan, workshop, timings)
    timed = with_timings(collected, seconds)
    empty = most_empty(plan, workshop)
    with folder_held(folder):
        damage = find_damage(folder, content)
        if anew or timings.built.get("train") or damage:
            log.info("writing %s%s", folder, f": {damage}" if damage else "")
            sweep(folder)
            looks = look(plan, workshop, collected["runs"], place.data, quote=quote)
            looks = replace(looks, empty=str(empty))
            kept = write_timings(folder, seconds)
            write_report(folder, timed, kept["stages"], looks)
            write_whole(folder / "results.json", content)
            seal(folder)
    place.say(terminal_text(timed))
    place.say(f"\n{empty.summary}")
    stages = "  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.seconds.items())
    place.say(f"\nTime: {stages}\nReport: {folder / 'report.html'}")
