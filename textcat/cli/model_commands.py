"""`textcat predict` and `explain`: use a trained model on new documents, and show the words behind a decision."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from textcat.cli.options import (
    add_backend_options,
    add_common_options,
    add_jobs_option,
    read_command_settings,
)
from textcat.cli.output import make_visible, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textcat.errors import BadDataError
    from textcat.serving.categorizer import Categorizer
    from textcat.serving.document_files import InputFormat, NewDocument, SkipReporter
    from textcat.serving.explain import Contribution
    from textcat.serving.predict import Coverage


def _check_encoding(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    """Return the encoding; refuse one that Python does not know, or in which lines do not end with LF."""
    try:
        is_plain = "\n".encode(value) == b"\n"
    except (LookupError, ValueError):
        from textcat.corpora.own.documents import EACH_FILE

        is_plain = value == EACH_FILE
    if not is_plain:
        raise click.BadParameter(f"{value!r} is not an encoding such as utf-8, cp1252 or latin-1.")
    return value


add_encoding_option = click.option(
    "--encoding",
    callback=_check_encoding,
    default="utf-8",
    show_default=True,
    help="Encoding of the documents; `each-file` finds that of each file of a folder.",
)


def _import_modules(_context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]) -> None:
    from textcat.extensions import import_module

    for name in names:
        import_module(name, Path())


add_import_option = click.option(
    "--import",
    metavar="MODULE",
    multiple=True,
    callback=_import_modules,
    expose_value=False,
    help="Import a module that the model needs; may be repeated.",
)


class _Documents(click.File):
    """A file of documents, opened, or the path of a folder of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an open file, or the path of a folder."""
        if isinstance(value, str) and Path(value).is_dir():
            return Path(value)
        return super().convert(value, param, ctx)


@click.command("predict", epilog="Example:  textcat predict data/models/reuters_modapte/logistic news.jsonl")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=_Documents("rb"), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "csv", "tsv", "jsonl", "fasttext", "svmlight", "text", "html"]),
    help="Format of FILE; text and html: it is one document.  [default: svmlight for a model of vectors; else by its "
    "suffix or first line, else one document per line]",
)
@add_encoding_option
@add_import_option
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
    help="What to do at a broken document: stop after answering those before it, or skip it.",
)
@add_backend_options
@add_jobs_option
@add_common_options
def predict_command(
    model: Path,
    file: BinaryIO | Path,
    form: Any,
    encoding: str,
    scores: bool,
    reject: float | None,
    at_a_time: int,
    on_error: str,
    **settings: Any,
) -> None:
    """Label the documents of FILE (or of standard input) with a trained model.

    MODEL is a directory written by `textcat train`, such as data/models/EXPERIMENT/RUN. FILE may be a folder, of which
    each file is a document; of pages (.html, .htm) title and visible text are read. Each document gives one
    line of JSON: its id, its labels, their scores and, for a probabilistic learner or a run with `calibration`,
    their probabilities.
    """
    from textcat.parallel import start_workers
    from textcat.serving.categorizer import read_categorizer
    from textcat.serving.predict import Coverage, StoredModel, predict_lines

    place = read_command_settings(settings)
    categorizer = read_categorizer(model)
    processes = place.backend == "processes"
    stored = StoredModel(model.resolve(), categorizer.checksum, reject) if processes else None
    if reject is not None:
        categorizer = categorizer.reject_below(reject)
    skipped = _SkippedDocuments()
    documents = _read_documents(
        categorizer, file, form, skipped.add if on_error == "skip" else None, encoding
    )
    coverage = Coverage()
    with (
        start_workers(place.backend, place.jobs, place.scheduler) as executor,
        click.open_file("-", "w", encoding="utf-8") as out,
    ):
        lines = predict_lines(
            categorizer, documents, every_category=scores, at_a_time=at_a_time, coverage=coverage,
            executor=executor, stored=stored,
        )  # fmt: skip
        for number, line in enumerate(lines, 1):
            out.write(line + "\n")
            if number % at_a_time == 0:
                out.flush()
    skipped.log()
    _report_coverage(coverage, "" if categorizer.given_as_vectors else categorizer.text.tokenizer)


def _read_documents(
    categorizer: Categorizer,
    file: BinaryIO | Path,
    form: Any,
    skip: SkipReporter | None,
    encoding: str,
    plain: InputFormat = "lines",
) -> Iterator[NewDocument]:
    """Return the documents of a file or folder: vectors for a model of vectors, else texts.

    `plain` is the format of a file that is in no other.
    """
    from textcat.errors import UsageError
    from textcat.serving.document_files import (
        guess_format,
        read_documents,
        read_folder,
        read_vector_documents,
    )

    if form and categorizer.given_as_vectors != (form == "svmlight"):
        reads = "vectors (svmlight)" if categorizer.given_as_vectors else "texts"
        raise UsageError(f"the model reads {reads}, not {form}", where="--format", hint="Omit --format.")
    fields = categorizer.text.fields
    if isinstance(file, Path):
        if form or categorizer.given_as_vectors:
            hint = "Name a file, or omit --format." if form else "Name a file of vectors."
            raise UsageError(
                "a folder of documents has no format, and no vectors", where=str(file), hint=hint
            )
        return read_folder(file, fields, skip, encoding)
    if categorizer.given_as_vectors:
        return read_vector_documents(file, file.name, skip)
    first = [] if form else list(islice(file, 1))
    chosen = form or guess_format(file.name, b"".join(first), fields)
    chosen = plain if chosen == "lines" and not form else chosen
    return read_documents(chain(first, file), chosen, file.name, fields, skip, encoding)


class _SkippedDocuments:
    """The number of broken documents that were skipped, and the places of the first ones."""

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
        """Log how many documents were skipped."""
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
    if tokenizer and reads_latin_only(tokenizer):
        remedy += (
            f" Its tokenizer {tokenizer} reads only Latin letters: for other scripts train with "
            "`text: {tokenizer: unicode}`."
        )
    log.warning("Warning: %s; the constant alone decides them. %s", coverage, remedy)


@click.command(
    "explain", epilog="Example:  textcat explain data/models/reuters_modapte/logistic -c grain story.txt"
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("document", type=_Documents("rb"), required=False)
@click.option("-c", "--category", help="The category.  [default: the accepted ones]")
@click.option(
    "-n", "--number", type=click.IntRange(min=1), default=15, show_default=True, help="Number of words."
)
@click.option(
    "--id",
    "wanted",
    help="The document to explain, in a CSV, TSV, JSON Lines or svmlight file or a folder.  [default: the first]",
)
@add_encoding_option
@add_import_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@add_common_options
def explain_command(
    model: Path,
    document: BinaryIO | Path | None,
    category: str | None,
    number: int,
    wanted: str | None,
    encoding: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Show the strongest words of a category, or the words that decided DOCUMENT.

    DOCUMENT is a text file or page, - for standard input, or a file or folder as for `textcat predict`. In its text,
    words for the category are green and words against it are red; without colours (in a pipe, or with NO_COLOR
    set) they are marked [+word] and [-word]. For a model of vectors DOCUMENT is a svmlight file, and its words are
    the numbers of columns.
    """
    from textcat.serving.categorizer import read_categorizer

    read_command_settings(settings)
    categorizer = read_categorizer(model)
    if document is None:
        if category is None:
            raise click.UsageError("Give a category with -c, or a document.")
        facts = [_explain_category(categorizer, category, number)]
    else:
        facts = _explain_document(
            categorizer, _read_document(categorizer, document, wanted, encoding), category, number
        )
    if as_json:
        print_json(facts)
        return
    for one in facts:
        _print_explanation(one)


def _explain_category(categorizer: Categorizer, category: str, number: int) -> dict[str, Any]:
    from textcat.serving.explain import find_strongest_terms

    supporting, opposing = find_strongest_terms(categorizer, category, number)
    return {
        "category": category,
        "heading": f"{category}: strongest words",
        "for": _round_weights(supporting),
        "against": _round_weights(opposing),
    }


def _read_document(
    categorizer: Categorizer, file: BinaryIO | Path, wanted: str | None, encoding: str
) -> NewDocument:
    """Return the document of a text file or page, or the first or named one of several."""
    from textcat.errors import UsageError

    for document in _read_documents(categorizer, file, None, None, encoding, plain="text"):
        if wanted in (None, document.id):
            return document
    raise UsageError(
        f"no document {wanted!r}" if wanted else "no document",
        where=str(file) if isinstance(file, Path) else file.name,
        hint="Give --id a value of the column or key `id`, the document's number, or its path in a folder.",
    )


def _explain_document(
    categorizer: Categorizer, document: NewDocument, category: str | None, number: int
) -> list[dict[str, Any]]:
    """Explain the given category, or the accepted ones, or if there are none the one with the highest score.

    A rule that decides all documents together cannot tell from one document which categories are accepted.
    """
    scores = categorizer.scores([document])
    accepted = (
        None if categorizer.decision_rule.needs_all_documents else categorizer.decisions(scores)[0].tolist()
    )
    names = [name for name, kept in zip(categorizer.categories, accepted or (), strict=False) if kept]
    if category:
        names = [category]
    elif not names:
        names = [categorizer.categories[int(scores[0].argmax())]]
    return [_explain_decision(categorizer, document, name, number, scores, accepted) for name in names]


def _explain_decision(
    categorizer: Categorizer,
    document: NewDocument,
    name: str,
    number: int,
    scores: Any,
    accepted: Sequence[bool] | None,
) -> dict[str, Any]:
    from textcat.serving.explain import (
        compute_contributions,
        find_category_column,
        get_category_constant,
        locate_words,
    )

    position = find_category_column(categorizer, name)
    parts = compute_contributions(categorizer, name, document)
    supporting = [part for part in parts if part.weight > 0][:number]
    opposing = [part for part in parts if part.weight < 0][:number]
    probabilities = categorizer.probabilities(scores)
    facts = {
        "category": name,
        "accepted": None if accepted is None else accepted[position],
        # Whether the category is accepted although its score is below the threshold.
        "at_least_one": bool(accepted and accepted[position])
        and bool(categorizer.decision_rule.find_documents_below(scores)[0]),
        "score": round(float(scores[0, position]), 4),
        "rule": categorizer.run.threshold.rule,
        "probability": None if probabilities is None else round(float(probabilities[0, position]), 4),
        "for": _round_weights(supporting),
        "against": _round_weights(opposing),
        "other_words": round(sum(part.weight for part in parts if part not in (*supporting, *opposing)), 4),
        "constant": round(get_category_constant(categorizer, name), 4),
        "document": {
            field: document.fields.get(field, "")
            for field in (() if categorizer.given_as_vectors else categorizer.text.fields)
        },
        "words": [vars(word) for word in locate_words(categorizer, document, [*supporting, *opposing])],
    }
    return {**facts, "heading": _format_heading(categorizer, facts, position)}


def _format_heading(categorizer: Categorizer, facts: dict[str, Any], position: int) -> str:
    """Return the decision in a line, with the threshold if the rule compares scores with one."""
    rule = categorizer.decision_rule
    parts = [f"score {facts['score']:.3f}"]
    if not rule.single_label and not rule.needs_all_documents and facts["rule"] != "rcut":
        parts.append(f"threshold {rule.thresholds[position]:.3f}")
    if facts["probability"] is not None:
        parts.append(f"probability {facts['probability']:.3f}")
    if facts["accepted"] is None:
        parts.append(f"decided by {facts['rule']} over all documents together (see `textcat predict`)")
    elif facts["at_least_one"]:
        parts.insert(0, "accepted because no category reaches its threshold")
    else:
        parts.insert(0, "accepted" if facts["accepted"] else "not accepted")
    return f"{facts['category']}: {', '.join(parts)}"


def _round_weights(parts: Sequence[Contribution]) -> dict[str, float]:
    return {part.name: round(part.weight, 4) for part in parts}


def _print_explanation(facts: dict[str, Any]) -> None:
    from textcat.cli.options import has_colours

    colours = has_colours()
    facts = make_visible(facts)
    click.echo(click.style(facts["heading"], bold=True), color=colours)
    for side, colour in (("for", "green"), ("against", "red")):
        for term, weight in facts[side].items():
            click.echo(f"  {weight:+8.4f}  " + click.style(term, fg=colour), color=colours)
    for key, title in (("other_words", "(other words)"), ("constant", "(in every document)")):
        if facts.get(key):
            click.echo(f"  {facts[key]:+8.4f}  {title}")
    for field, text in facts.get("document", {}).items():
        if text:
            marked = [word for word in facts["words"] if word["field"] == field]
            click.echo("\n" + _highlight_words(text, marked, colours).rstrip("\n"), color=colours)
    click.echo()


def _highlight_words(text: str, marked: Sequence[dict[str, Any]], colours: bool) -> str:
    """Return the text with its deciding words coloured, or marked by their sign."""
    pieces, done = [], 0
    for word in marked:
        found, supports = text[word["start"] : word["end"]], word["weight"] > 0
        shown = (
            click.style(found, fg="green" if supports else "red", bold=True)
            if colours
            else f"[{'+' if supports else '-'}{found}]"
        )
        pieces += [text[done : word["start"]], shown]
        done = word["end"]
    return "".join([*pieces, text[done:]])
