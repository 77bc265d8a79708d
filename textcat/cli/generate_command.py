"""`textcat generate`: write collections like those that are not available, in their official formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings


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
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed writes the same files.")
@click.option("--to", "target", type=click.Path(path_type=Path), required=True, help="The folder to write.")
@add_folder_options
@add_verbosity_options
def command(
    what: str, documents: int, training: int | None, seed: int, target: Path, **settings: Any
) -> None:
    """Write a collection of any size with the formats and statistics of RCV1-v2: token files and topic labels.

    Vocabulary growth, document lengths, topic frequencies and hierarchy follow the real collection. Words depend
    on topics, so that learners learn. Use it to measure speed at full size. An experiment reads it with
    `corpus: {name: rcv1-like, path: FOLDER}`, as in configs/rcv1_like.yaml.
    """
    from textcat.cli.options import make_progress_bar
    from textcat.corpora.generate import generate_rcv1_like

    place = read_command_settings(settings)
    bar = make_progress_bar()
    made = generate_rcv1_like(
        target,
        documents,
        seed,
        training=training,
        progress=lambda done, total: bar(done, total, f"generate {what}"),
    )
    place.print_unless_quiet(
        f"{made.folder}: {made.documents:,} documents ({made.training_documents:,} training), {made.tokens:,} tokens"
    )
