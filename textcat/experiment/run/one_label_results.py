"""What results.json adds for one label per document: accuracy at k, confusions, reliability of probabilities.

The experiments of the papers do not get it, so that their results stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textcat.evaluation.one_label import (
    compute_calibration_error,
    count_confusions,
    find_columns,
    measure_reliability,
    measure_top_accuracy,
)
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.decide import DecisionRule, load_decision_rule
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.store.arrays import read_array, read_mask

TOP_ACCURACIES = (3, 5)
MAX_CONFUSIONS = 1000


def describes_one_label(experiment: Experiment) -> bool:
    """Return whether the results describe single labels: not for papers, nor for several random splits."""
    splits = experiment.resample is not None and experiment.resample.kind == "splits"
    return experiment.corpus.single_label and not experiment.paper and not splits


def load_rule_of_chain(
    chain: Chain, vectors: Vectors, context: RunContext, *, single_label: bool
) -> DecisionRule:
    """Return the decision rule of a run whose steps are built."""
    calibrated = chain.calibrated.build_artifact(context).folder if chain.calibrated else None
    decided = chain.decided.build_artifact(context).folder
    return load_decision_rule(chain.settings, decided, calibrated, vectors.priors, single_label=single_label)


def collect_one_label_results(chains: Sequence[Chain], context: RunContext) -> dict[str, Any]:
    """Return `measures`, `confusions` as (label, given, documents) by number of the category, and `reliability`.

    With folds, the test documents of all folds count together.
    """
    parts = [_read_part(chain, context) for chain in chains]
    scores = np.vstack([part["scores"] for part in parts])
    labels = np.concatenate([part["labels"] for part in parts])
    given = np.concatenate([part["given"] for part in parts])
    found: dict[str, Any] = {"measures": dict(measure_top_accuracy(scores, labels, TOP_ACCURACIES))}
    found["confusions"] = [list(entry) for entry in count_confusions(labels, given, MAX_CONFUSIONS)]
    if all(part["probabilities"] is not None for part in parts):
        reliability = measure_reliability(np.vstack([part["probabilities"] for part in parts]), labels)
        found["measures"]["probability.calibration_error"] = compute_calibration_error(reliability)
        found["reliability"] = [[round(p, 6), round(share, 6), n] for p, share, n in reliability]
    return found


def _read_part(chain: Chain, context: RunContext) -> dict[str, Any]:
    """Return scores, labels, given categories and probabilities of the test documents of one repetition."""
    vectors = read_vectors(chain.vectorized.build_artifact(context).folder)
    folder = chain.evaluated.build_artifact(context).folder
    scores = read_array(folder, "scores")
    model = load_model(chain.trained.build_artifact(context).folder)
    rule = load_rule_of_chain(chain, vectors, context, single_label=True)
    return {
        "scores": scores,
        "labels": find_columns(vectors.test_labels),
        "given": find_columns(read_mask(folder, "decisions")),
        "probabilities": rule.probabilities(model, scores),
    }
