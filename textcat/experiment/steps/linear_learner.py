"""Linear learners: the settings of named learners and of a run as arguments of `textcat.linear.fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.experiment.spec.experiment import SearchSettings
from textcat.experiment.spec.learner_table import LEARNERS, LinearParameters
from textcat.experiment.steps.learner import Fold, Learner, LearningProblem, ParameterChoice
from textcat.experiment.steps.models import Model
from textcat.experiment.steps.prune_choice import choose_prune_threshold
from textcat.linear import fit, fit_path
from textcat.linear.cross_validation import (
    HyperparameterChoice,
    choose_lam_by_cross_validation,
    compute_norm_based_variance,
    score_held_out_folds,
)
from textcat.linear.model import LinearModel
from textcat.linear.regularization import lam_from_c, lam_from_laplace_rate, lam_from_variance
from textcat.parallel import Executor

# Parameters that say how strong the prior is.
STRENGTHS = frozenset({"lam", "cost", "variance", "rate"})


@dataclass(frozen=True)
class LinearLearner(Learner[LinearParameters]):
    """A named learner, or the combination of loss, prior and algorithm in the parameters."""

    def fit(self, problem: LearningProblem, parameters: LinearParameters, jobs: int) -> LinearModel:
        """Train a model."""
        parameters = self._fix_parameters(problem, parameters, jobs)
        settings = _make_fit_arguments(self.name, problem, parameters, jobs)
        return fit(
            problem.X, problem.labels, **{**settings, "lam": _resolve_lam(parameters, problem, settings)}
        )

    def choose_parameters(
        self, problem: LearningProblem, parameters: LinearParameters, jobs: int
    ) -> dict[str, ParameterChoice]:
        """Choose the pruning threshold on held-out documents."""
        if parameters.prune != "auto":
            return {}
        whole = parameters.model_copy(update={"prune": 0.0})
        return {"prune": choose_prune_threshold(problem, lambda part: self.fit(part, whole, jobs))}

    def _fix_parameters(
        self, problem: LearningProblem, parameters: LinearParameters, jobs: int
    ) -> LinearParameters:
        chosen = self.choose_parameters(problem, parameters, jobs)
        return parameters.model_copy(update={name: choice.value for name, choice in chosen.items()})

    def has_path(self, parameter: str) -> bool:
        """Return whether the parameter is a strength of the prior."""
        return parameter in STRENGTHS

    def fit_grid(
        self, problem: LearningProblem, grid: Sequence[LinearParameters], parameter: str, jobs: int
    ) -> list[Model]:
        """Train a model for each strength of the prior, from the strongest to the weakest.

        With the stopping rule `optimality` each model starts from the one before, and all read the same matrix. With
        the other rules the start changes the result, so that each starts from zero.
        """
        settings = _make_fit_arguments(self.name, problem, grid[0], jobs)
        if not self.has_path(parameter) or settings["options"].get("stop", "optimality") != "optimality":
            return [self.fit(problem, parameters, jobs) for parameters in grid]
        lams = [np.asarray(_resolve_lam(each, problem, settings), dtype=np.float64) for each in grid]
        order = sorted(range(len(lams)), key=lambda position: -float(lams[position].mean()))
        path = fit_path(
            problem.X, problem.labels, [lams[position] for position in order], **_drop_lam(settings)
        )
        return [path[order.index(position)] for position in range(len(lams))]

    @property
    def trains_categories_apart(self) -> bool:
        """Categories are solved one by one."""
        return True

    @property
    def shares_folds(self) -> bool:
        """Folds share the matrix and the model trained on all documents."""
        return True

    def score_folds(
        self,
        problem: LearningProblem,
        parameters: LinearParameters,
        model: Model,
        folds: Sequence[Fold],
        jobs: int,
    ) -> list[NDArray[np.float64]]:
        """Return held-out scores of each fold; where the optimum is unique, training starts from `model`.

        The weights of folds are not pruned.
        """
        settings = _drop_prune(_make_fit_arguments(self.name, problem, parameters, jobs))
        lams = [_resolve_lam(parameters, problem, settings, kept) for kept, _ in folds]
        start = cast(LinearModel, model)
        return score_held_out_folds(problem.X, problem.labels, folds, lams, init=start, **_drop_lam(settings))

    def search_each_category(
        self,
        problem: LearningProblem,
        parameters: LinearParameters,
        search: SearchSettings,
        jobs: int,
        executor: Executor | None,
    ) -> tuple[Model, HyperparameterChoice]:
        """Choose the strength of the prior for each category by the likelihood of held-out folds."""
        if search.parameter not in ("rate", "variance"):
            raise UsageError(
                f"{search.parameter} cannot be searched for each category", hint="It is rate or variance."
            )
        settings = _make_fit_arguments(self.name, problem, parameters, jobs)
        grid = np.asarray(search.grid)
        if search.parameter == "variance" and parameters.bare_variance:
            grid = grid / 2.0
        choice = choose_lam_by_cross_validation(
            problem.X, problem.labels, grid=grid.tolist(), folds=search.folds, runs=search.use or search.folds,
            own_divisions=search.own_divisions, executor=executor, **{**_drop_prune(settings), "seed": search.seed},
        )  # fmt: skip
        if parameters.prune == "auto":
            settings["prune"] = self._fix_parameters(problem, parameters, jobs).prune
        return fit(problem.X, problem.labels, **{**settings, "lam": choice.lam}), choice


def _drop_lam(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "lam"}


def _drop_prune(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "prune"}


def _make_fit_arguments(
    name: str, problem: LearningProblem, parameters: LinearParameters, jobs: int
) -> dict[str, Any]:
    """Return the arguments of `fit` other than documents and labels; `lam` is the named learner's own, if any."""
    settings = dict(LEARNERS[name].settings)
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
        **({"prune": parameters.prune} if parameters.prune not in (0.0, "auto") else {}),
    }


def _resolve_lam(
    parameters: LinearParameters,
    problem: LearningProblem,
    settings: dict[str, Any],
    kept: NDArray[np.int64] | None = None,
) -> Any:
    """Return the run's regularization as lam, or the named learner's own, for training on the rows `kept`."""
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
