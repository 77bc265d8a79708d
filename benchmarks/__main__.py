"""Measure speed and memory next to other libraries: `python -m benchmarks NAME`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.rows import Row, read_rows, record_rows, select_names
from textcat.cli.main import run_command

if TYPE_CHECKING:
    from benchmarks.scale import ScaleRequest
    from textcat.corpora import Document


@dataclass(frozen=True)
class BenchmarkSettings:
    """The options that all benchmarks have."""

    only: tuple[str, ...]
    corpus: str
    repeats: int
    jobs: int
    data: Path
    mirror: Path | None
    offline: bool

    def load_documents(self) -> list[Document]:
        """Return the documents of the corpus; fetch it first if necessary."""
        from textcat.corpora import fetch_corpus, open_corpus

        report = fetch_corpus(self.corpus, self.data, mirror=self.mirror, offline=self.offline)
        return list(open_corpus(self.corpus, report.folder).documents())


OPTIONS = (
    click.option(
        "--only",
        multiple=True,
        metavar="TEXT",
        help="Measure only what has TEXT in its name; may be repeated.",
    ),
    click.option("--save", type=click.Path(path_type=Path), help="Keep rows and plot in this folder."),
    click.option("--json", "as_json", is_flag=True, help="Print each row as a line of JSON."),
    click.option("--corpus", default="reuters21578", show_default=True, help="The collection to work on."),
    click.option(
        "--repeats",
        type=click.IntRange(min=1),
        default=3,
        show_default=True,
        help="Keep the best of this many runs.",
    ),
    click.option(
        "--jobs",
        "-j",
        type=click.IntRange(min=1),
        default=os.cpu_count() or 1,
        show_default="number of cores",
        help="Threads for `scale`; the other benchmarks use one.",
    ),
    click.option(
        "--data",
        type=click.Path(path_type=Path),
        default=Path("data"),
        show_default=True,
        envvar="TEXTCAT_DATA",
        help="Folder for collections and the cache.",
    ),
    click.option(
        "--mirror",
        type=click.Path(path_type=Path),
        envvar="TEXTCAT_MIRROR",
        help="Folder of collections to copy files from.",
    ),
    click.option("--offline", is_flag=True, help="Download nothing."),
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:  python -m benchmarks solvers --only 'L1 logistic' --save results/bench",
)
def command() -> None:
    """Measure speed and memory of textcat next to the other libraries that are installed.

    In the clone, `pip install '.[bench]'` installs them. Times are processor seconds on one thread unless stated
    otherwise. Each row is printed when it is measured. With --save it is also kept; rows of an interrupted
    benchmark are marked `partial`."""


def add_benchmark(
    measure: Callable[..., Iterable[Row]],
) -> Callable[..., Iterable[Row]]:
    """Register a function from settings to rows as the subcommand with its name."""
    name = measure.__name__

    @wraps(measure)
    def run(save: Path | None, as_json: bool, only: tuple[str, ...], **options: Any) -> None:
        own = {key: options.pop(key) for key in signature(measure).parameters if key in options}
        settings = BenchmarkSettings(only=only, **options)
        rows = record_rows(name, measure(settings, **own), save, as_json=as_json, part=bool(only))
        if save is not None:
            _save_plot(save, name, rows)

    decorated: Any = run
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    command.command(name)(decorated)
    return measure


def _save_plot(folder: Path, name: str, rows: list[Row]) -> None:
    from benchmarks.plots import plot_rows
    from textcat.report.figures import save_figure

    figure = plot_rows(name, rows)
    if figure is not None:
        save_figure(figure, folder, name)


@add_benchmark
def text(settings: BenchmarkSettings) -> Iterable[Row]:
    """Count words with each tokenizer.

    The peer is scikit-learn's CountVectorizer with the same pattern.
    """
    from benchmarks.text import VARIANTS, bench_text

    return bench_text(settings.load_documents(), select_names(VARIANTS, settings.only), settings.repeats)


@add_benchmark
def solvers(settings: BenchmarkSettings) -> Iterable[Row]:
    """Train to a relative gap of 1e-5.

    All categories are trained, next to liblinear, scikit-learn, skglm, celer and cyanure.
    Vectors are log TF x IDF of length 1 with a constant column. A peer has 40 seconds per problem. Ratios are to
    textcat's time, so its row is measured for each problem that --only selects. Names of rows are like
    "L1 logistic C=1, celer".
    """
    from benchmarks.solver_peers import PROBLEMS, SOLVER_PEERS
    from benchmarks.solvers import OWN_SOLVER, bench_solvers, make_matrix, name_row

    solvers_of = {
        problem: [OWN_SOLVER, *(peer.name for peer in SOLVER_PEERS if peer.solves_problem(problem))]
        for problem in PROBLEMS
    }
    names = (name_row(problem, solver) for problem, names in solvers_of.items() for solver in names)
    wanted = set(select_names(names, settings.only))
    documents = settings.load_documents()
    matrix, labels = make_matrix(documents, find_text_fields(documents))
    problems = [
        problem
        for problem, names in solvers_of.items()
        if any(name_row(problem, name) in wanted for name in names)
    ]
    return bench_solvers(matrix, labels, problems=problems, repeats=settings.repeats, wanted=wanted)


@add_benchmark
def pipeline(settings: BenchmarkSettings) -> Iterable[Row]:
    """Go from documents to tuned classifiers.

    Count, weight, train, set thresholds and evaluate, next to scikit-learn and LibMultiLabel. Names of rows are like
    "squared hinge, scikit-learn".
    """
    from benchmarks.pipeline import OWN_TOOL, PIPELINE_LOSSES, bench_pipeline, make_task, name_row
    from benchmarks.pipeline_peers import PIPELINE_PEERS
    from textcat.corpora import count_categories

    tools = [OWN_TOOL, *(peer.name for peer in PIPELINE_PEERS)]
    wanted = set(
        select_names((name_row(each, tool) for each in PIPELINE_LOSSES for tool in tools), settings.only)
    )
    learners = [each for each in PIPELINE_LOSSES if any(name_row(each, tool) in wanted for tool in tools)]
    documents = settings.load_documents()
    task = make_task(documents, count_categories(documents).in_both(), find_text_fields(documents))
    return bench_pipeline(task, learners, repeats=settings.repeats, wanted=wanted)


@add_benchmark
def predict(settings: BenchmarkSettings) -> Iterable[Row]:
    """Label new documents.

    From lines of a file to lines of JSON, next to scikit-learn, which makes vectors and scores only. Names of rows
    are like "30 words, csv, labels".
    """
    from benchmarks.predict import VARIANTS, bench_predict

    chosen = select_names((variant.name for variant in VARIANTS), settings.only)
    variants = [variant for variant in VARIANTS if variant.name in chosen]
    return bench_predict(settings.load_documents(), variants, settings.repeats)


@add_benchmark
def backends(settings: BenchmarkSettings) -> Iterable[Row]:
    """Compare one worker with two, per backend.

    Seconds are wall-clock time. --only selects backends.
    """
    from importlib.util import find_spec

    from benchmarks.backends import bench_backends
    from textcat.parallel import BACKENDS

    installed = [name for name in BACKENDS if name != "dask" or find_spec("distributed")]
    chosen = select_names(installed, settings.only)
    return bench_backends(settings.load_documents(), settings.repeats, chosen)


@add_benchmark
@click.option(
    "--most-documents",
    type=click.IntRange(min=1000),
    default=781_265,
    show_default=True,
    help="The largest number of documents.",
)
def scale(settings: BenchmarkSettings, most_documents: int) -> Iterable[Row]:
    """Train on growing data: time and memory.

    The numbers of documents and topics grow. The documents are generated with the statistics of RCV1-v2. Names of
    rows are like "ridge logistic, 10000 documents, 103 topics".
    """
    from benchmarks.rcv1_like import build_rcv1_like
    from benchmarks.scale import LEARNERS_BY_NAME, bench_scale, plan_requests
    from textcat.store import Store

    def plan(folder: Path) -> list[ScaleRequest]:
        return plan_requests(folder, most_documents, settings.jobs, list(LEARNERS_BY_NAME))

    wanted = select_names((request.name for request in plan(Path())), settings.only)
    folder = build_rcv1_like(Store(settings.data / "cache"), most_documents)
    return bench_scale(request for request in plan(folder) if request.name in wanted)


@add_benchmark
@click.option(
    "--configurations",
    type=click.IntRange(min=1),
    help="Number of configurations that textcat tries, instead of --share.",
)
@click.option(
    "--share",
    type=click.FloatRange(min=0, min_open=True),
    default=0.25,
    show_default=True,
    help="The grid's processor seconds times this are the limit of textcat.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="The limit of textcat in processor seconds, instead of a share of the grid's.",
)
@click.option(
    "--peer-folds",
    type=click.IntRange(0, 5),
    default=1,
    show_default=True,
    help="Number of the five folds on which the peer's grid search is measured; 0 leaves the peer out.",
)
@click.option(
    "--peer-rows",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Take the grid's figures from the rows of this file, where it has the collection.",
)
@click.option(
    "--fasttext",
    "fasttext_seconds",
    type=click.IntRange(min=0),
    default=0,
    help="Seconds of the clock for fastText's autotune, where it is installed; 0 leaves it out.",
)
def tune(
    settings: BenchmarkSettings,
    configurations: int | None,
    share: float,
    seconds: float | None,
    peer_folds: int,
    peer_rows: Path | None,
    fasttext_seconds: int,
) -> Iterable[Row]:
    """Tune on six collections, next to scikit-learn's grid and fastText's autotune.

    --mirror is the folder with the files of the collections; --only selects collections.
    """
    from benchmarks.tune import bench_tune
    from benchmarks.tune_collections import COLLECTIONS

    chosen = select_names(COLLECTIONS, settings.only)
    return bench_tune(
        settings.mirror or settings.data,
        chosen,
        configurations=configurations,
        share=share,
        seconds=seconds,
        peer_folds=peer_folds,
        data=settings.data,
        saved=() if peer_rows is None else read_rows(peer_rows),
        fasttext_seconds=fasttext_seconds,
    )


@add_benchmark
@click.option(
    "--documents",
    type=click.IntRange(min=100),
    default=20_000,
    show_default=True,
    help="Number of training documents; 200000 is the full size, with 30,000 labels.",
)
def labels(settings: BenchmarkSettings, documents: int) -> Iterable[Row]:
    """Train and predict with thousands of labels.

    The documents are generated. textcat's one-vs-rest and label trees are next to omikuji and LibMultiLabel; --only
    selects tools.
    """
    from benchmarks.labels import TOOLS, bench_labels

    return bench_labels(documents, settings.jobs, select_names(TOOLS, settings.only))


@add_benchmark
def corpora(settings: BenchmarkSettings) -> Iterable[Row]:
    """Read and count each fetched collection.

    Seconds are wall-clock time, from the files to counts.
    """
    from benchmarks.text import bench_corpora
    from textcat.corpora import is_fetched, list_corpora, load_card, locate_corpus

    fetched = [
        name for name in list_corpora() if load_card(name).kind == "text" and is_fetched(name, settings.data)
    ]
    return bench_corpora(
        {name: locate_corpus(name, settings.data) for name in select_names(fetched, settings.only)}
    )


def find_text_fields(documents: list[Document]) -> tuple[str, ...]:
    """Return which of the fields `title` and `body` the documents have."""
    return tuple(name for name in ("title", "body") if name in documents[0].fields)


if __name__ == "__main__":
    run_command(command, "python -m benchmarks")
