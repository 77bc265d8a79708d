"""`textcat fetch` and `export`: download and copy collections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import (
    CommandSettings,
    FolderToWrite,
    add_common_options,
    add_work_options,
    make_progress_bar,
    read_command_settings,
)
from textcat.cli.output import print_text

if TYPE_CHECKING:
    from textcat.corpora.document import Document


@click.command("fetch", epilog="Example:  textcat fetch reuters21578 --from /media/disk/collections")
@click.argument(
    "corpora", nargs=-1, required=True, metavar="CORPUS|EXPERIMENT...", type=click.Path(readable=False)
)
@click.option("--from", "source", help="Folder, archive or URL to fetch from.")
@click.option(
    "--export", type=FolderToWrite(), help="Also copy the collection to this folder, for use as a mirror."
)
@add_work_options
def fetch_command(corpora: tuple[str, ...], source: str | None, export: Path | None, **settings: Any) -> None:
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
        print_text(f"fetch {name}: {'ready' if is_fetched(name, options.data) else 'to do'}")
        return
    report = fetch_corpus(
        name,
        options.data,
        source=source,
        offline=options.offline,
        mirror=options.mirror,
        progress=make_progress_bar(),
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


@click.command("export", epilog="Example:  textcat export reuters21578 news.jsonl --split modapte")
@click.argument("corpus")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
@click.option("--split", default="", help="Split of the collection.  [default: its first]")
@click.option("--offline", is_flag=True, help="Do not use the network.")
@add_common_options
def export_command(corpus: str, file: Path, split: str, offline: bool, **settings: Any) -> None:
    """Write the documents of CORPUS to FILE or standard output as JSON Lines.

    Each line holds the id, the labels, the side (train, test or unused) and the fields of a document. The
    collection is fetched first if necessary.
    """
    from textcat.corpora import fetch_corpus, open_corpus
    from textcat.store.files import STANDARD_OUTPUT, open_output

    options = read_command_settings(settings)
    fetched = fetch_corpus(
        corpus, options.data, mirror=options.mirror, offline=offline, progress=make_progress_bar()
    )
    documents = open_corpus(corpus, fetched.folder, split=split or None).documents()
    with open_output(file) as stream:
        number = sum(1 for document in documents if stream.write(_format_document(document)))
    if str(file) not in STANDARD_OUTPUT:
        print_text(f"{file}: {number:,} documents")


def _format_document(document: Document) -> bytes:
    about = {"id": document.id, "labels": list(document.labels), "side": document.split}
    return (json.dumps(about | dict(document.fields), ensure_ascii=False) + "\n").encode()
