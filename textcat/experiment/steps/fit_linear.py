"""Loss x prior x algorithm: the named learners with their papers' settings, and what a run changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.experiment.spec.experiment import SearchSettings
from textcat.experiment.spec.learner_table import LinearParameters
from textcat.experiment.steps.fitting import Fold, LearningProblem, Model
from textcat.linear import fit, fit_path
from textcat.linear.combinations import load_named_learners
from textcat.linear.cross_validation import (
    HyperparameterChoice,
    choose_lam_by_cross_validation,
    compute_norm_based_variance,
    score_held_out_folds,
)
from textcat.linear.model import LinearModel
from textcat.linear.regularization import lam_from_c, lam_from_laplace_rate, lam_from_variance
from textcat.parallel import Executor


def fit_linear(name: str, problem: LearningProblem, parameters: LinearParameters, jobs: int) -> LinearModel:
    """Train a named learner, or the combination that the parameters spell out."""
    settings = _make_fit_arguments(name, problem, parameters, jobs)
    return fit(problem.X, problem.labels, **{**settings, "lam": _resolve_lam(parameters, problem, settings)})


def fit_linear_path(
    name: str, problem: LearningProblem, grid: Sequence[LinearParameters], jobs: int
) -> list[LinearModel]:
    """A model for each strength of the prior in the grid, whose parameters are equal otherwise.

    Trained to the optimum, each starts from the next stronger one's, and all read the same matrix. Where the
    number of passes is what a paper says, the start is a part of the result: each starts from nothing.
    """
    settings = _make_fit_arguments(name, problem, grid[0], jobs)
    if settings["options"].get("stop", "optimality") != "optimality":
        return [fit_linear(name, problem, parameters, jobs) for parameters in grid]
    lams = [np.asarray(_resolve_lam(parameters, problem, settings), dtype=np.float64) for parameters in grid]
    order = sorted(range(len(lams)), key=lambda place: -float(lams[place].mean()))
    path = fit_path(problem.X, problem.labels, [lams[place] for place in order], **_drop_lam(settings))
    return [path[order.index(place)] for place in range(len(lams))]


def score_linear_folds(
    name: str,
    problem: LearningProblem,
    parameters: LinearParameters,
    model: LinearModel,
    folds: Sequence[Fold],
    jobs: int,
) -> list[NDArray[np.float64]]:
    """Scores of each fold's documents by models trained without them; where the way to the optimum is free, from
    `model`, which has seen all."""
    settings = _make_fit_arguments(name, problem, parameters, jobs)
    lams = [_resolve_lam(parameters, problem, settings, kept) for kept, _ in folds]
    return score_held_out_folds(problem.X, problem.labels, folds, lams, init=model, **_drop_lam(settings))


def _drop_lam(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "lam"}


def search_linear(
    name: str,
    problem: LearningProblem,
    parameters: LinearParameters,
    search: SearchSettings,
    jobs: int,
    crew: Executor | None = None,
) -> tuple[Model, HyperparameterChoice]:
    """One strength of the prior a category, by the likelihood of held-out parts, and the model trained with it."""
    if search.parameter not in ("rate", "variance"):
        raise UsageError(
            f"{search.parameter} cannot be searched for each category", hint="It is rate or variance."
        )
    settings = _make_fit_arguments(name, problem, parameters, jobs)
    grid = np.asarray(search.grid)
    if search.parameter == "variance" and parameters.bare_variance:
        grid = grid / 2.0
    choice = choose_lam_by_cross_validation(
        problem.X, problem.labels, grid=grid.tolist(), folds=search.folds, runs=search.use or search.folds,
        executor=crew, **{**settings, "seed": search.seed},
    )  # fmt: skip
    return fit(problem.X, problem.labels, **{**settings, "lam": choice.lam}), choice


def _make_fit_arguments(
    name: str, problem: LearningProblem, parameters: LinearParameters, jobs: int
) -> dict[str, Any]:
    """The arguments of `fit` beside the documents and the strength of the prior."""
    table = load_named_learners()
    settings = dict(table[name].settings) if name in table else {}
    options = dict(settings.pop("options", {}))
    settings |= {
        key: value
        for key, value in (
            ("loss", parameters.loss),
            ("prior", parameters.prior),
            ("algorithm", parameters.algorithm),
            ("max_passes", parameters.passes),
            ("tol", parameters.tolerance),
            ("penalize_bias", parameters.penalize_bias),
        )
        if value is not None
    }
    options |= parameters.options | {"precision": parameters.precision}
    if parameters.stop is not None:
        options["stop"] = parameters.stop
    return settings | {
        "mask": problem.mask,
        "n_jobs": jobs,
        "seed": problem.seed,
        "bias": parameters.bias,
        "options": options,
    }


def _resolve_lam(
    parameters: LinearParameters,
    problem: LearningProblem,
    settings: dict[str, Any],
    kept: NDArray[np.int64] | None = None,
) -> Any:
    """The run's regularization as lam, or the named learner's own; of training on the documents `kept` alone."""
    documents, prior = problem.X.shape[0] if kept is None else len(kept), settings.get("prior", "gaussian")
    if parameters.lam is not None:
        return parameters.lam
    if parameters.cost is not None:
        return lam_from_c(parameters.cost, documents, prior)
    if parameters.variance == "norm":
        part = problem if kept is None else problem.rows(kept)
        variance = compute_norm_based_variance(part.X, part.mask)
        return lam_from_variance(variance, documents, prior, parameters.bare_variance)
    if parameters.variance is not None:
        return lam_from_variance(float(parameters.variance), documents, prior, parameters.bare_variance)
    if parameters.rate is not None:
        return lam_from_laplace_rate(parameters.rate, documents)
    if "lam" not in settings:
        raise UsageError(
            "the learner needs a regularization", hint="Give one of lam, cost, variance and rate."
        )
    return settings["lam"]
