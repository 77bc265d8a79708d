"""`textcat fetch`: download collections and verify them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.completions import complete_collections
from textcat.cli.options import CommandSettings, FolderToWrite, add_work_options, read_command_settings


@click.command("fetch", epilog="Example:  textcat fetch reuters21578 --from /media/disk/collections")
@click.argument(
    "corpora", nargs=-1, required=True, metavar="CORPUS|EXPERIMENT...", shell_complete=complete_collections
)
@click.option("--from", "source", help="Folder, archive or URL to fetch from.")
@click.option(
    "--export",
    type=FolderToWrite(),
    help="Also copy the collection to this folder, for use as a mirror.",
)
@add_work_options
def command(corpora: tuple[str, ...], source: str | None, export: Path | None, **settings: Any) -> None:
    """Download collections and verify them.

    CORPUS is a name from `textcat list corpora`; for an EXPERIMENT file, its corpus is fetched. Sources are
    tried in this order: files fetched before, the mirror, then the sources listed by `textcat show CORPUS`.
    Files are installed only after verification; fetching again changes nothing.
    """
    options = read_command_settings(settings)
    for name in corpora:
        _fetch_collection(_get_corpus_name(name), source, export, options)


def _get_corpus_name(name: str) -> str:
    from textcat.corpora import list_corpora

    if name in list_corpora() or not name.endswith(".yaml"):
        return name
    from textcat.experiment.spec.loading import load_experiment

    return load_experiment(name).corpus.name


def _fetch_collection(name: str, source: str | None, export: Path | None, options: CommandSettings) -> None:
    from textcat.corpora import fetch_corpus, is_fetched, load_card
    from textcat.corpora.fetch.collection import export_corpus

    if options.dry_run:
        load_card(name)
        click.echo(f"fetch {name}: {'ready' if is_fetched(name, options.data) else 'to do'}")
        return
    from textcat.cli.options import make_download_bar

    report = fetch_corpus(
        name,
        options.data,
        source=source,
        offline=options.offline,
        mirror=options.mirror,
        progress=make_download_bar(),
    )
    options.print_unless_quiet(
        f"{name}: {'fetched from' if report.fresh else 'available, from'} {report.source}"
    )
    options.print_unless_quiet(f"  folder    {report.folder}")
    options.print_unless_quiet(f"  verified  {report.verified}")
    for what, number in report.counts.items():
        options.print_unless_quiet(f"  {what}: {number:,}")
    options.print_unless_quiet(f"  terms     {report.terms.strip()}")
    options.print_unless_quiet(f"  cite      {report.citation.strip()}")
    if export:
        options.print_unless_quiet(f"  copied to {export_corpus(name, options.data, export)}")
