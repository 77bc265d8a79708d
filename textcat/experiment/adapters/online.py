"""The Perceptron, Winnow and their large-margin forms, as in zhang_2000."""

from __future__ import annotations

from typing import Any

from textcat.errors import UsageError
from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import OnlineParameters
from textcat.learners.perceptron import fit_dual_svm, fit_perceptron
from textcat.learners.winnow import fit_large_margin_winnow, fit_winnow


def fit_online(name: str, problem: Problem, parameters: OnlineParameters, jobs: int) -> Model:
    """The learner of that name; documents come in the order of the corpus unless a seed shuffles them."""
    shared: dict[str, Any] = {
        "mask": problem.mask,
        "rate": parameters.rate,
        "passes": parameters.passes,
        "seed": parameters.shuffle,
        "n_jobs": jobs,
    }
    winnow: dict[str, Any] = {
        "prior": parameters.initial,
        "norm": parameters.norm,
        "normalized": name.startswith("normalized"),
    }
    if name == "perceptron":
        return fit_perceptron(problem.X, problem.labels, **shared)
    if name == "dual_svm":
        return fit_dual_svm(problem.X, problem.labels, C=_cost(parameters), **shared)
    if name.endswith("large_margin_winnow"):
        return fit_large_margin_winnow(problem.X, problem.labels, C=_cost(parameters), **shared, **winnow)
    return fit_winnow(problem.X, problem.labels, **shared, **winnow)


def _cost(parameters: OnlineParameters) -> float:
    if parameters.cost is None:
        raise UsageError(
            "a large-margin learner needs `cost`, the bound of a document's multiplier",
            hint="Write, say, `parameters: {cost: 1}`.",
        )
    return parameters.cost
