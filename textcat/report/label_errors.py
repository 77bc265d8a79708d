"""Probable label errors: training documents whose held-out probabilities contradict their label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textcat.evaluation.one_label import find_columns, rank_label_errors
from textcat.experiment.context import RunContext
from textcat.experiment.run.one_label_results import load_rule_of_chain
from textcat.experiment.run.plan import Chain
from textcat.experiment.steps.held_out import find_held_out_scores
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors

MAX_LABEL_ERRORS = 25


@dataclass(frozen=True)
class ProbableLabelError:
    """A training document, its label and the class that a model trained without it prefers."""

    document: str
    label: str
    suggested: str
    label_probability: float
    suggested_probability: float
    excerpt: str = ""


def find_label_errors(
    chain: Chain, context: RunContext, seed: int, most: int = MAX_LABEL_ERRORS
) -> list[ProbableLabelError]:
    """Return the clearest contradictions first; none where the run has no held-out scores or probabilities."""
    run = chain.settings
    if run.calibration is None or run.train_documents is not None:
        return []
    scores = find_held_out_scores(context, chain.trained, seed, run.calibration.folds)
    if scores is None:
        return []
    vectors = read_vectors(chain.vectorized.build_artifact(context).folder)
    rule = load_rule_of_chain(chain, vectors, context, single_label=True)
    probabilities = rule.probabilities(load_model(chain.trained.build_artifact(context).folder), scores)
    if probabilities is None:
        return []
    labels = find_columns(vectors.train_labels)
    return [
        ProbableLabelError(
            vectors.train_ids[row],
            vectors.categories[labels[row]],
            vectors.categories[int(probabilities[row].argmax())],
            float(probabilities[row, labels[row]]),
            float(probabilities[row].max()),
        )
        for row in rank_label_errors(probabilities, labels, most).tolist()
    ]


def choose_chain_with_held_out(
    chains: Sequence[Chain], accuracies: Mapping[str, float | None]
) -> Chain | None:
    """Return the calibrated run with the highest accuracy, or None."""
    calibrated = [chain for chain in chains if chain.calibrated]
    return max(calibrated, key=lambda chain: accuracies.get(chain.run) or 0.0, default=None)
