"""`textcat predict`: labels for new documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from textcat.cli.completions import models
from textcat.cli.options import folders, verbosity, workplace

if TYPE_CHECKING:
    from textcat.serving.categorizer import Categorizer
    from textcat.serving.documents import NewDocument

AT_A_TIME = 2000


@click.command("predict", epilog="Example:  textcat predict data/models/reuters_modapte/logistic news.jsonl")
@click.argument("model", type=click.Path(path_type=Path), shell_complete=models)
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "csv", "tsv", "jsonl"]),
    help="How FILE is to be read.  [default: by its name; else a document a line]",
)
@click.option("--scores", is_flag=True, help="With the score of every category.")
@folders
@verbosity
def command(model: Path, file: TextIO, form: Any, scores: bool, **settings: Any) -> None:
    """Label the documents of FILE (or of standard input) with a trained model.

    MODEL is a directory that `textcat train` left, such as data/models/EXPERIMENT/RUN. A line of JSON comes
    out for each document: its id, its labels and, for a logistic learner, their probabilities.
    """
    from textcat.serving.categorizer import read_categorizer
    from textcat.serving.documents import format_of, read_documents

    workplace(settings)
    categorizer = read_categorizer(model)
    chosen = form or format_of(file.name)
    documents = read_documents(file, chosen, file.name, categorizer.text.fields)
    for line in _lines(categorizer, documents, scores):
        click.echo(line)


def _lines(categorizer: Categorizer, documents: Iterable[NewDocument], with_scores: bool) -> Iterator[str]:
    import numpy as np

    remaining = iter(documents)
    while batch := list(islice(remaining, AT_A_TIME)):
        scores = categorizer.scores(batch)
        accepted = categorizer.decisions(scores)
        probabilities = categorizer.probabilities(scores)
        for row, document in enumerate(batch):
            labels = [categorizer.categories[int(k)] for k in np.flatnonzero(accepted[row])]
            facts: dict[str, Any] = {"id": document.id, "labels": labels}
            if probabilities is not None:
                facts["probabilities"] = _rounded(categorizer, probabilities[row], accepted[row], with_scores)
            if with_scores:
                facts["scores"] = _rounded(categorizer, scores[row], accepted[row], True)
            yield json.dumps(facts, ensure_ascii=False)


def _rounded(categorizer: Categorizer, values: Any, accepted: Any, everything: bool) -> dict[str, float]:
    return {
        name: round(float(value), 6)
        for name, value, kept in zip(categorizer.categories, values, accepted, strict=True)
        if kept or everything
    }
