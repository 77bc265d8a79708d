"""Time the same work on one and two workers of each backend.

There are two kinds of work: counting words in chunks, and a grid search on folds. Workers are started and
kernels compiled before the measurement. Every result is compared with that of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np

from textcat.corpora import Document, count_categories
from textcat.errors import StageFailedError
from textcat.linear.cross_validation import choose_lam_by_cross_validation
from textcat.parallel import BACKENDS, Executor, SerialExecutor, start_workers
from textcat.text.counting import count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings

WORKERS = (1, 2)
FOLDS = 4
VARIANCES = (1.0, 10.0)
TRAINING_DOCUMENTS = 6000
Work = Callable[[Executor], Any]
BackendRow = dict[str, Any]


def bench_backends(
    documents: Sequence[Document], repeats: int, backends: Sequence[str] = BACKENDS
) -> Iterator[BackendRow]:
    """Yield a row per backend, kind of work and number of workers: the least seconds of `repeats`."""
    works = {"count words": _make_counting_work(documents), "grid on folds": _make_grid_work(documents)}
    expected = {name: work(SerialExecutor()) for name, work in works.items()}
    for backend in backends:
        with ExitStack() as stack:
            executors = [
                stack.enter_context(start_workers(backend, workers)) or SerialExecutor()
                for workers in WORKERS
            ]
            for name, work in works.items():
                seconds = _measure_best_seconds(work, executors, repeats, expected[name])
                for workers, best in zip(WORKERS, seconds, strict=True):
                    row = {"work": name, "backend": backend, "workers": workers}
                    yield row | {"seconds": best, "speedup": seconds[0] / best}


def _measure_best_seconds(
    work: Work, executors: Sequence[Executor], repeats: int, expected: Any
) -> list[float]:
    """Return the least seconds of each executor; they take turns, so that other load slows all of them alike."""
    times: list[list[float]] = [[] for _ in executors]
    for _ in range(repeats + 1):
        for executor, taken in zip(executors, times, strict=True):
            started = perf_counter()
            found = work(executor)
            taken.append(perf_counter() - started)
            if not _are_equal(found, expected):
                raise StageFailedError(
                    "workers came to other numbers than one process",
                    where=repr(executor),
                    hint="Look for a version of a library that differs between them.",
                )
    return [min(taken[1:]) for taken in times]


def _are_equal(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def _make_text_settings(documents: Sequence[Document]) -> TextSettings:
    fields = tuple(name for name in ("title", "body") if name in documents[0].fields)
    return TextSettings(tokenizer="alphanumeric", fields=fields)


def _make_counting_work(documents: Sequence[Document]) -> Work:
    settings = _make_text_settings(documents)

    def work(executor: Executor) -> list[Any]:
        counted = count_terms(documents, settings, executor=executor).counts
        return [counted.data, counted.indices, counted.indptr]

    return work


def _make_grid_work(documents: Sequence[Document]) -> Work:
    training = [document for document in documents if document.split == "train"][:TRAINING_DOCUMENTS]
    counted = count_terms(training, _make_text_settings(documents))
    vectors = Vectorizer.fit(counted, settings=VectorSettings(weighting="log_tf_idf", cosine=True)).transform(
        counted
    )
    labels = counted.make_sparse_labels(count_categories(documents).in_both()).toarray()

    def work(executor: Executor) -> list[Any]:
        choice = choose_lam_by_cross_validation(
            vectors, labels, "gaussian", VARIANCES, FOLDS, FOLDS, executor=executor,
            algorithm="fast", tol=1e-3, options={"stop": "optimality"},
        )  # fmt: skip
        return [choice.likelihood, choice.best]

    return work
