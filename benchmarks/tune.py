"""`textcat tune` next to scikit-learn's grid search: the same documents, folds of training documents, one core.

The grid: words, words and pairs of words, and these with char_wb 2-5, each with C of 0.1, 1 and 10 and LinearSVC. The
test documents are used once by each, for the winner. With fewer `peer_folds` the grid is measured on the first of its
five folds, and its time is that of these folds times what is missing. textcat gets a share of the grid's time.

Where it is wanted and installed, fastText's autotune searches for a given time on the first of these folds, and the
arguments that it finds train the model of all training documents.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.fasttext_peer import measure_fasttext
from benchmarks.rows import Row
from benchmarks.tune_collections import COLLECTIONS, LabelledTexts, TuneTask, write_table
from textcat.experiment.context import RunContext
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.tune.session import TuneSettings, tune_experiment
from textcat.store.files import write_atomically

COSTS = (0.1, 1.0, 10.0)
FOLDS = 5
# Processor seconds that a share is of where no peer is measured.
SECONDS = 300.0


def bench_tune(
    files: Path,
    chosen: Iterable[str],
    *,
    configurations: int | None,
    share: float,
    seconds: float | None = None,
    peer_folds: int,
    data: Path,
    saved: Iterable[Row] = (),
    fasttext_seconds: int = 0,
) -> Iterator[Row]:
    """Yield a row per collection: the metric on test documents and processor seconds of both tools.

    textcat stops after `configurations`, after `seconds` of processor, or after `share` of the grid's; without a peer,
    after that share of five minutes. The grid is not measured again for the collections of `saved` rows that have its
    figures.
    """
    known = {row["collection"]: _get_peer(row) for row in saved}
    for name in chosen:
        with TemporaryDirectory() as folder:
            task = make_task(name, files, Path(folder))
            peer = known.get(name) or {}
            if not peer and peer_folds and find_spec("sklearn"):
                peer = _measure_peer(task, peer_folds)
            limit = share * peer.get("peer_seconds", SECONDS) if seconds is None else seconds
            limits = TuneSettings(
                folds=FOLDS,
                configurations=configurations,
                seconds=None if configurations else limit,
                by_processor=True,
            )
            row = _measure_textcat(task, limits, data) | peer
            if fasttext_seconds and find_spec("fasttext"):
                row |= measure_fasttext(task, _make_folds(task)[0], fasttext_seconds, Path(folder))
            yield row


def make_task(name: str, files: Path, folder: Path) -> TuneTask:
    """Return a collection, read from a folder of downloaded files."""
    records = COLLECTIONS[name](files)
    categories = sorted({label for record in records for label in record.labels})
    column = {category: place for place, category in enumerate(categories)}
    parts = {}
    for side in ("train", "test"):
        own = [record for record in records if record.side == side]
        labels = np.zeros((len(own), len(categories)), dtype=np.bool_)
        for row, record in enumerate(own):
            labels[row, [column[label] for label in record.labels]] = True
        parts[side] = LabelledTexts([record.text for record in own], labels)
    single = all(len(record.labels) == 1 for record in records)
    table = write_table(records, folder / f"{name}.jsonl")
    return TuneTask(name, table, single, parts["train"], parts["test"])


EXPERIMENT = """title: {name}
corpus:
  name: jsonl
  path: {name}.jsonl
  single_label: {single}
  options: {{text: [text], label: labels, side: side}}
text: {{fields: [text]}}
evaluation: {{zero_division: skip}}
runs: {{svm: {{learner: linear, parameters: {{loss: squared_hinge, cost: 1, algorithm: fast}}}}}}
"""


def _measure_textcat(task: TuneTask, settings: TuneSettings, data: Path) -> Row:
    path = task.table.with_suffix(".yaml")
    write_atomically(path, EXPERIMENT.format(name=task.name, single=str(task.single_label).lower()))
    started = time.process_time()
    with TemporaryDirectory(dir=data if data.is_dir() else None) as folder:
        result = tune_experiment(
            load_experiment(path), RunContext(Path(folder)), settings, path.parent / "out"
        )
    report = result.report
    return {
        "collection": task.name,
        "metric": report["metric"],
        "configurations": len(report["candidates"]),
        "textcat": report["test"]["metric"],
        "cross_validated": report["best"]["value"],
        "seconds": round(time.process_time() - started, 3),
        "best": f"{report['best']['name']}, C {report['best']['cost']:g}",
        "threshold": report["best"]["threshold"],
    }


def _get_peer(row: Row) -> Row:
    """Return the grid's part of a row; its time is that of another run."""
    names = ("scikit-learn", "peer_seconds", "peer_folds", "peer_best")
    return {name: row[name] for name in names} | {"peer_saved": True} if "peer_seconds" in row else {}


def _measure_peer(task: TuneTask, folds: int) -> Row:
    """Return the row of scikit-learn's grid: the winner of held-out folds, refitted on all training documents."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values: dict[tuple[str, float], list[float]] = {}
        for kept, held in _make_folds(task)[:folds]:
            for name in _make_vectorizers():
                for cost, value in _fit_costs(task, name, kept, held).items():
                    values.setdefault((name, cost), []).append(value)
        searched = (time.process_time() - started) * FOLDS / folds
        started = time.process_time()
        name, cost = max(values, key=lambda key: float(np.mean(values[key])))
        value = _fit_and_test(task, name, cost)
    return {
        "scikit-learn": value,
        "peer_seconds": round(searched + time.process_time() - started, 3),
        "peer_folds": folds,
        "peer_best": f"{name}, C {cost:g}",
    }


def _make_folds(task: TuneTask) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    rows = np.zeros(len(task.train.texts))
    if task.single_label:
        split = StratifiedKFold(FOLDS, shuffle=True, random_state=1)
        return list(split.split(rows, task.train.labels.argmax(axis=1)))
    return list(KFold(FOLDS, shuffle=True, random_state=1).split(rows))


def _make_vectorizers() -> Mapping[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    def words(longest: int) -> Any:
        return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, longest))

    characters = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5))
    return {
        "words 1": words(1),
        "words 1-2": words(2),
        "words 1-2, char_wb 2-5": make_union(words(2), characters),
    }


def _fit_costs(task: TuneTask, name: str, kept: Any, held: Any) -> dict[float, float]:
    """Return the metric for each C; the documents are vectorized once."""
    vectorizer = _make_vectorizers()[name]
    X = vectorizer.fit_transform([task.train.texts[row] for row in kept])
    other = vectorizer.transform([task.train.texts[row] for row in held])
    labels = task.train.labels
    return {cost: _score(task, cost, X, labels[kept], other, labels[held]) for cost in COSTS}


def _fit_and_test(task: TuneTask, name: str, cost: float) -> float:
    vectorizer = _make_vectorizers()[name]
    X, other = vectorizer.fit_transform(task.train.texts), vectorizer.transform(task.test.texts)
    return _score(task, cost, X, task.train.labels, other, task.test.labels)


def _score(task: TuneTask, cost: float, X: Any, labels: Any, other: Any, wanted: Any) -> float:
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    one = LinearSVC(C=cost)
    if task.single_label:
        predicted = one.fit(X, labels.argmax(axis=1)).predict(other)
        return 100.0 * float(accuracy_score(wanted.argmax(axis=1), predicted))
    predicted = OneVsRestClassifier(one).fit(X, labels.astype(np.int64)).predict(other)
    return 100.0 * float(f1_score(wanted, predicted, average="micro"))
