"""From documents to evaluated classifiers with tuned thresholds: textcat and what a user of other libraries
would write.

All tools get the same documents in memory, categories and folds, and do the same work: count and weight words
(log TF x IDF, cosine); train one classifier per category; set each category's threshold to the one with the
best F1 on held-out scores of five folds, or to the highest held-out score if that F1 is below 30; label the
test documents and compute micro and macro F1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pipeline_peers import PIPELINE_PEERS, PipelinePeer
from textcat.evaluation.measures import count_contingency, macro_f1, micro_f1
from textcat.linear import LinearModel, fit
from textcat.linear.cross_validation import score_held_out_folds
from textcat.linear.regularization import lam_from_c
from textcat.parallel.executors import limit_to_one_thread
from textcat.splits import assign_folds
from textcat.text.counting import TextDocument, count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings
from textcat.thresholds.rules import ThresholdSettings, set_thresholds

OWN_TOOL = "textcat"
PIPELINE_LOSSES = {"squared hinge": "squared_hinge", "logistic": "logistic"}
FOLDS = 5
COST = 1.0
# If the best held-out F1 of a category is lower, its threshold is its highest held-out score (SCutFBR.1).
LEAST_F1 = 30.0
# Duality gap of each category relative to its objective. Peers stop by their own defaults.
ACCURACY = 1e-4


@dataclass
class Stopwatch:
    """Processor seconds per stage, and wall-clock seconds in total."""

    stages: dict[str, float] = field(default_factory=dict)
    wall: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the `with` block to a stage."""
        used, started = time.process_time(), time.perf_counter()
        yield
        self.stages[name] = self.stages.get(name, 0.0) + time.process_time() - used
        self.wall += time.perf_counter() - started

    @property
    def seconds(self) -> float:
        """Return the processor seconds of all stages."""
        return sum(self.stages.values())


@dataclass(frozen=True)
class PipelineRow:
    """One tool with one learner. `ratio` is its processor time divided by textcat's with the same loss."""

    tool: str
    learner: str
    seconds: float | None = None
    wall_seconds: float | None = None
    vectorize: float | None = None
    train: float | None = None
    thresholds: float | None = None
    evaluate: float | None = None
    micro_f1: float | None = None
    macro_f1: float | None = None
    ratio: float | None = None
    skipped: str | None = None


@dataclass(frozen=True)
class PipelineTask:
    """Training and test documents, their labels, and the fold of each training document."""

    train: Sequence[TextDocument]
    test: Sequence[TextDocument]
    train_labels: NDArray[np.bool_]
    test_labels: NDArray[np.bool_]
    folds: NDArray[np.int64]
    fields: tuple[str, ...]
    least_f1: float = LEAST_F1

    def texts(self, documents: Sequence[TextDocument]) -> list[str]:
        """Return each document as one string, as peers need it."""
        return ["\n".join(document.fields.get(name, "") for name in self.fields) for document in documents]


def make_task(
    documents: Iterable[TextDocument], categories: Sequence[str], fields: tuple[str, ...]
) -> PipelineTask:
    """Return the task for documents with the splits `train` and `test`."""
    everything = list(documents)
    train = [document for document in everything if document.split == "train"]
    test = [document for document in everything if document.split == "test"]
    folds = assign_folds(len(train), FOLDS, seed=0)
    return PipelineTask(
        train, test, _make_labels(train, categories), _make_labels(test, categories), folds, fields
    )


def bench_pipeline(
    task: PipelineTask,
    learners: Iterable[str] = tuple(PIPELINE_LOSSES),
    *,
    peers: Sequence[PipelinePeer] = PIPELINE_PEERS,
    repeats: int = 3,
    wanted: Container[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield a row for textcat and for each peer, per learner: the least processor time of `repeats`, on one thread.

    `wanted` holds the names of the rows to measure, as `name_row` makes them; ratios need textcat's in any case.
    """
    with limit_to_one_thread():
        for learner in learners:
            loss = PIPELINE_LOSSES[learner]
            run_textcat(_take_sample(task), loss, Stopwatch())
            ours = _measure_best(OWN_TOOL, learner, task, partial(run_textcat, task, loss), repeats)
            yield asdict(_add_ratio(ours, ours.seconds))
            for peer in peers:
                if wanted is None or name_row(learner, peer.name) in wanted:
                    yield asdict(_add_ratio(_measure_peer(peer, learner, loss, task, repeats), ours.seconds))


def name_row(learner: str, tool: str) -> str:
    """Return the name by which `--only` finds a row, such as "logistic, scikit-learn"."""
    return f"{learner}, {tool}"


def run_textcat(task: PipelineTask, loss: str, watch: Stopwatch) -> NDArray[np.bool_]:
    """Do the whole task with textcat; return the decisions on the test documents."""
    with watch.stage("vectorize"):
        settings = TextSettings(tokenizer="alphabetic", fields=task.fields)
        counted = count_terms([*task.train, *task.test], settings)
        training = counted.in_split("train")
        weighted = VectorSettings(weighting="log_tf_idf", cosine=True)
        vectors = Vectorizer.fit(counted, training, settings=weighted).transform(counted)
        X, held = vectors[training], vectors[~training]
    with watch.stage("train"):
        model = fit(X, task.train_labels, lam=lam_from_c(COST, X.shape[0]), **_make_fit_options(loss))
    with watch.stage("thresholds"):
        scores = _compute_held_out_scores(X, task, loss, model)
        rule = ThresholdSettings(rule="scut-fbr", criterion="f1", point="highest", least_f1=task.least_f1)
        thresholds = set_thresholds(rule, scores, task.train_labels)
    with watch.stage("evaluate"):
        decided: NDArray[np.bool_] = model.scores(held) >= thresholds
        _compute_f1_measures(decided, task)
    return decided


def _compute_held_out_scores(
    X: Any, task: PipelineTask, loss: str, model: LinearModel
) -> NDArray[np.float64]:
    folds = [
        (np.flatnonzero(task.folds != fold), np.flatnonzero(task.folds == fold)) for fold in range(FOLDS)
    ]
    lams = [lam_from_c(COST, len(kept)) for kept, _ in folds]
    scores = np.empty(task.train_labels.shape)
    found = score_held_out_folds(X, task.train_labels, folds, lams, init=model, **_make_fit_options(loss))
    for (_, held), own in zip(folds, found, strict=True):
        scores[held] = own
    return scores


def _make_fit_options(loss: str) -> dict[str, Any]:
    return {"loss": loss, "algorithm": "fast", "tol": ACCURACY}


def _measure_best(
    tool: str, learner: str, task: PipelineTask, run: Callable[[Stopwatch], NDArray[np.bool_]], repeats: int
) -> PipelineRow:
    rows = []
    for _ in range(repeats):
        watch = Stopwatch()
        micro, macro = _compute_f1_measures(run(watch), task)
        spent = {name: round(seconds, 4) for name, seconds in watch.stages.items()}
        row = PipelineRow(tool, learner, round(watch.seconds, 4), round(watch.wall, 4))
        rows.append(
            replace(
                row,
                vectorize=spent.get("vectorize"),
                train=spent.get("train"),
                thresholds=spent.get("thresholds"),
                evaluate=spent.get("evaluate"),
                micro_f1=round(micro, 2),
                macro_f1=round(macro, 2),
            )
        )
    return min(rows, key=lambda row: row.seconds or 0.0)


def _measure_peer(
    peer: PipelinePeer, learner: str, loss: str, task: PipelineTask, repeats: int
) -> PipelineRow:
    why = peer.explain_absence(loss)
    if why:
        return PipelineRow(peer.name, learner, skipped=why)
    try:
        return _measure_best(peer.name, learner, task, partial(peer.run, task, loss), repeats)
    except Exception as error:  # a peer may not work with the installed versions
        return PipelineRow(peer.name, learner, skipped=f"failed: {type(error).__name__}: {error}")


def _compute_f1_measures(decided: NDArray[np.bool_], task: PipelineTask) -> tuple[float, float]:
    table = count_contingency(decided, task.test_labels)
    return micro_f1(table), macro_f1(table)


def _add_ratio(row: PipelineRow, ours: float | None) -> PipelineRow:
    if row.seconds is None or not ours:
        return row
    return replace(row, ratio=round(row.seconds / ours, 2))


def _take_sample(task: PipelineTask) -> PipelineTask:
    """Return a task of a few documents, for compiling."""
    few = slice(0, 200)
    return replace(
        task, train=task.train[few], test=task.test[few], train_labels=task.train_labels[few],
        test_labels=task.test_labels[few], folds=task.folds[few],
    )  # fmt: skip


def _make_labels(documents: Sequence[TextDocument], categories: Sequence[str]) -> NDArray[np.bool_]:
    column = {category: place for place, category in enumerate(categories)}
    labels = np.zeros((len(documents), len(categories)), dtype=np.bool_)
    for row, document in enumerate(documents):
        labels[row, [column[name] for name in document.labels if name in column]] = True
    return labels
