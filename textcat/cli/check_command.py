"""`textcat check`: the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import Workplace, folders, verbosity, workplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textcat.published.check import CellVerdict


@click.command("check", epilog="Example:  textcat check results/reuters_modapte --json")
@click.argument("where", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[RESULTS]...")
@click.option(
    "--json", "as_json", is_flag=True, help="Every cell and its verdict as JSON on standard output."
)
@click.option(
    "--pin", is_flag=True, help="Accept the measured numbers: write them to the file of pinned values."
)
@folders
@verbosity
def command(where: tuple[Path, ...], as_json: bool, pin: bool, **settings: Any) -> int:
    """Compare measured numbers with published and pinned ones.

    RESULTS are folders that `textcat run` wrote; without any, all below the results folder are taken. Exit
    code 1 when a number moved from its pinned value, or a cell that was reproduced before no longer is.
    Cells that were not run are listed and never pass.
    """
    from textcat.published.check import failed
    from textcat.report.gate import collected, judged, other_sources, pin_values

    place = workplace(settings)
    results = collected(where or (place.results,))
    verdicts = judged(results, everything=not where)
    if pin:
        pinned = pin_values(results)
        if not place.quiet:
            click.echo(f"pinned {len(verdicts)} cells in {pinned}", err=True)
        verdicts = judged(results, everything=not where)
    for name in other_sources(results):
        click.echo(
            f"{name}: made from other files of its corpus than the pinned values; drift not judged", err=True
        )
    if as_json:
        from textcat.published.summary import summary

        click.echo(json.dumps(summary(verdicts), indent=1))
    else:
        _say(verdicts, place)
    return 1 if failed(verdicts) else 0


def _say(verdicts: Sequence[CellVerdict], place: Workplace) -> None:
    from tabulate import tabulate

    from textcat.published.check import failed
    from textcat.published.summary import VERDICTS, summary

    facts = summary(verdicts)
    rows = [
        [
            name,
            table["run"],
            *(table["verdicts"].get(verdict, 0) for verdict in VERDICTS[:-1]),
            table["not_run"],
        ]
        for name, table in facts["tables"].items()
    ]
    place.say(tabulate(rows, headers=["table", "run", *VERDICTS[:-1], "not run"]))
    totals = facts["totals"]
    place.say(
        f"\n{totals['run']} of {totals['cells']} cells run; of the gated ones {_percent(totals['share_reproduced'])} "
        f"reproduced, {_percent(totals['share_reproduced_or_close'])} reproduced or close."
    )
    for entry in failed(verdicts):
        now = "nothing" if entry.measured is None else f"{entry.measured:.4g}"
        click.echo(
            f"FAILED {entry.cell.id}: pinned {entry.pinned:.4g}, now {now} ({entry.verdict})", err=True
        )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}%"
