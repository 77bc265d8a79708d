"""What the evaluation step decided, read from its artifacts, to compare with the answers of `textcat predict`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.decide import load_decision_rule
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors
from textcat.serving.export import export_models
from textcat.store.arrays import read_array, read_mask


@dataclass(frozen=True)
class Evaluated:
    """Scores, decisions and probabilities of one run, test documents x categories."""

    ids: list[str]
    categories: list[str]
    scores: np.ndarray
    decisions: np.ndarray
    probabilities: np.ndarray | None

    @property
    def labels(self) -> list[list[str]]:
        """The categories that each document is given."""
        return [[self.categories[k] for k in np.flatnonzero(row)] for row in self.decisions]


def evaluate_and_export(experiment: Path, context: RunContext, models: Path) -> dict[str, Evaluated]:
    """Evaluate an experiment, write its models to `models`; what was decided for each run's first split."""
    plan, _ = run_experiment(load_experiment(experiment), context)
    export_models(plan, context, models)
    single = plan.experiment.corpus.single_label
    return {chain.run: _of_chain(chain, context, single) for chain in plan.chains if chain.repeat == 0}


def _of_chain(chain: Chain, context: RunContext, single_label: bool) -> Evaluated:
    vectors = read_vectors(chain.vectorized.build_folder(context))
    made = chain.evaluated.build_folder(context)
    decider = load_decision_rule(
        chain.settings,
        chain.decided.build_folder(context),
        chain.calibrated.build_folder(context) if chain.calibrated else None,
        vectors.priors,
        single_label=single_label,
    )
    scores = read_array(made, "scores")
    model = load_model(chain.trained.build_folder(context))
    return Evaluated(
        list(vectors.test_ids),
        list(vectors.categories),
        scores,
        read_mask(made, "decisions"),
        decider.probabilities(model, scores),
    )
