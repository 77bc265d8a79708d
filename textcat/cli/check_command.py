"""`textcat check`: compare results with published and pinned numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import CommandSettings, add_common_options, read_command_settings
from textcat.cli.output import print_json, print_text
from textcat.errors import DataNotAvailableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textcat.published.check import CellVerdict
    from textcat.report.gate import ResultsByExperiment


@click.command("check", epilog="Example:  textcat check reuters_modapte --json")
@click.argument("where", nargs=-1, metavar="[EXPERIMENT|RESULTS]...")
@click.option("--json", "as_json", is_flag=True, help="Print every cell and its verdict as JSON.")
@click.option("--pin", is_flag=True, help="Accept the measured numbers as the new pinned values.")
@add_common_options
def check_command(where: tuple[str, ...], as_json: bool, pin: bool, **settings: Any) -> int:
    """Compare measured numbers with published and pinned ones.

    EXPERIMENT is a name or a YAML file as for `textcat run`, RESULTS a folder that it wrote; without either, all
    results in the results folder are checked. The exit code is 1 if a number moved from its pinned value, or if a
    cell that was reproduced before is not reproduced now. It is 3 if some results have no pinned numbers to compare
    with, such as those of another copy of a collection or of a variant of a paper's experiment. Cells that were not
    run are listed and never pass.
    """
    from textcat.published.check import summarize_verdicts
    from textcat.report.comparison_tables import judge_against_print
    from textcat.report.gate import (
        explain_unchecked,
        find_results,
        judge_results,
        pin_values,
    )
    from textcat.report.reading_headlines import summarize_by_reading

    options = read_command_settings(settings)
    results = find_results([_find_folder(each, options) for each in where] or [options.results])
    verdicts = judge_results(results, everything=not where)
    # Without names, only the experiments of the papers are counted.
    named = results if where else {}
    variants = {name: judge_against_print(one) for name, one in named.items() if one.get("variant_of")}
    if not verdicts and not variants:
        raise UsageError(
            f"nothing to compare: no number of {', '.join(sorted(results))} is published",
            where=" ".join(where),
            hint="`textcat list tables` names the tables; `textcat compare` compares runs of your own documents.",
        )
    if pin:
        pinned = pin_values(results)
        if not options.quiet:
            print_text(f"pinned {len(verdicts)} cells in {pinned}", err=True)
        verdicts = judge_results(results, everything=not where)
    unchecked = explain_unchecked(results, variants)
    for message in (*unchecked, *_list_remarks(results, options, everything=not where)):
        print_text(message, err=True)
    by_reading = summarize_by_reading(verdicts, None if where else options.results)
    if as_json:
        facts = {
            **summarize_verdicts(verdicts),
            "readings": by_reading,
            "variants": {name: summarize_verdicts(cells) for name, cells in variants.items()},
            "unchecked": unchecked,
        }
        print_json(facts, ensure_ascii=True)
    else:
        if verdicts:
            _print_verdicts(verdicts, by_reading, options)
        for name, cells in variants.items():
            options.print_unless_quiet(f"\n{name}, a variant of {results[name]['variant_of']}\n")
            _print_tables(summarize_verdicts(cells), options)
    if any(entry.failed for entry in verdicts):
        return 1
    compared = any(entry.pinned is not None for entry in verdicts)
    return DataNotAvailableError.exit_code if unchecked or not compared else 0


def _list_remarks(results: ResultsByExperiment, options: CommandSettings, *, everything: bool) -> list[str]:
    """Say which results are left out, and which numbers have no pinned value yet."""
    from textcat.experiment.run.results_file import LOCAL_FOLDER
    from textcat.report.gate import find_unpinned

    remarks, local = [], options.results / LOCAL_FOLDER
    if everything and local.is_dir():
        remarks.append(
            f"{local}: results of other copies of a collection are left out; `textcat check {local}` reads them"
        )
    if unpinned := find_unpinned(results):
        remarks.append(
            f"measured numbers without a pinned value to compare with: {len(unpinned)}, such as {unpinned[0]}; "
            "`textcat check --pin` accepts them"
        )
    return remarks


def _find_folder(named: str, options: CommandSettings) -> Path:
    """Return the results that are named by their folder or file, or by their experiment."""
    from textcat.experiment.run.results_file import RESULTS_FILE, locate_results
    from textcat.experiment.spec.loading import load_experiment

    path = Path(named)
    if path.is_dir() or path.name == RESULTS_FILE:
        return path
    folder = locate_results(load_experiment(named), options)
    if not (folder / RESULTS_FILE).is_file():
        raise DataNotAvailableError(
            "the experiment has no results here", where=str(folder), hint=f"Run it first: textcat run {named}"
        )
    return folder


def _print_verdicts(
    verdicts: Sequence[CellVerdict], by_reading: dict[str, Any], options: CommandSettings
) -> None:
    from textcat.published.check import describe_interval_counts, summarize_verdicts
    from textcat.report.reading_headlines import describe_readings

    facts = summarize_verdicts(verdicts)
    _print_tables(facts, options)
    options.print_unless_quiet(f"\n{describe_readings(by_reading)}")
    groups = {"tables": "totals", "running text": "text", "standard deviations": "spreads"}
    for name, group in groups.items():
        if facts[group]["cells"]:
            options.print_unless_quiet(f"\n{_describe_counts(name, facts[group])}")
    if counted := describe_interval_counts(facts["totals"]):
        options.print_unless_quiet(f"\n{counted}")
    for entry in verdicts:
        if entry.failed:
            now = "missing" if entry.measured is None else f"{entry.measured:.4g}"
            pinned = f"pinned {entry.pinned:.4g}, now {now} ({entry.verdict})"
            print_text(f"FAILED {entry.cell.id}: {pinned}", err=True)


def _print_tables(facts: dict[str, Any], options: CommandSettings) -> None:
    from tabulate import tabulate

    from textcat.published.check import VERDICTS

    rows = [
        [name, table["run"], *(table["verdicts"].get(each, 0) for each in VERDICTS[:-1]), table["not_run"]]
        for name, table in facts["tables"].items()
    ]
    options.print_unless_quiet(tabulate(rows, headers=["table", "run", *VERDICTS[:-1], "not run"]))


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
