"""`textcat fetch`: download and verify collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.completions import complete_collections
from textcat.cli.options import CommandSettings, add_work_options, read_command_settings


@click.command("fetch", epilog="Example:  textcat fetch reuters21578 --from /media/disk/collections")
@click.argument(
    "corpora", nargs=-1, required=True, metavar="CORPUS|EXPERIMENT...", shell_complete=complete_collections
)
@click.option("--from", "source", help="Folder, archive or address to fetch from.")
@click.option(
    "--export", type=click.Path(path_type=Path), help="Copy the collection to this folder, as a mirror."
)
@add_work_options
def command(corpora: tuple[str, ...], source: str | None, export: Path | None, **settings: Any) -> None:
    """Download collections and verify them.

    CORPUS is a name that `textcat list corpora` shows; for an experiment file its corpus is fetched. Sources are
    tried in this order: the files in the data folder, the mirror, the sources that `textcat show CORPUS` lists.
    Files are verified before they are installed. A collection that is installed already is not fetched again.
    """
    place = read_command_settings(settings)
    for name in corpora:
        _fetch_collection(_get_corpus_name(name), source, export, place)


def _get_corpus_name(name: str) -> str:
    from textcat.corpora import list_corpora

    if name in list_corpora() or not name.endswith(".yaml"):
        return name
    from textcat.experiment.spec.loading import load_experiment

    return load_experiment(name).corpus.name


def _fetch_collection(name: str, source: str | None, export: Path | None, place: CommandSettings) -> None:
    from textcat.corpora import fetch_corpus, is_fetched, load_card
    from textcat.corpora.fetch.collection import export_corpus as copy_out

    if place.dry_run:
        load_card(name)
        click.echo(f"fetch {name}: {'ready' if is_fetched(name, place.data) else 'to do'}")
        return
    from textcat.cli.options import make_download_bar

    report = fetch_corpus(
        name,
        place.data,
        source=source,
        offline=place.offline,
        mirror=place.mirror,
        progress=make_download_bar(),
    )
    place.print_unless_quiet(
        f"{name}: {'fetched from' if report.fresh else 'installed already, from'} {report.source}"
    )
    place.print_unless_quiet(f"  folder    {report.folder}")
    place.print_unless_quiet(f"  verified  {report.verified}")
    for what, number in report.counts.items():
        place.print_unless_quiet(f"  {what}: {number:,}")
    place.print_unless_quiet(f"  terms     {report.terms.strip()}")
    place.print_unless_quiet(f"  cite      {report.citation.strip()}")
    if export:
        place.print_unless_quiet(f"  copied to {copy_out(name, place.data, export)}")
