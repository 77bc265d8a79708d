"""Measure speed next to peers: `python -m benchmarks WHAT`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.main import run_command
from textcat.cli.options import CommandSettings, add_work_options, read_command_settings

if TYPE_CHECKING:
    from textcat.corpora import Document


BENCHMARKS = ("text", "solvers", "pipeline", "scale", "predict", "backends", "corpora")
Rows = list[dict[str, Any]]


@click.command("benchmarks", epilog="Example:  python -m benchmarks text --json")
@click.argument("what", type=click.Choice(BENCHMARKS))
@click.option("--corpus", default="reuters21578", show_default=True, help="The documents that are worked on.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Best of so many.")
@click.option(
    "--most-documents",
    type=click.IntRange(min=1000),
    default=781_265,
    show_default=True,
    help="scale: the size to go up to.",
)
@click.option("--learner", "learners", multiple=True, help="scale: only this learner; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@click.option("--save", type=click.Path(path_type=Path), help="Keep rows and plot in this folder too.")
@add_work_options
def command(
    what: str,
    corpus: str,
    repeats: int,
    most_documents: int,
    learners: tuple[str, ...],
    as_json: bool,
    save: Path | None,
    **settings: Any,
) -> None:
    """Measure speed: seconds, and the ratio to the peers that are installed, on this machine, in this run.

    text: counting words, beside scikit-learn. solvers: training all categories to the same optimum, at a
    relative gap of 1e-5, beside liblinear, scikit-learn, skglm and celer, on one thread, in a few minutes: a peer
    has 40 seconds a problem, and where none gets there the ratio is to the nearest, with a note. pipeline: from
    documents to classifiers with tuned thresholds, beside scikit-learn and LibMultiLabel. scale: time and
    memory by number of documents and of topics, on generated documents like RCV1-v2's. predict: labelling new
    documents, from the lines of a file to lines of JSON, beside scikit-learn's vectors and scores alone.
    backends: the same work by one and by two workers, of each backend. corpora: reading and counting each
    collection of text that is on this machine. Peers that are not installed (`pip install 'textcat[bench]'`)
    are left out.
    """
    from benchmarks.machine import collect_machine_facts

    place = read_command_settings(settings)
    if place.dry_run:
        click.echo(f"bench {what}: " + _describe_plan(what, corpus, repeats, most_documents))
        return
    if what == "corpora":
        rows = _measure_corpora(place)
    elif what == "scale":
        rows = _measure_scale(place, most_documents, learners)
    else:
        measure = {
            "text": _measure_text,
            "solvers": _measure_solvers,
            "pipeline": _measure_pipeline,
            "predict": _measure_predict,
            "backends": _measure_backends,
        }[what]
        rows = measure(_load_documents(corpus, place), repeats)
    facts = collect_machine_facts()
    dated = [{**row, "machine": facts} for row in rows]
    if save is not None:
        _save_rows(save, what, dated)
    if as_json:
        click.echo(json.dumps(dated, indent=1))
        return
    _print_rows(what, rows)
    click.echo("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()))


def _describe_plan(what: str, corpus: str, repeats: int, most_documents: int) -> str:
    if what == "scale":
        return f"up to {most_documents:,} generated documents"
    return f"on {corpus}, best of {repeats}"


def _print_rows(what: str, rows: Rows) -> None:
    from tabulate import tabulate

    click.echo(tabulate(rows, headers="keys", floatfmt=".3g"))
    if what == "scale":
        from benchmarks.scale import fit_exponents

        click.echo("\nGrowth: the exponent of size in seconds and in megabytes")
        click.echo(tabulate(fit_exponents(rows), headers="keys"))


def _save_rows(folder: Path, what: str, rows: Rows) -> None:
    """The rows as JSON, and their plot where there is one."""
    from benchmarks.plots import plot_rows
    from textcat.report.figures import save_figure
    from textcat.store.files import write_atomically

    write_atomically(folder / f"{what}.json", json.dumps(rows, indent=1) + "\n")
    figure = plot_rows(what, rows)
    if figure is not None:
        save_figure(figure, folder, what)


def _load_documents(corpus: str, place: CommandSettings) -> list[Document]:
    from textcat.corpora import fetch_corpus, open_corpus

    report = fetch_corpus(corpus, place.data, mirror=place.mirror, offline=place.offline)
    return list(open_corpus(corpus, report.folder).documents())


def _measure_corpora(place: CommandSettings) -> Rows:
    from benchmarks.corpora import bench_corpus
    from textcat.corpora import is_fetched, list_corpora, load_card, locate_corpus, open_corpus
    from textcat.text.text_settings import TextSettings

    rows = []
    for name in list_corpora():
        if load_card(name).kind == "text" and is_fetched(name, place.data):
            folder = locate_corpus(name, place.data)
            first = next(iter(open_corpus(name, folder).documents()))
            tokenizer = "whitespace" if "tokens" in first.fields else "alphabetic"
            settings = TextSettings(tokenizer=tokenizer, fields=tuple(first.fields))
            rows.append(bench_corpus(name, folder, settings, jobs=1))
    return rows


def _measure_text(documents: list[Document], repeats: int) -> Rows:
    from benchmarks.text import bench_text

    return bench_text(documents, repeats)


def _measure_predict(documents: list[Document], repeats: int) -> Rows:
    from benchmarks.predict import bench_predict

    return bench_predict(documents, repeats)


def _measure_backends(documents: list[Document], repeats: int) -> Rows:
    from importlib.util import find_spec

    from benchmarks.backends import bench_backends
    from textcat.parallel import BACKENDS

    installed = [name for name in BACKENDS if name != "dask" or find_spec("distributed")]
    return bench_backends(documents, repeats, installed)


def _find_text_fields(documents: list[Document]) -> tuple[str, ...]:
    return tuple(name for name in ("title", "body") if name in documents[0].fields)


def _measure_pipeline(documents: list[Document], repeats: int) -> Rows:
    from benchmarks.pipeline import bench_pipeline, make_task
    from textcat.corpora import count_categories

    categories = count_categories(documents).in_both()
    return bench_pipeline(make_task(documents, categories, _find_text_fields(documents)), repeats=repeats)


def _measure_scale(place: CommandSettings, most_documents: int, learners: tuple[str, ...]) -> Rows:
    from benchmarks.rcv1_like import build_rcv1_like
    from benchmarks.scale import LEARNERS_BY_NAME, bench_scale, plan_requests
    from textcat.cli.options import make_progress_bar
    from textcat.errors import UsageError
    from textcat.store import Store

    unknown = [name for name in learners if name not in LEARNERS_BY_NAME]
    if unknown:
        raise UsageError(
            f"no learner {unknown[0]!r} is measured", hint=f"One of {', '.join(LEARNERS_BY_NAME)}."
        )
    bar, store = make_progress_bar(), Store(place.data / "cache")
    folder = build_rcv1_like(
        store, most_documents, tell=lambda done, total: bar(done, total, "generate documents")
    )
    wanted = plan_requests(folder, most_documents, place.jobs, learners or tuple(LEARNERS_BY_NAME))
    done: Rows = []

    def tell(row: dict[str, Any]) -> None:
        done.append(row)
        bar(
            len(done),
            len(wanted),
            f"{row['learner']}, {row['documents']:,} documents, {row['topics']} topics",
        )

    return bench_scale(wanted, tell)


def _measure_solvers(documents: list[Document], repeats: int) -> Rows:
    """On the categories with training and test documents: log TF x IDF, cosine, a constant column."""
    import numpy as np
    from scipy import sparse

    from benchmarks.solvers import bench_solvers
    from textcat.corpora import count_categories
    from textcat.text.counting import count_terms
    from textcat.text.text_settings import TextSettings
    from textcat.text.vectorizer import Vectorizer, VectorSettings

    categories = count_categories(documents).in_both()
    counted = count_terms(
        (d for d in documents if d.split == "train"),
        TextSettings(tokenizer="alphanumeric", fields=_find_text_fields(documents)),
    )
    vectors = Vectorizer.fit(counted, settings=VectorSettings(weighting="log_tf_idf", cosine=True)).transform(
        counted
    )
    constant = sparse.csr_array(np.ones((vectors.shape[0], 1)))
    matrix = sparse.csr_matrix(sparse.hstack([vectors, constant], format="csr"))
    measured = bench_solvers(
        matrix, counted.make_label_matrix(categories), repeats=repeats, said=partial(click.echo, err=True)
    )
    rows: Rows = measured["rows"]
    return rows


if __name__ == "__main__":
    run_command(command, "python -m benchmarks")
