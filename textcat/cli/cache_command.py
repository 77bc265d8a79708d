"""`textcat cache`: show the size of the cache, and clear it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from textcat.cli.options import Duration, add_data_option
from textcat.cli.output import print_json, print_text


@click.group(
    "cache", invoke_without_command=True, epilog="Example:  textcat cache clear --older-than 30d --dry-run"
)
@add_data_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def cache_command(context: click.Context, data: Path, as_json: bool) -> None:
    """Show the size of the cache by stage, or clear it.

    The cache holds the finished steps of runs. What is deleted is computed again by the next run that needs it;
    collections, models and results are not in the cache.
    """
    from textcat.store.cache_folder import list_artifacts

    context.obj = data
    if context.invoked_subcommand is not None:
        return
    root = data / "cache"
    numbers, sizes = Counter[str](), Counter[str]()
    for artifact in list_artifacts(root):
        numbers[artifact.stage] += 1
        sizes[artifact.stage] += artifact.bytes
    if as_json:
        stages = {stage: {"artifacts": numbers[stage], "bytes": sizes[stage]} for stage in numbers}
        print_json(
            {
                "folder": str(root),
                "artifacts": numbers.total(),
                "bytes": sizes.total(),
                "stages": stages,
            },
            ensure_ascii=True,
        )
        return
    print_text(f"{root}: {_count(numbers.total())}, {format_bytes(sizes.total())}")
    for stage, size in sizes.most_common():
        print_text(f"  {format_bytes(size):>9}  {numbers[stage]:>6,}  {stage}")


@cache_command.command("clear", epilog="Example:  textcat cache clear --older-than 30d")
@click.option(
    "--older-than",
    type=Duration("hdw", "12h, 30d or 4w"),
    metavar="AGE",
    help="Delete what was built before: 12h, 30d, 4w.",
)
@click.option("--all", "everything", is_flag=True, help="Delete everything.")
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and delete nothing.")
@add_data_option
@click.pass_context
def clear_command(
    context: click.Context, older_than: float | None, everything: bool, dry_run: bool, data: Path
) -> None:
    """Delete old artifacts, or all; nothing while another command works with the cache."""
    from textcat.store.cache_folder import clear_artifacts

    if everything == (older_than is not None):
        raise click.UsageError("Give --older-than or --all.")
    source = context.get_parameter_source("data")
    given = source in (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
    root = (data if given else context.obj) / "cache"
    done = clear_artifacts(root, older_than or 0.0, dry_run=dry_run)
    size = sum(artifact.bytes for artifact in done)
    print_text(f"{'Would delete' if dry_run else 'Deleted'} {_count(len(done))}, {format_bytes(size)}.")


def _count(number: int) -> str:
    return f"{number:,} artifact{'' if number == 1 else 's'}"


def format_bytes(size: int) -> str:
    """Format a size in bytes, kB, MB or GB."""
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5 or unit == "GB":
            break
    return f"{value:.1f} {unit}"
