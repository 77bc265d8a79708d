"""`textcat predict`: labels for new documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from textcat.cli.completions import complete_models
from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings

if TYPE_CHECKING:
    from textcat.serving.predict import Coverage


@click.command("predict", epilog="Example:  textcat predict data/models/reuters_modapte/logistic news.jsonl")
@click.argument("model", type=click.Path(path_type=Path), shell_complete=complete_models)
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "csv", "tsv", "jsonl"]),
    help="How FILE is to be read.  [default: by its name; else a document a line]",
)
@click.option("--scores", is_flag=True, help="With the numbers of every category, not of the labels alone.")
@click.option(
    "--at-a-time",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Documents that are labelled together; 1 answers each line of a pipe as it comes.",
)
@add_folder_options
@add_verbosity_options
def command(model: Path, file: BinaryIO, form: Any, scores: bool, at_a_time: int, **settings: Any) -> None:
    """Label the documents of FILE (or of standard input) with a trained model.

    MODEL is a directory that `textcat train` left, such as data/models/EXPERIMENT/RUN. A line of JSON comes
    out for each document: its id, its labels, their scores and, of a learner that has them or a run with
    `calibration`, their probabilities.
    """
    from textcat.serving.categorizer import read_categorizer
    from textcat.serving.document_files import guess_format, read_documents
    from textcat.serving.predict import Coverage, predict_lines

    read_command_settings(settings)
    categorizer = read_categorizer(model)
    chosen = form or guess_format(file.name)
    documents = read_documents(file, chosen, file.name, categorizer.text.fields)
    coverage = Coverage()
    lines = predict_lines(
        categorizer, documents, every_category=scores, at_a_time=at_a_time, coverage=coverage
    )
    with click.open_file("-", "w", encoding="utf-8") as out:
        for number, line in enumerate(lines, 1):
            out.write(line + "\n")
            if number % at_a_time == 0:
                out.flush()
    _report_coverage(coverage, categorizer.text.tokenizer)


def _report_coverage(coverage: Coverage, tokenizer: str) -> None:
    """Say how many documents had no known term, with a warning where they are many."""
    import logging

    from textcat.experiment.run.document_checks import MOST_EMPTY
    from textcat.text.tokenizers import reads_latin_only

    log = logging.getLogger(__name__)
    if coverage.share <= MOST_EMPTY:
        log.info("%s", coverage)
        return
    remedy = "Train the model on documents of the same language and kind."
    if reads_latin_only(tokenizer):
        remedy += (
            f" Its tokenizer {tokenizer} reads Latin letters only: for other scripts train with "
            "`text: {tokenizer: unicode}`."
        )
    log.warning("Warning: %s; only the constant decides on these. %s", coverage, remedy)
