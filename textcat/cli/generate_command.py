"""`textcat generate`: generate synthetic collections in the format of collections that are not available."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.options import (
    FolderToWrite,
    add_folder_options,
    add_verbosity_options,
    read_command_settings,
)


@click.command(
    "generate", epilog="Example:  textcat generate rcv1-like --documents 50000 --seed 1 --to data/rcv1-like"
)
@click.argument("what", type=click.Choice(["rcv1-like"]))
@click.option("--documents", type=click.IntRange(min=2), required=True, help="Number of documents.")
@click.option(
    "--training",
    type=click.IntRange(min=1),
    help="Number of training documents.  [default: the share of RCV1-v2]",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Random seed; the same seed gives the same files."
)
@click.option("--to", "target", type=FolderToWrite(), required=True, help="Folder to write.")
@add_folder_options
@add_verbosity_options
def command(
    what: str, documents: int, training: int | None, seed: int, target: Path, **settings: Any
) -> None:
    """Generate a synthetic collection with the format and statistics of RCV1-v2, of any size.

    Vocabulary growth, document lengths, topic frequencies and the topic hierarchy follow the real collection.
    Words depend on topics, so learners can learn them. Use it to measure speed at full size. An experiment reads
    it with `corpus: {name: rcv1-like, path: FOLDER}`, as in configs/rcv1_like.yaml.
    """
    from textcat.cli.options import make_progress_bar
    from textcat.corpora.generate import generate_rcv1_like

    options = read_command_settings(settings)
    bar = make_progress_bar()
    made = generate_rcv1_like(
        target,
        documents,
        seed,
        training=training,
        progress=lambda done, total: bar(done, total, f"generate {what}"),
    )
    options.print_unless_quiet(
        f"{made.folder}: {made.documents:,} documents ({made.training_documents:,} training), {made.tokens:,} tokens"
    )
