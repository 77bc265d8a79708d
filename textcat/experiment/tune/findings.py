"""What a search shows: main effects, learning curve, confusions, probable label errors, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.one_label import (
    compute_calibration_error,
    count_confusions,
    find_columns,
    measure_reliability,
    rank_label_errors,
)
from textcat.experiment.tune.evaluation import Evaluator
from textcat.experiment.tune.search import Candidate, Search
from textcat.experiment.tune.tuned import HeldOut, make_calibration_settings
from textcat.thresholds.calibration import calibrate_held_out

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHARES = (0.125, 0.25, 0.5)
FOLDS_OF_CURVE = 2
# More labels are worth their cost where twice as many are expected to gain this much, in percent.
WORTH = 0.5
MOST_CONFUSIONS, MOST_LABEL_ERRORS = 30, 50


@dataclass(frozen=True)
class LearningCurve:
    """The metric by number of training documents on some folds, and the answer to whether more labels would help.

    `value` is the metric in cross-validation, and `twice` the expected one with twice as many documents.
    """

    documents: list[int]
    values: list[float]
    value: float
    twice: float | None
    answer: str

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return {
            "documents": self.documents,
            "values": [round(value, 3) for value in self.values],
            "value": round(self.value, 3),
            "twice": None if self.twice is None else round(self.twice, 3),
            "answer": self.answer,
        }


def measure_learning_curve(evaluator: Evaluator, best: Candidate, held_out: HeldOut) -> LearningCurve:
    """Train the best configuration on shares of the training part of some folds, and extrapolate.

    Each share is part of the next; the last is the whole training part. All values are those of the same held-out
    documents. The curve says by which power of the number of documents the error falls, and the value in
    cross-validation on all folds where it starts.
    """
    cost, rule, value = best.find_best()[0], held_out.rule, held_out.values[held_out.rule]
    folds = range(FOLDS_OF_CURVE)
    parts = [
        (f"share {share} of {fold}", _take_share(evaluator, fold, share))
        for share in SHARES
        for fold in folds
    ]
    measured = [found[rule] for found in evaluator.measure_parts(best.configuration, cost, parts)]
    whole = [evaluator.folds[fold] for fold in folds]
    measured += [evaluator.measure(held_out.scores[part[1]], part)[rule] for part in whole]
    sizes = [len(kept) for kept, _ in (*(fold for _, fold in parts), *whole)]
    documents = [round(size) for size in np.reshape(sizes, (-1, FOLDS_OF_CURVE)).mean(axis=1).tolist()]
    values = np.reshape(measured, (-1, FOLDS_OF_CURVE)).mean(axis=1).tolist()
    twice = extrapolate(documents, values, value)
    return LearningCurve(documents, values, value, twice, answer_more_labels(value, twice, evaluator.metric))


def _take_share(evaluator: Evaluator, fold: int, share: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    kept, held = evaluator.folds[fold]
    order = np.random.default_rng([evaluator.seed, fold]).permutation(len(kept))
    return np.sort(kept[order[: max(round(share * len(kept)), 2)]]), held


def extrapolate(documents: Sequence[int], values: Sequence[float], value: float) -> float | None:
    """Return what becomes of a value with twice as many documents: the error is a power of their number.

    The power is fitted to the last three points. None if the error is 0 somewhere or grows with more documents.
    """
    errors = 100.0 - np.asarray(values[-3:])
    if (errors <= 0).any():
        return None
    slope = float(np.polyfit(np.log(np.asarray(documents[-3:], dtype=np.float64)), np.log(errors), 1)[0])
    return None if slope >= 0 else float(100.0 - (100.0 - value) * 2.0**slope)


def answer_more_labels(value: float, twice: float | None, metric: str) -> str:
    """Return the answer to whether more labels would help, as a sentence."""
    if value >= 100.0:
        return f"More labels cannot raise {metric} here: no held-out document is wrong."
    if twice is None:
        return (
            "The curve does not rise with more documents: more labels of this kind are not expected to help."
        )
    gain = twice - value
    expected = f"twice as many labelled documents are expected to raise {metric} by about {gain:.1f} points"
    if gain >= WORTH:
        return f"More labels would help: {expected}, from {value:.1f} to {twice:.1f}."
    return f"More labels would hardly help: {expected}."


def list_confusions(held_out: HeldOut, labels: Bools, categories: Sequence[str]) -> list[dict[str, Any]]:
    """Return the pairs of categories that are confused most often, for one label a document."""
    totals = labels.sum(axis=0)
    found = count_confusions(find_columns(labels), held_out.scores.argmax(axis=1), MOST_CONFUSIONS)
    return [
        {
            "label": categories[own],
            "predicted": categories[given],
            "documents": documents,
            "of": int(totals[own]),
        }
        for own, given, documents in found
    ]


def list_label_errors(
    probabilities: Floats, labels: Bools, ids: Sequence[str], categories: Sequence[str], *, single_label: bool
) -> list[dict[str, Any]]:
    """Return training documents whose held-out probabilities contradict a label most, the clearest first.

    The label in doubt is that of the document, or with several labels the one, given or missing, with the least
    probable answer.
    """
    if single_label:
        own = find_columns(labels)
        found = [
            (row, int(own[row])) for row in rank_label_errors(probabilities, own, MOST_LABEL_ERRORS).tolist()
        ]
    else:
        doubt = np.where(labels, 1.0 - probabilities, probabilities)
        suspects = doubt.argmax(axis=1)
        worst = doubt[np.arange(len(doubt)), suspects]
        order = np.argsort(-worst, kind="stable")[:MOST_LABEL_ERRORS]
        found = [(int(row), int(suspects[row])) for row in order if worst[row] > 0.5]
    return [_describe_error(row, column, probabilities, labels, ids, categories) for row, column in found]


def _describe_error(
    row: int, column: int, probabilities: Floats, labels: Bools, ids: Sequence[str], categories: Sequence[str]
) -> dict[str, Any]:
    likely = int(np.where(labels[row], -1.0, probabilities[row]).argmax())
    return {
        "document": ids[row],
        "labels": [categories[int(k)] for k in np.flatnonzero(labels[row])],
        "suspect": categories[column],
        "kind": "wrong" if labels[row, column] else "missing",
        "likely": categories[likely],
        "probability": round(float(probabilities[row, likely]), 4),
        "of_label": round(float(probabilities[row, column]), 4),
    }


def measure_calibration_of_folds(
    probabilities: Floats, labels: Bools, *, single_label: bool
) -> dict[str, Any]:
    """Return (mean probability, share right, decisions) of bins, and the calibration error in percent.

    For one label a document these are the highest probabilities, otherwise those of all decisions of at least 1%.
    """
    if single_label:
        bins = measure_reliability(probabilities, find_columns(labels))
    else:
        kept = probabilities >= 0.01
        bins = measure_reliability(probabilities[kept][:, None], labels[kept].astype(np.int64) - 1)
    return {
        "bins": [[round(mean, 4), round(right, 4), number] for mean, right, number in bins],
        "error": round(100.0 * compute_calibration_error(bins), 3),
    }


def estimate_effects(search: Search) -> dict[str, dict[str, float | None]]:
    """Return what each option is worth on the first rung: its difference from the best configuration's option.

    The values of all candidates are fitted by a sum of one term for each other option (least squares). An option
    whose term the candidates do not determine has None: none of them has it, or only together with another one.
    """
    best = search.best
    folds = search.rungs[0]
    measured = [each for each in search.candidates if set(folds) <= set(each.paths)]
    choices = {choice: list(options) for choice, options in search.evaluator.space.choices.items()}
    chosen = {choice: best.configuration.chosen[choice] for choice in choices} if best else {}
    columns = [
        (choice, option)
        for choice, options in choices.items()
        for option in options
        if option != chosen.get(choice)
    ]
    design = np.array(
        [[1.0, *(_has_option(each, *column) for column in columns)] for each in measured], dtype=np.float64
    ).reshape(len(measured), len(columns) + 1)
    values = np.array([each.find_best(folds)[2] for each in measured])
    inverse = np.linalg.pinv(design)
    terms = (inverse @ values)[1:]
    determined = np.isclose(np.diag(inverse @ design), 1.0, atol=1e-6)[1:]
    worth = {
        column: round(float(term), 3) + 0.0 if known else None
        for column, term, known in zip(columns, terms, determined, strict=True)
    }
    return {
        choice: {option: worth.get((choice, option), 0.0) for option in options}
        for choice, options in choices.items()
    }


def _has_option(candidate: Candidate, choice: str, option: str) -> bool:
    configuration = candidate.configuration
    return choice not in configuration.idle_choices and configuration.chosen[choice] == option


NO_FINDINGS: dict[str, Any] = {
    "effects": {}, "confusions": [], "label_errors": [], "calibration": None, "learning_curve": None, "left_out": "",
}  # fmt: skip


def list_findings(
    search: Search, best: Candidate, held_out: HeldOut
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each finding's name and the function that makes its JSON-able data; the last one takes longest."""
    evaluator = search.evaluator
    documents = evaluator.documents
    labels, single = documents.labels[: documents.number], evaluator.single_label
    yield "effects", lambda: estimate_effects(search)
    if single:
        yield "confusions", lambda: list_confusions(held_out, labels, documents.categories)
    calibration = make_calibration_settings(evaluator)
    if calibration is not None:
        probabilities = calibrate_held_out(calibration, held_out.scores, labels, held_out.folds)
        yield (
            "label_errors",
            lambda: list_label_errors(
                probabilities, labels, documents.ids, documents.categories, single_label=single
            ),
        )
        yield "calibration", lambda: measure_calibration_of_folds(probabilities, labels, single_label=single)
    yield "learning_curve", lambda: measure_learning_curve(evaluator, best, held_out).as_dict()
