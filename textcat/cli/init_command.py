"""`textcat init`: inspect the user's own documents and write an experiment file for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings


@click.command("init", epilog="Example:  textcat init documents.csv")
@click.argument("documents", type=click.Path(path_type=Path), metavar="DOCUMENTS")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    help="File to write.  [default: name of DOCUMENTS with .yaml]",
)
@add_folder_options
@add_verbosity_options
def command(documents: Path, target: Path | None, **settings: Any) -> None:
    """Inspect your own documents and write a commented experiment file for them.

    DOCUMENTS is a CSV, TSV, JSON Lines or svmlight file, or a folder with a folder for each class. All documents
    are read to guess the columns of text, labels, ids and the split, and the separator of labels; the guess is
    printed. An existing file is not overwritten.
    """
    from textcat.corpora.own.inspect import inspect_documents
    from textcat.experiment.spec.first_experiment import render_first_experiment
    from textcat.experiment.spec.loading import load_experiment

    place = read_command_settings(settings)
    written = target or Path(f"{_choose_name(documents)}.yaml")
    _refuse_to_overwrite(written)
    inspection = inspect_documents(documents)
    path = os.path.relpath(documents.resolve(), written.resolve().parent)
    _write_new(written, render_first_experiment(inspection, _choose_name(documents), path))
    load_experiment(written)
    for line in inspection.report:
        place.print_unless_quiet(line)
    place.print_unless_quiet(f"Written: {written}. Check it, then: textcat run {written}")


def _choose_name(documents: Path) -> str:
    """Return a name for the experiment that can be the name of a folder."""
    stem = documents.resolve().name if documents.is_dir() else documents.stem
    plain = "".join(c if c.isprintable() and c not in "/\\" else "-" for c in stem).strip(". ")
    return plain[:50] or "mine"


def _refuse_to_overwrite(path: Path) -> None:
    from textcat.errors import UsageError

    if path.exists():
        hint = "Name another file with --to, or rename this one."
        raise UsageError("the file exists already", where=str(path), hint=hint)


def _write_new(path: Path, text: str) -> None:
    from textcat.errors import UsageError

    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        hint = "Name a file in an existing, writable folder with --to."
        raise UsageError(f"cannot write: {error.strerror}", where=str(path), hint=hint) from error
