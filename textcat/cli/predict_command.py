"""`textcat predict`: assign categories to new documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from textcat.cli.completion import complete_models
from textcat.cli.options import add_common_options, read_command_settings

if TYPE_CHECKING:
    from textcat.errors import BadDataError
    from textcat.serving.predict import Coverage


@click.command("predict", epilog="Example:  textcat predict data/models/reuters_modapte/logistic news.jsonl")
@click.argument("model", type=click.Path(path_type=Path), shell_complete=complete_models)
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "csv", "tsv", "jsonl", "fasttext"]),
    help="Format of FILE.  [default: by its suffix, else one document per line]",
)
@click.option(
    "--scores", is_flag=True, help="Print scores for every category, not only for the assigned ones."
)
@click.option(
    "--reject",
    type=click.FloatRange(0, 1),
    metavar="PROBABILITY",
    help="Give no label to documents whose best probability is lower.  [default: as chosen in training for a run with "
    "`reject`, else 0]",
)
@click.option(
    "--at-a-time",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Number of documents classified at a time; use 1 to answer each line of a pipe at once.",
)
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a broken document: answer those before it and stop, or leave it out and go on.",
)
@add_common_options
def predict_command(
    model: Path,
    file: BinaryIO,
    form: Any,
    scores: bool,
    reject: float | None,
    at_a_time: int,
    on_error: str,
    **settings: Any,
) -> None:
    """Label the documents of FILE (or of standard input) with a trained model.

    MODEL is a directory written by `textcat train`, such as data/models/EXPERIMENT/RUN. Each document gives one
    line of JSON: its id, its labels, their scores and, for a probabilistic learner or a run with `calibration`,
    their probabilities.
    """
    from textcat.serving.categorizer import read_categorizer
    from textcat.serving.document_files import guess_format, read_documents
    from textcat.serving.predict import Coverage, predict_lines

    read_command_settings(settings)
    categorizer = read_categorizer(model)
    if reject is not None:
        categorizer = categorizer.reject_below(reject)
    chosen = form or guess_format(file.name)
    skipped = _SkippedDocuments()
    documents = read_documents(
        file, chosen, file.name, categorizer.text.fields, skipped.add if on_error == "skip" else None
    )
    coverage = Coverage()
    lines = predict_lines(
        categorizer, documents, every_category=scores, at_a_time=at_a_time, coverage=coverage
    )
    with click.open_file("-", "w", encoding="utf-8") as out:
        for number, line in enumerate(lines, 1):
            out.write(line + "\n")
            if number % at_a_time == 0:
                out.flush()
    skipped.log()
    _report_coverage(coverage, categorizer.text.tokenizer)


class _SkippedDocuments:
    """The number of documents left out because they are broken, and where the first ones are."""

    SHOWN = 5

    def __init__(self) -> None:
        self._number = 0
        self._first: list[str] = []

    def add(self, error: BadDataError) -> None:
        """Count a document by the error of its reader."""
        self._number += 1
        if self._number <= self.SHOWN:
            self._first.append(f"\n  {error.where}: {error.what}")

    def log(self) -> None:
        """Log how many documents are left out."""
        import logging

        if self._number:
            what = "document was" if self._number == 1 else "documents were"
            message = "Warning: %d %s skipped, such as%s"
            logging.getLogger(__name__).warning(message, self._number, what, "".join(self._first))


def _report_coverage(coverage: Coverage, tokenizer: str) -> None:
    """Log how many documents had no known term; warn if there are many."""
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
            f" Its tokenizer {tokenizer} reads only Latin letters: for other scripts train with "
            "`text: {tokenizer: unicode}`."
        )
    log.warning("Warning: %s; the constant alone decides them. %s", coverage, remedy)
