"""`textcat compare`: compare two runs per category, with significance tests."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.options import add_work_options, read_command_settings
from textcat.cli.output import make_visible, print_json, print_text


@click.command("compare", epilog="Example:  textcat compare reuters_modapte:svm logistic")
@click.argument("left", type=click.Path(readable=False))
@click.argument("right", type=click.Path(readable=False))
@click.option(
    "-n",
    "--number",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Number of categories to show.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=100),
    default=1000,
    show_default=True,
    help="Number of bootstrap samples.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed of the bootstrap."
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@add_work_options
def compare_command(
    left: str, right: str, number: int, samples: int, seed: int, as_json: bool, **settings: Any
) -> None:
    """Compare two evaluated runs per category and test whether the differences are significant.

    LEFT and RIGHT are EXPERIMENT:RUN, where the experiment is a name, a file or a results folder; for the same
    experiment, RIGHT may be the run alone. Both runs must have the same test documents. McNemar's test, the
    micro sign test and the bootstrap need the decisions that `textcat run` stores in the cache; without them,
    only the tests on counts are computed, with a note.
    """
    from textcat.experiment.run.outcomes import compare_outcomes, read_outcome

    place = read_command_settings(settings)
    first, one = _split_run_name(left, "")
    second, other = _split_run_name(right, first)
    if place.dry_run:
        print_text(f"compare {first}:{one} with {second}:{other}; bootstrap of {samples} samples")
        return
    outcomes = [read_outcome(*each, place) for each in ((first, one), (second, other))]
    facts = compare_outcomes(*outcomes, seed=seed, samples=samples)
    if as_json:
        print_json(facts)
        return
    _print_comparison(facts, number)


def _split_run_name(given: str, experiment: str) -> tuple[str, str]:
    """Split EXPERIMENT:RUN; a run alone belongs to the given experiment."""
    where, colon, run = given.rpartition(":")
    if colon and where and run:
        return where, run
    if experiment and not colon:
        return experiment, given
    raise click.UsageError(f"{given!r} is not EXPERIMENT:RUN. `textcat show EXPERIMENT` lists its runs.")


def _print_comparison(facts: dict[str, Any], number: int) -> None:
    from tabulate import tabulate

    facts = make_visible(facts)
    print_text(f"left   {facts['left']}\nright  {facts['right']}\n{facts['documents']} documents, "
               f"{len(facts['categories'])} categories\n")  # fmt: skip
    measured = []
    for name, each in facts["overall"].items():
        interval = "-" if each.get("low") is None else f"{each['low']:+.2f} to {each['high']:+.2f}"
        measured.append([name, each["left"], each["right"], f"{each['difference']:+.2f}", interval])
    print_text(tabulate(measured, ["", "left", "right", "left - right", "95% interval"], floatfmt=".2f"))
    tests = [
        [name, each["left_better"], each["right_better"], _format_p_value(each["p"])]
        for name, each in facts["tests"].items()
    ]
    print_text("\n" + tabulate(tests, ["test", "left better", "right better", "p"]))
    # By p-value, then by difference in errors.
    rows = sorted(
        facts["categories"],
        key=lambda row: (row.get("p", 1.0), -abs(row["left_errors"] - row["right_errors"])),
    )[:number]
    if rows:
        headers = ["category", "documents", "F1 left", "F1 right", "errors left", "errors right"]
        if "p" in rows[0]:
            headers += ["only left correct", "only right correct", "p", "adjusted p"]
        print_text("\n" + tabulate([_format_row(row) for row in rows], headers))
    for note in facts["notes"]:
        print_text(f"Note: {note}.", err=True)


def _format_row(row: dict[str, Any]) -> list[Any]:
    percents = ["-" if row[side] is None else f"{row[side]:.1f}" for side in ("left_f1", "right_f1")]
    shown = [row["category"], row["documents"], *percents, row["left_errors"], row["right_errors"]]
    if "p" in row:
        shown += [row["only_left_is_right"], row["only_right_is_right"]]
        shown += [_format_p_value(row["p"]), _format_p_value(row["p_adjusted"])]
    return shown


def _format_p_value(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
