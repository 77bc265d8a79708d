"""`textcat fetch`: bring a collection, verify it, and say what was used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.completions import collections
from textcat.cli.options import Workplace, working, workplace


@click.command("fetch", epilog="Example:  textcat fetch reuters21578 --from /media/disk/collections")
@click.argument(
    "corpora", nargs=-1, required=True, metavar="CORPUS|EXPERIMENT...", shell_complete=collections
)
@click.option("--from", "source", help="A folder, an archive or an address to take it from.")
@click.option(
    "--export", type=click.Path(path_type=Path), help="Afterwards copy it to this folder, as a mirror."
)
@working
def command(corpora: tuple[str, ...], source: str | None, export: Path | None, **settings: Any) -> None:
    """Bring collections to this machine and verify them.

    CORPUS is a name that `textcat list corpora` shows; an experiment's file stands for its corpus. Sources are
    tried in this order: the files already in place, the mirror, then the ways that `textcat show CORPUS`
    lists. What comes is verified before it is put in place; doing it again changes nothing.
    """
    place = workplace(settings)
    for name in corpora:
        _bring(_corpus_of(name), source, export, place)


def _corpus_of(name: str) -> str:
    from textcat.corpora import corpus_names

    if name in corpus_names() or not name.endswith(".yaml"):
        return name
    from textcat.experiment.spec.loading import load_experiment

    return load_experiment(name).corpus.name


def _bring(name: str, source: str | None, export: Path | None, place: Workplace) -> None:
    from textcat.corpora import describe, fetch, is_fetched
    from textcat.corpora.fetch.collection import export as copy_out

    if place.dry_run:
        describe(name)
        click.echo(f"fetch {name}: {'ready' if is_fetched(name, place.data) else 'to do'}")
        return
    from textcat.cli.options import download_watcher

    report = fetch(
        name,
        place.data,
        source=source,
        offline=place.offline,
        mirror=place.mirror,
        progress=download_watcher(),
    )
    place.say(f"{name}: {'brought from' if report.fresh else 'already here, from'} {report.source}")
    place.say(f"  folder    {report.folder}")
    place.say(f"  verified  {report.verified}")
    for what, number in report.counts.items():
        place.say(f"  {what}: {number:,}")
    place.say(f"  terms     {report.terms.strip()}")
    place.say(f"  cite      {report.citation.strip()}")
    if export:
        place.say(f"  copied to {copy_out(name, place.data, export)}")
