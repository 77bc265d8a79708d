"""`textcat cache`: show the size of the cache, list its artifacts, and delete some of them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import Duration, add_data_option
from textcat.errors import UsageError

if TYPE_CHECKING:
    from textcat.store.housekeeping import Clearing, StoredArtifact

_UNKNOWN = "(no experiment known)"

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    "cache", invoke_without_command=True, epilog="Example:  textcat cache clear --older-than 30d --dry-run"
)
@add_data_option
@_json_option
@click.pass_context
def cache_command(context: click.Context, data: Path, as_json: bool) -> None:
    """Show the size of the cache by stage and experiment; list or delete its artifacts.

    The cache holds the finished steps of runs. What is deleted is computed again by the next run that needs it;
    collections, models and results are not in the cache.
    """
    context.obj = data
    if context.invoked_subcommand is None:
        _print_sizes(data / "cache", as_json)


@cache_command.command("list", epilog="Example:  textcat cache list --experiment reuters_modapte")
@click.option("--experiment", help="Only the artifacts that this experiment uses.")
@add_data_option
@_json_option
@click.pass_context
def list_command(context: click.Context, experiment: str | None, data: Path, as_json: bool) -> None:
    """List the artifacts with stage, key, size, time and experiments."""
    from textcat.store.housekeeping import list_artifacts

    root = _choose_root(context, data)
    found = list_artifacts(root)
    if experiment is not None:
        _check_experiment(experiment, root, found)
        found = [artifact for artifact in found if experiment in artifact.experiments]
    if as_json:
        click.echo(json.dumps([artifact.describe() for artifact in found], indent=1))
        return
    for artifact in found:
        click.echo(_format_artifact(artifact))


@cache_command.command("clear", epilog="Example:  textcat cache clear --experiment reuters_modapte")
@click.option("--experiment", help="Delete what only this experiment uses.")
@click.option(
    "--older-than",
    type=Duration("hdw", "12h, 30d or 4w"),
    metavar="AGE",
    help="Delete what was built before: 12h, 30d, 4w.",
)
@click.option("--all", "everything", is_flag=True, help="Delete everything.")
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and delete nothing.")
@add_data_option
@_json_option
@click.pass_context
def clear_command(
    context: click.Context,
    experiment: str | None,
    older_than: float | None,
    everything: bool,
    dry_run: bool,
    data: Path,
    as_json: bool,
) -> int:
    """Delete the artifacts of an experiment, old artifacts, or all artifacts.

    With --experiment and --older-than, only the old artifacts of that experiment are deleted. Artifacts of
    experiments that are running now are kept, and with --experiment also those that other experiments use.
    """
    from textcat.store.housekeeping import clear_artifacts, list_artifacts

    if everything == (experiment is not None or older_than is not None):
        raise click.UsageError("Give --experiment, --older-than (or both), or --all.")
    root = _choose_root(context, data)
    if experiment is not None:
        _check_experiment(experiment, root, list_artifacts(root))
    done = clear_artifacts(root, experiment=experiment, older_than=older_than, dry_run=dry_run)
    for message in done.errors:
        click.echo(f"Error: {message}", err=True)
    if as_json:
        facts = {
            "dry_run": dry_run,
            "deleted": [artifact.describe() for artifact in done.deleted],
            "bytes": done.bytes,
            "kept_in_use": len(done.in_use),
            "kept_shared": len(done.shared),
            "errors": done.errors,
        }
        click.echo(json.dumps(facts, indent=1))
    else:
        _print_clearing(done, dry_run)
    return 4 if done.errors else 0


def _choose_root(context: click.Context, data: Path) -> Path:
    """Return the cache of --data, given before or after the name of the subcommand."""
    source = context.get_parameter_source("data")
    given = source in (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
    return Path(data if given else context.obj) / "cache"


def _check_experiment(name: str, root: Path, artifacts: list[StoredArtifact]) -> None:
    """Raise UsageError for an experiment that never used this cache."""
    from textcat.store.housekeeping import read_uses
    from textcat.yaml_reader import suggest_names

    known = set(read_uses(root)).union(*(artifact.experiments for artifact in artifacts))
    if name not in known:
        raise UsageError(
            f"no run of an experiment {name!r} used this cache",
            where=str(root),
            hint=suggest_names(name, known),
        )


def _print_sizes(root: Path, as_json: bool) -> None:
    from textcat.store.housekeeping import list_artifacts, sum_sizes

    found = list_artifacts(root)
    tables = {
        "stages": sum_sizes(found, lambda artifact: [artifact.stage]),
        "experiments": sum_sizes(found, lambda artifact: artifact.experiments or ("",)),
    }
    total = sum(artifact.bytes for artifact in found)
    if as_json:
        described: dict[str, Any] = {"folder": str(root), "artifacts": len(found), "bytes": total}
        for heading, sums in tables.items():
            described[heading] = {name: {"artifacts": n, "bytes": size} for name, (n, size) in sums.items()}
        click.echo(json.dumps(described, indent=1))
        return
    click.echo(f"{root}: {_count(len(found))}, {format_bytes(total)}")
    for heading, sums in tables.items():
        if sums:
            click.echo(f"\n{heading}")
        for name, (number, size) in sorted(sums.items(), key=lambda entry: -entry[1][1]):
            click.echo(f"  {format_bytes(size):>9}  {number:>6,}  {name or _UNKNOWN}")
    if any(len(artifact.experiments) > 1 for artifact in found):
        click.echo("\nArtifacts that several experiments share are counted for each of them.")


def _format_artifact(artifact: StoredArtifact) -> str:
    built = datetime.fromtimestamp(artifact.built).strftime("%Y-%m-%d %H:%M")
    users = ", ".join(artifact.experiments) or _UNKNOWN
    state = "  unfinished" if artifact.unfinished else ""
    return f"{artifact.stage:<10} {artifact.key[:12]}  {format_bytes(artifact.bytes):>9}  {built}  {users}{state}"


def _print_clearing(done: Clearing, dry_run: bool) -> None:
    if dry_run:
        for artifact in done.deleted:
            click.echo(_format_artifact(artifact))
    click.echo(
        f"{'Would delete' if dry_run else 'Deleted'} {_count(len(done.deleted))}, {format_bytes(done.bytes)}."
    )
    if done.in_use:
        click.echo(f"Kept {_count(len(done.in_use))} of experiments that are running.")
    if done.shared:
        click.echo(f"Kept {_count(len(done.shared))} that other experiments use as well.")


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
