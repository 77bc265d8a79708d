"""`textcat check`: compare results with published and pinned numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import CommandSettings, add_common_options, read_command_settings
from textcat.cli.output import print_json
from textcat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textcat.published.baselines import JudgedMark
    from textcat.published.check import CellVerdict


@click.command("check", epilog="Example:  textcat check results/reuters_modapte --json")
@click.argument("where", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[RESULTS]...")
@click.option("--json", "as_json", is_flag=True, help="Print every cell and its verdict as JSON.")
@click.option("--pin", is_flag=True, help="Accept the measured numbers as the new pinned values.")
@add_common_options
def check_command(where: tuple[Path, ...], as_json: bool, pin: bool, **settings: Any) -> int:
    """Compare measured numbers with published and pinned ones.

    RESULTS are folders written by `textcat run`; without RESULTS, all results in the results folder are checked.
    The exit code is 1 if a number moved from its pinned value, or if a cell that was reproduced before is not
    reproduced now. Cells that were not run are listed and never pass.
    """
    from textcat.published.baselines import count_marks, describe_counts
    from textcat.published.check import summarize_verdicts
    from textcat.report.gate import (
        find_changed_sources,
        find_results,
        find_unpinned,
        judge_baselines,
        judge_results,
        pin_values,
    )
    from textcat.report.reading_headlines import summarize_by_reading

    options = read_command_settings(settings)
    results = find_results(where or (options.results,))
    verdicts = judge_results(results, everything=not where)
    if not verdicts and not judge_baselines(results, everything=not where):
        raise UsageError(
            f"nothing to compare: no number of {', '.join(sorted(results))} is published",
            where=" ".join(map(str, where)),
            hint="`textcat list tables` names the tables; `textcat compare` compares runs of your own documents.",
        )
    if pin:
        pinned = pin_values(results)
        if not options.quiet:
            click.echo(f"pinned {len(verdicts)} cells in {pinned}", err=True)
        verdicts = judge_results(results, everything=not where)
    baselines = judge_baselines(results, everything=not where)
    for name in find_changed_sources(results):
        click.echo(
            f"{name}: the corpus files differ from those of the pinned values; drift is not checked", err=True
        )
    if unpinned := find_unpinned(results):
        click.echo(
            f"measured numbers without a pinned value to compare with: {len(unpinned)}, such as {unpinned[0]}; "
            "`textcat check --pin` accepts them",
            err=True,
        )
    by_reading = summarize_by_reading(verdicts, None if where else options.results)
    if as_json:
        marks = [entry.describe() for entry in baselines]
        facts = {**summarize_verdicts(verdicts), "readings": by_reading, "baselines": marks}
        print_json(facts, ensure_ascii=True)
    else:
        _print_verdicts(verdicts, by_reading, options)
        if baselines:
            options.print_unless_quiet(f"\n{describe_counts(count_marks(baselines))}")
        for entry in baselines:
            if entry.failed:
                _print_failure(entry.id, entry)
    failed = [entry.failed for entry in verdicts] + [entry.failed for entry in baselines]
    return 1 if any(failed) else 0


def _print_failure(name: str, entry: CellVerdict | JudgedMark) -> None:
    now = "missing" if entry.measured is None else f"{entry.measured:.4g}"
    click.echo(f"FAILED {name}: pinned {entry.pinned:.4g}, now {now} ({entry.verdict})", err=True)


def _print_verdicts(
    verdicts: Sequence[CellVerdict], by_reading: dict[str, Any], options: CommandSettings
) -> None:
    from tabulate import tabulate

    from textcat.published.check import VERDICTS, describe_interval_counts, summarize_verdicts
    from textcat.report.reading_headlines import describe_readings

    facts = summarize_verdicts(verdicts)
    rows = [
        [name, table["run"], *(table["verdicts"].get(each, 0) for each in VERDICTS[:-1]), table["not_run"]]
        for name, table in facts["tables"].items()
    ]
    options.print_unless_quiet(tabulate(rows, headers=["table", "run", *VERDICTS[:-1], "not run"]))
    options.print_unless_quiet(f"\n{describe_readings(by_reading)}")
    groups = {"tables": "totals", "running text": "text", "standard deviations": "spreads"}
    for name, group in groups.items():
        if facts[group]["cells"]:
            options.print_unless_quiet(f"\n{_describe_counts(name, facts[group])}")
    if counted := describe_interval_counts(facts["totals"]):
        options.print_unless_quiet(f"\n{counted}")
    for entry in verdicts:
        if entry.failed:
            _print_failure(entry.cell.id, entry)


def _describe_counts(name: str, counts: dict[str, Any]) -> str:
    """Return the counts of one group of printed numbers, each number counted once, as a sentence."""
    from textcat.report.reading_headlines import format_percent

    headline = ", ".join(f"{number} {place}" for place, number in counts["headline"].items())
    repeats = f", of which {counts['repeats']} repeat another" if counts["repeats"] else ""
    share, agreed = (format_percent(counts[key]) for key in ("share_reproduced", "share_reproduced_or_close"))
    return (
        f"{name}: {counts['cells']} printed numbers{repeats}. {headline}. Of the judged numbers with available data "
        f"{share} are reproduced and {agreed} are reproduced or close."
    )
