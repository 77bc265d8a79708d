"""Measure speed next to peers: `python -m benchmarks WHAT`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.main import run_command
from textcat.cli.options import Workplace, working, workplace

if TYPE_CHECKING:
    from textcat.corpora import Document


WHAT = ("text", "solvers", "pipeline", "scale", "predict", "backends", "corpora")
Rows = list[dict[str, Any]]


@click.command("benchmarks", epilog="Example:  python -m benchmarks text --json")
@click.argument("what", type=click.Choice(WHAT))
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
@working
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
    from benchmarks.machine import machine_facts

    place = workplace(settings)
    if place.dry_run:
        click.echo(f"bench {what}: " + _forecast(what, corpus, repeats, most_documents))
        return
    if what == "corpora":
        rows = _corpora(place)
    elif what == "scale":
        rows = _scale(place, most_documents, learners)
    else:
        measure = {
            "text": _text, "solvers": _solvers, "pipeline": _pipeline, "predict": _predict, "backends": _backends,
        }[what]  # fmt: skip
        rows = measure(_documents(corpus, place), repeats)
    facts = machine_facts()
    dated = [{**row, "machine": facts} for row in rows]
    if save is not None:
        _keep(save, what, dated)
    if as_json:
        click.echo(json.dumps(dated, indent=1))
        return
    _show(what, rows)
    click.echo("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()))


def _forecast(what: str, corpus: str, repeats: int, most_documents: int) -> str:
    if what == "scale":
        return f"up to {most_documents:,} generated documents"
    return f"on {corpus}, best of {repeats}"


def _show(what: str, rows: Rows) -> None:
    from tabulate import tabulate

    click.echo(tabulate(rows, headers="keys", floatfmt=".3g"))
    if what == "scale":
        from benchmarks.scale import exponents

        click.echo("\nGrowth: the exponent of size in seconds and in megabytes")
        click.echo(tabulate(exponents(rows), headers="keys"))


def _keep(folder: Path, what: str, rows: Rows) -> None:
    """The rows as JSON, and their plot where there is one."""
    from benchmarks.plots import draw
    from textcat.report.figures import save
    from textcat.store.files import write_whole

    write_whole(folder / f"{what}.json", json.dumps(rows, indent=1) + "\n")
    figure = draw(what, rows)
    if figure is not None:
        save(figure, folder, what)


def _documents(corpus: str, place: Workplace) -> list[Document]:
    from textcat.corpora import fetch, open_corpus

    report = fetch(corpus, place.data, mirror=place.mirror, offline=place.offline)
    return list(open_corpus(corpus, report.folder).documents())


def _corpora(place: Workplace) -> Rows:
    from benchmarks.corpora import bench_corpus
    from textcat.corpora import corpus_folder, corpus_names, describe, is_fetched, open_corpus
    from textcat.text.text_settings import TextSettings

    rows = []
    for name in corpus_names():
        if describe(name).kind == "text" and is_fetched(name, place.data):
            folder = corpus_folder(name, place.data)
            first = next(iter(open_corpus(name, folder).documents()))
            tokenizer = "whitespace" if "tokens" in first.fields else "alphabetic"
            settings = TextSettings(tokenizer=tokenizer, fields=tuple(first.fields))
            rows.append(bench_corpus(name, folder, settings, jobs=1))
    return rows


def _text(documents: list[Document], repeats: int) -> Rows:
    from benchmarks.text import bench_text

    return bench_text(documents, repeats)


def _predict(documents: list[Document], repeats: int) -> Rows:
    from benchmarks.predict import bench_predict

    return bench_predict(documents, repeats)


def _backends(documents: list[Document], repeats: int) -> Rows:
    from importlib.util import find_spec

    from benchmarks.backends import bench_backends
    from textcat.parallel import BACKENDS

    installed = [name for name in BACKENDS if name != "dask" or find_spec("distributed")]
    return bench_backends(documents, repeats, installed)


def _fields(documents: list[Document]) -> tuple[str, ...]:
    return tuple(name for name in ("title", "body") if name in documents[0].fields)


def _pipeline(documents: list[Document], repeats: int) -> Rows:
    from benchmarks.pipeline import bench_pipeline, pose
    from textcat.corpora import category_counts

    categories = category_counts(documents).in_both()
    return bench_pipeline(pose(documents, categories, _fields(documents)), repeats=repeats)


def _scale(place: Workplace, most_documents: int, learners: tuple[str, ...]) -> Rows:
    from benchmarks.rcv1_like import rcv1_like_vectors
    from benchmarks.scale import BY_NAME, bench_scale, requests
    from textcat.cli.options import watcher
    from textcat.errors import UsageError
    from textcat.store import Store

    unknown = [name for name in learners if name not in BY_NAME]
    if unknown:
        raise UsageError(f"no learner {unknown[0]!r} is measured", hint=f"One of {', '.join(BY_NAME)}.")
    bar, store = watcher(), Store(place.data / "cache")
    folder = rcv1_like_vectors(
        store, most_documents, tell=lambda done, total: bar(done, total, "generate documents")
    )
    wanted = requests(folder, most_documents, place.jobs, learners or tuple(BY_NAME))
    done: Rows = []

    def tell(row: dict[str, Any]) -> None:
        done.append(row)
        bar(
            len(done),
            len(wanted),
            f"{row['learner']}, {row['documents']:,} documents, {row['topics']} topics",
        )

    return bench_scale(wanted, tell)


def _solvers(documents: list[Document], repeats: int) -> Rows:
    """On the categories with training and test documents: log TF x IDF, cosine, a constant column."""
    import numpy as np
    from scipy import sparse

    from benchmarks.solvers import bench_solvers
    from textcat.corpora import category_counts
    from textcat.text.counting import count
    from textcat.text.text_settings import TextSettings
    from textcat.text.vectorizer import Vectorizer, VectorSettings

    categories = category_counts(documents).in_both()
    counted = count(
        (d for d in documents if d.split == "train"),
        TextSettings(tokenizer="alphanumeric", fields=_fields(documents)),
    )
    vectors = Vectorizer.fit(counted, settings=VectorSettings(weighting="log_tf_idf", cosine=True)).transform(
        counted
    )
    constant = sparse.csr_array(np.ones((vectors.shape[0], 1)))
    matrix = sparse.csr_matrix(sparse.hstack([vectors, constant], format="csr"))
    measured = bench_solvers(
        matrix, counted.label_matrix(categories), repeats=repeats, said=partial(click.echo, err=True)
    )
    rows: Rows = measured["rows"]
    return rows


if __name__ == "__main__":
    run_command(command, "python -m benchmarks")
