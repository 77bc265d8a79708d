"""What a user would put together instead, each used only when it can be imported."""

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
    """A tool by name: the modules it needs, the losses it has a learner for, and the whole work with it."""

    name: str
    modules: tuple[str, ...]
    losses: frozenset[str]
    work: Callable[[PipelineTask, str, Stopwatch], Labels]

    def explain_absence(self, loss: str) -> str | None:
        """Why this peer cannot run, or None when it can."""
        if loss not in self.losses:
            return f"has no learner for {loss}"
        absent = [module for module in self.modules if find_spec(module) is None]
        return f"{absent[0]} is not installed" if absent else None

    def run(self, task: PipelineTask, loss: str, watch: Stopwatch) -> Labels:
        """Decisions on the test documents, without the peer's warnings."""
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
    """Its one-vs-rest training, for all documents and for each fold, with thresholds set as scikit-learn's.

    It trains on all cores whatever it is told, so its processor time is more than what its user waits.
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
