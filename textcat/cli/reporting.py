"""Writing an experiment's report and printing its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from textcat.experiment.pipeline import Plan
    from textcat.experiment.runner import Timings
    from textcat.experiment.steps.step import Workshop


def write_and_print(plan: Plan, workshop: Workshop, timings: Timings, results: Path) -> None:
    """results.json and its readers' forms in results/EXPERIMENT/, and the tables on standard output."""
    from textcat.experiment.results import collect
    from textcat.experiment.timings import timings_of, write_timings
    from textcat.report.results_file import with_timings, write_results
    from textcat.report.writer import write_report

    collected = collect(plan, workshop)
    folder = results / plan.experiment.name
    write_results(folder, collected)
    seconds = timings_of(plan, workshop, timings)
    write_timings(folder, seconds)
    printed = write_report(folder, with_timings(collected, seconds), timings.seconds)
    click.echo(printed)
    stages = "  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.seconds.items())
    click.echo(f"\nTime: {stages}\nReport: {folder / 'report.html'}")
