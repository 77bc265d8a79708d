"""What results.json adds for one label per document: accuracy at k, confusions, reliability of probabilities.

The experiments of the papers do not get it, so that their results stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textcat.evaluation.contingency import Ints
from textcat.evaluation.measures import Floats
from textcat.evaluation.one_label import (
    compute_calibration_error,
    compute_risk_area,
    count_confusions,
    find_columns,
    measure_rejection,
    measure_reliability,
    measure_top_accuracy,
    trace_risk_coverage,
)
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.decide import DecisionRule, load_decision_rule
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.store.arrays import read_array, read_mask
from textcat.thresholds.rejection import Rejection

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
    """Return `measures`, `confusions` as (label, given, documents) by number of the category, and more.

    With folds, the test documents of all folds count together.
    """
    parts = [_read_part(chain, context) for chain in chains]
    scores = np.vstack([part["scores"] for part in parts])
    labels = np.concatenate([part["labels"] for part in parts])
    given = np.concatenate([part["given"] for part in parts])
    outside = _find_outside(chains[0], parts[0]["categories"])
    measures = dict(measure_top_accuracy(scores, labels, TOP_ACCURACIES))
    found: dict[str, Any] = {
        "confusions": [list(entry) for entry in count_confusions(labels, given, MAX_CONFUSIONS)]
    }
    if chains[0].settings.reject:
        measures |= measure_rejection(labels, given, outside)
        measures["reject.threshold"] = float(np.mean([part["threshold"] for part in parts]))
    if all(part["probabilities"] is not None for part in parts):
        probabilities = np.vstack([part["probabilities"] for part in parts])
        described = _describe_probabilities(probabilities, labels, outside)
        measures |= described.pop("measures")
        found |= described
    finite = {name: value if np.isfinite(value) else None for name, value in measures.items()}
    return found | {"measures": finite}


def _describe_probabilities(probabilities: Floats, labels: Ints, outside: int) -> dict[str, Any]:
    """Return `measures`, `reliability` and `risk_coverage`; a document out of scope is wrong if it is answered."""
    reliability = measure_reliability(probabilities, labels)
    best, columns = Rejection(0.0, outside).find_best(probabilities)
    right = columns == labels
    return {
        "measures": {
            "probability.calibration_error": compute_calibration_error(reliability),
            "reject.risk_area": compute_risk_area(best, right),
        },
        "reliability": [[round(p, 6), round(share, 6), n] for p, share, n in reliability],
        "risk_coverage": [[round(c, 6), round(r, 6)] for c, r in trace_risk_coverage(best, right)],
    }


def _find_outside(chain: Chain, categories: Sequence[str]) -> int:
    """Return the column of the label of documents out of scope, or -1."""
    label = chain.settings.reject.label if chain.settings.reject else None
    return -1 if label is None else list(categories).index(label)


def _read_part(chain: Chain, context: RunContext) -> dict[str, Any]:
    """Return scores, labels, given categories, probabilities and more of the test documents of one repetition."""
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
        "categories": vectors.categories,
        "threshold": rule.rejection.threshold if rule.rejection else 0.0,
    }
