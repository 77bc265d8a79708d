"""`textcat init`: write an experiment file for the user's own documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from textcat.cli.options import add_common_options, read_command_settings
from textcat.cli.output import print_text, write_new_file
from textcat.errors import UsageError


@click.command("init", epilog="Example:  textcat init documents.csv")
@click.argument("documents", type=click.Path(path_type=Path), metavar="DOCUMENTS")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    help="File to write; - is standard output.  [default: the name of DOCUMENTS with .yaml]",
)
@click.option(
    "--test",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A second file of the same format with the test documents.  [default: drawn at random, or by a split column]",
)
@add_common_options
def init_command(documents: Path, target: Path | None, test: Path | None, **settings: Any) -> None:
    """Inspect your own documents and write a commented experiment file for them.

    DOCUMENTS is a CSV, TSV, JSON Lines or svmlight file, a file of lines such as `__label__price What does it cost?`,
    or a folder with one folder per class. The command reads all documents, guesses which columns hold text, labels, ids
    and the split, and what separates labels, and prints its guesses. Existing files are not overwritten.
    """
    from textcat.corpora.own.inspect import inspect_documents
    from textcat.experiment.spec.loading import load_experiment
    from textcat.experiment.spec.schema import render_first_experiment
    from textcat.store.files import open_output

    options = read_command_settings(settings)
    written = target or Path(f"{choose_name(documents)}.yaml")
    if not _is_stream(written) and written.exists():
        hint = "Choose another file with --to, or move this one."
        raise UsageError("the file already exists", where=str(written), hint=hint)
    inspection = inspect_documents(documents, test)
    folder = Path.cwd() if _is_stream(written) else written.resolve().parent
    path = os.path.relpath(documents.resolve(), folder)
    text = render_first_experiment(inspection, choose_name(documents), path)
    if _is_stream(written):
        with open_output(written) as stream:
            stream.write(text.encode())
        # Standard output is for the experiment file.
        for line in [] if options.quiet else inspection.report:
            print_text(line, err=True)
        return
    write_new_file(written, text)
    load_experiment(written)
    for line in inspection.report:
        options.print_unless_quiet(line)
    options.print_unless_quiet(f"Wrote {written}. Review it, then run: textcat run {written}")


def _is_stream(path: Path) -> bool:
    """Return whether output goes to standard output, a device or a pipe, where nothing can be overwritten."""
    from textcat.store.files import STANDARD_OUTPUT

    return str(path) in STANDARD_OUTPUT or (path.exists() and not path.is_file() and not path.is_dir())


def choose_name(documents: Path) -> str:
    """Return a name for the experiment that is a valid folder name."""
    stem = documents.resolve().name if documents.is_dir() else documents.stem
    plain = "".join(c if c.isprintable() and c not in "/\\" else "-" for c in stem).strip(". ")
    return plain[:50] or "mine"
