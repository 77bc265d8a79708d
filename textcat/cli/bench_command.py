"""`textcat bench`: speed beside peers, in one run."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import Workplace, working, workplace

if TYPE_CHECKING:
    from textcat.corpora import Document

WHAT = ("text", "solvers", "corpora", "predict", "backends")


@click.command("bench", epilog="Example:  textcat bench text --json")
@click.argument("what", type=click.Choice(WHAT))
@click.option("--corpus", default="reuters21578", show_default=True, help="The documents that are worked on.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Best of so many.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@working
def command(what: str, corpus: str, repeats: int, as_json: bool, **settings: Any) -> None:
    """Measure speed: seconds, and the ratio to the peers that are installed, on this machine, in this run.

    text: counting words, beside scikit-learn. solvers: training all categories to the same optimum, at a
    relative gap of 1e-5, beside liblinear, scikit-learn, skglm and celer, on one thread, in a few minutes: a peer
    has 40 seconds a problem, and where none gets there the ratio is to the nearest, with a note. Peers that are
    not installed (`pip install 'textcat[bench]'`) are left out. corpora: reading and counting each collection of
    text that is on this machine. predict: labelling new documents, from the lines of a file to lines of JSON,
    beside scikit-learn's vectors and scores alone. backends: the same work by one and by two workers, of each
    backend; kept in results/bench.
    """
    from textcat.bench.machine import machine_facts

    place = workplace(settings)
    if place.dry_run:
        click.echo(f"bench {what}: on {corpus}, best of {repeats}")
        return
    if what == "corpora":
        rows = _corpora(place)
    else:
        measure = {"text": _text, "solvers": _solvers, "predict": _predict, "backends": _backends}[what]
        rows = measure(_documents(corpus, place), repeats)
    facts = machine_facts()
    if what == "backends":
        _keep_backends(rows, facts, place)
    if as_json:
        click.echo(json.dumps([{**row, "machine": facts} for row in rows], indent=1))
        return
    from tabulate import tabulate

    click.echo(tabulate(rows, headers="keys", floatfmt=".3g"))
    click.echo("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()))


def _documents(corpus: str, place: Workplace) -> list[Document]:
    from textcat.corpora import fetch, open_corpus

    report = fetch(corpus, place.data, mirror=place.mirror, offline=place.offline)
    return list(open_corpus(corpus, report.folder).documents())


def _corpora(place: Workplace) -> list[dict[str, Any]]:
    from textcat.bench.corpora import bench_corpus
    from textcat.corpora import corpus_folder, corpus_names, describe, is_fetched, open_corpus
    from textcat.text.settings import TextSettings

    rows = []
    for name in corpus_names():
        if describe(name).kind == "text" and is_fetched(name, place.data):
            folder = corpus_folder(name, place.data)
            first = next(iter(open_corpus(name, folder).documents()))
            tokenizer = "whitespace" if "tokens" in first.fields else "alphabetic"
            settings = TextSettings(tokenizer=tokenizer, fields=tuple(first.fields))
            rows.append(bench_corpus(name, folder, settings, jobs=1))
    return rows


def _text(documents: list[Document], repeats: int) -> list[dict[str, Any]]:
    from textcat.bench.text import bench_text

    return bench_text(documents, repeats)


def _predict(documents: list[Document], repeats: int) -> list[dict[str, Any]]:
    from textcat.bench.predict import bench_predict

    return bench_predict(documents, repeats)


def _backends(documents: list[Document], repeats: int) -> list[dict[str, Any]]:
    from importlib.util import find_spec

    from textcat.bench.backends import bench_backends
    from textcat.workers import BACKENDS

    installed = [name for name in BACKENDS if name != "dask" or find_spec("distributed")]
    return bench_backends(documents, repeats, installed)


def _keep_backends(rows: list[dict[str, Any]], facts: dict[str, object], place: Workplace) -> None:
    from textcat.bench.backends import keep

    for path in keep(rows, facts, place.results / "bench"):
        click.echo(f"kept: {path}", err=True)


def _solvers(documents: list[Document], repeats: int) -> list[dict[str, Any]]:
    """On the categories with training and test documents: log TF x IDF, cosine, a constant column."""
    import numpy as np
    from scipy import sparse

    from textcat.bench.solvers import bench_solvers
    from textcat.corpora import category_counts
    from textcat.text.counting import count
    from textcat.text.settings import TextSettings
    from textcat.text.vectors import Vectorizer, VectorSettings

    categories = category_counts(documents).in_both()
    fields = tuple(name for name in ("title", "body") if name in documents[0].fields)
    counted = count(
        (d for d in documents if d.split == "train"), TextSettings(tokenizer="alphanumeric", fields=fields)
    )
    vectors = Vectorizer.fit(counted, settings=VectorSettings(weighting="log_tf_idf", cosine=True)).transform(
        counted
    )
    constant = sparse.csr_array(np.ones((vectors.shape[0], 1)))
    matrix = sparse.csr_matrix(sparse.hstack([vectors, constant], format="csr"))
    measured = bench_solvers(
        matrix, counted.label_matrix(categories), repeats=repeats, said=partial(click.echo, err=True)
    )
    rows: list[dict[str, Any]] = measured["rows"]
    return rows
