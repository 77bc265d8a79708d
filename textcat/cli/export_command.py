"""`textcat export`: write the documents of a collection as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings


@click.command("export", epilog="Example:  textcat export reuters21578 news.jsonl --split modapte")
@click.argument("corpus")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
@click.option("--split", default="", help="Split of the collection.  [default: its first]")
@click.option("--offline", is_flag=True, help="Do not use the network.")
@add_folder_options
@add_verbosity_options
def command(corpus: str, file: Path, split: str, offline: bool, **settings: Any) -> None:
    """Write the documents of CORPUS to FILE or standard output as JSON Lines.

    Each line holds the id, the labels, the side (train, test or unused) and the fields of a document. The
    collection is fetched first if necessary.
    """
    from textcat.cli.options import make_download_bar
    from textcat.corpora import fetch_corpus, open_corpus
    from textcat.store.files import STANDARD_OUTPUT, open_output

    options = read_command_settings(settings)
    fetched = fetch_corpus(
        corpus, options.data, mirror=options.mirror, offline=offline, progress=make_download_bar()
    )
    documents = open_corpus(corpus, fetched.folder, split=split or None).documents()
    with open_output(file) as stream:
        number = sum(1 for line in _format_lines(documents) if stream.write(line.encode()))
    if str(file) not in STANDARD_OUTPUT:
        click.echo(f"{file}: {number:,} documents")


def _format_lines(documents: Iterator[Any]) -> Iterator[str]:
    for document in documents:
        about = {"id": document.id, "labels": list(document.labels), "side": document.split}
        yield json.dumps(about | dict(document.fields), ensure_ascii=False) + "\n"
