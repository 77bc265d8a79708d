"""The same task with scikit-learn and LibMultiLabel; each is used only if it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from benchmarks.pipeline import PipelineTask, Stopwatch


Labels = NDArray[np.bool_]


@dataclass(frozen=True)
class PipelinePeer:
    """A tool: its name, the modules it needs, the losses it supports, and the function that does the task."""

    name: str
    modules: tuple[str, ...]
    losses: frozenset[str]
    work: Callable[[PipelineTask, str, Stopwatch], Labels]

    def explain_absence(self, loss: str) -> str | None:
        """Return why this peer cannot run; None if it can."""
        if loss not in self.losses:
            return f"has no learner for {loss}"
        absent = [module for module in self.modules if find_spec(module) is None]
        return f"{absent[0]} is not installed" if absent else None

    def run(self, task: PipelineTask, loss: str, watch: Stopwatch) -> Labels:
        """Return the decisions on the test documents, without showing the peer's warnings."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.work(task, loss, watch)


def _run_scikit_learn(task: PipelineTask, loss: str, watch: Stopwatch) -> Labels:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    with watch.stage("vectorize"):
        vectorizer = TfidfVectorizer(sublinear_tf=True)
        X = vectorizer.fit_transform(task.texts(task.train))
        held = vectorizer.transform(task.texts(task.test))
    Y = task.train_labels.astype(np.int64)
    one = LinearSVC() if loss == "squared_hinge" else LogisticRegression(solver="liblinear")
    with watch.stage("train"):
        model = OneVsRestClassifier(one).fit(X, Y)
    with watch.stage("thresholds"):
        folds = PredefinedSplit(task.folds)
        scores = cross_val_predict(OneVsRestClassifier(one), X, Y, cv=folds, method="decision_function")
        thresholds = np.array(
            [_find_best_threshold(Y[:, k], scores[:, k], task.least_f1) for k in range(Y.shape[1])]
        )
    with watch.stage("evaluate"):
        decided: Labels = np.asarray(model.decision_function(held) >= thresholds)
        f1_score(task.test_labels, decided, average="micro", zero_division=1)
        f1_score(task.test_labels, decided, average="macro", zero_division=1)
    return decided


def _find_best_threshold(truth: NDArray[np.int64], scores: NDArray[np.float64], least_f1: float) -> float:
    from sklearn.metrics import precision_recall_curve

    if not truth.any():
        return float("inf")
    precision, recall, thresholds = precision_recall_curve(truth, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    best = int(np.argmax(f1[:-1]))
    return float(thresholds[best]) if 100 * f1[best] >= least_f1 else float(scores.max())


def _run_libmultilabel(task: PipelineTask, loss: str, watch: Stopwatch) -> Labels:
    """Train one-vs-rest on all documents and on each fold, with the same thresholds as for scikit-learn.

    LibMultiLabel always trains on all cores, so its processor time exceeds the wall-clock time.
    """
    from libmultilabel import linear

    number = {"squared_hinge": 1, "logistic": 7}[loss]
    data: dict[str, Any] = {
        "data_format": "txt",
        "train": {"x": task.texts(task.train), "y": _list_label_names(task.train_labels)},
        "test": {"x": task.texts(task.test), "y": _list_label_names(task.test_labels)},
        "classes": [str(k) for k in range(task.train_labels.shape[1])],
    }
    with watch.stage("vectorize"):
        made = linear.Preprocessor(tfidf_params={"sublinear_tf": True}).fit(data).transform(data)
        X, Y = made["train"]["x"], made["train"]["y"]
    options = f"-s {number} -c 1 -B 1"
    with watch.stage("train"):
        model = linear.train_1vsrest(Y, X, False, options, False)
    with watch.stage("thresholds"):
        scores = np.empty(task.train_labels.shape)
        for fold in np.unique(task.folds):
            inside = task.folds == fold
            inner = linear.train_1vsrest(Y[~inside], X[~inside], False, options, False)
            scores[inside] = linear.predict_values(inner, X[inside])
        truth = task.train_labels.astype(np.int64)
        thresholds = np.array(
            [_find_best_threshold(truth[:, k], scores[:, k], task.least_f1) for k in range(truth.shape[1])]
        )
    with watch.stage("evaluate"):
        decided: Labels = np.asarray(linear.predict_values(model, made["test"]["x"]) >= thresholds)
    return decided


def _list_label_names(labels: Labels) -> list[list[str]]:
    return [[str(k) for k in np.flatnonzero(row)] for row in labels]


_BOTH_LOSSES = frozenset({"squared_hinge", "logistic"})
PIPELINE_PEERS = (
    PipelinePeer("scikit-learn", ("sklearn",), _BOTH_LOSSES, _run_scikit_learn),
    PipelinePeer(
        "LibMultiLabel", ("libmultilabel", "sklearn", "liblinear"), _BOTH_LOSSES, _run_libmultilabel
    ),
)
