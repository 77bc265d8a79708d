"""From the best configuration to an ordinary experiment: its threshold rule, its file, its results and its model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml
from numpy.typing import NDArray

from textcat.experiment.context import RunContext
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.held_out import load_held_out_scores
from textcat.experiment.tune.documents import LABEL_NAMES
from textcat.experiment.tune.evaluation import (
    Evaluator,
    decide_held_out,
    make_threshold_settings,
    measure_decisions,
)
from textcat.experiment.tune.search import Candidate
from textcat.extensions import describe_import
from textcat.store.files import write_atomically
from textcat.thresholds.calibration import CalibrationSettings
from textcat.thresholds.rules import accept_highest

RUN = "tuned"
FILE = "tuned.yaml"
_HEADER = """# The best experiment that `textcat tune` found: textcat run THIS_FILE
# tune.json has all that were tried. Test documents had no part in the choice.
"""


@dataclass(frozen=True)
class HeldOut:
    """Scores of all training documents by models trained without them, and the decisions of the chosen rule."""

    scores: NDArray[np.float64]
    decisions: NDArray[np.bool_]
    folds: NDArray[np.int64]
    values: dict[str, float]
    rule: str


def make_experiment(
    base: Experiment, evaluator: Evaluator, candidate: Candidate, threshold: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """Return the data of the tuned experiment; paths are relative to `folder`."""
    name = base.name.removesuffix("-tuned")
    corpus: dict[str, Any] = base.corpus.model_dump(mode="json", exclude_defaults=True)
    if base.corpus.path:
        corpus["path"] = os.path.relpath(base.own_documents.resolve(), folder.resolve())
    corpus.setdefault("options", {}).pop(LABEL_NAMES, None)
    if evaluator.space.learns_names(candidate.configuration):
        corpus["options"][LABEL_NAMES] = True
    text = base.text.model_dump(mode="json", exclude_defaults=True)
    data: dict[str, Any] = {
        "name": f"{name}-tuned",
        "title": f"{base.title or name}, tuned",
        "seed": evaluator.seed,
        "corpus": corpus,
    }
    if base.imports:
        data["imports"] = [describe_import(name, folder) for name in base.imports]
    if not evaluator.documents.is_vectors:
        groups = evaluator.space.list_groups(candidate.configuration)
        text["tokenizer"] = base.text.tokenizer
        text["groups"] = [group.model_dump(mode="json", exclude_defaults=True) for group in groups]
        for group in text["groups"]:
            group["ngrams"] = list(group.get("ngrams", (1, 1)))
        data["text"] = text
    cost = candidate.find_best()[0]
    if threshold:
        data["threshold"] = dict(threshold)
    if calibration := make_calibration_settings(evaluator):
        data["calibration"] = calibration.model_dump(mode="json")
    evaluation = base.evaluation.model_dump(mode="json", exclude_defaults=True)
    k = int(evaluator.metric.removeprefix("p@")) if evaluator.metric.startswith("p@") else 0
    if k and k not in evaluation.get("ranking", []):
        evaluation["ranking"] = sorted({*evaluation.get("ranking", []), k})
    # The metric of the search leaves out categories without held-out documents.
    data["evaluation"] = {**evaluation, "zero_division": "skip"}
    data["runs"] = {
        RUN: {"title": "Tuned", **evaluator.space.make_run(candidate.configuration, cost, final=True)}
    }
    return data


# Scores of more documents x categories are not calibrated.
MOST_SCORES = 20_000_000


def make_calibration_settings(evaluator: Evaluator) -> CalibrationSettings | None:
    """Return how scores of the tuned experiment become probabilities."""
    if evaluator.documents.number * len(evaluator.documents.categories) > MOST_SCORES:
        return None
    method: Literal["temperature", "platt"] = "temperature" if evaluator.single_label else "platt"
    return CalibrationSettings(method=method, folds=len(evaluator.folds))


def write_experiment(data: Mapping[str, Any], path: Path) -> Experiment:
    """Write the experiment file and return the experiment as `textcat run` reads it."""
    text = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100, default_flow_style=None)
    write_atomically(path, _HEADER + text)
    return load_experiment(path)


def compute_held_out(
    experiment: Experiment, context: RunContext, evaluator: Evaluator, folds: int
) -> tuple[HeldOut, dict[str, Any]]:
    """Train the experiment without test documents; return held-out scores and settings of the best threshold rule.

    Each rule decides on a fold by thresholds that were set without it.
    """
    plan, _ = run_experiment(experiment, context, "train")
    chain = plan.chains[0]
    problem = chain.assemble_problem(context)
    scores, numbers = load_held_out_scores(context, chain.settings, problem, chain.trained, folds)
    # The names of labels, which come last, are no documents to measure.
    own = slice(evaluator.documents.number)
    scores, numbers, labels = scores[own], numbers[own], problem.labels[own]
    counts = labels.sum(axis=0)
    decided = {
        rule: accept_highest(scores)
        if evaluator.single_label
        else decide_held_out(rule, scores, labels, numbers)
        for rule in evaluator.rules
    }
    values = {
        rule: measure_decisions(evaluator.metric, scores, decisions, labels, counts)
        for rule, decisions in decided.items()
    }
    best = max(values, key=lambda rule: values[rule])
    chosen = make_threshold_settings(best, scores, labels, folds=folds)
    settings = chosen.model_dump(mode="json", exclude_defaults=True)
    return HeldOut(scores, decided[best], numbers, values, best), settings
