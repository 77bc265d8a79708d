"""Linear learners: the settings of named learners and of a run as arguments of `textcat.linear.fit`.

`prune: auto` chooses the threshold below which weights are dropped, on held-out training documents. One fold of five
is held out. Up to MAX_CATEGORIES categories, evenly spaced by size, are trained on the other documents. The threshold
is the largest at which no measure of the held-out documents loses more than MAX_LOSS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.curves import find_break_even
from textcat.evaluation.measures import count_contingency, count_positives, micro_f1, sort_by_size
from textcat.evaluation.ranking import find_top_labels, measure_ranking
from textcat.experiment.spec.experiment import SearchSettings
from textcat.experiment.steps.learner import Fold, Learner, LearningProblem, ParameterChoice
from textcat.experiment.steps.models import Model
from textcat.learners.parameters import LEARNERS, LinearParameters
from textcat.linear import fit, fit_path
from textcat.linear.cross_validation import (
    HyperparameterChoice,
    LikelihoodFold,
    choose_lam_by_cross_validation,
    choose_lam_on_folds,
    compute_norm_based_variance,
    score_held_out_folds,
)
from textcat.linear.model import LinearModel, make_dense
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

        Folds with features of their own start from zero. The weights of folds are not pruned.
        """
        if problem.source is not None:
            return super().score_folds(problem, parameters, model, folds, jobs)
        settings = _drop_prune(_make_fit_arguments(self.name, problem, parameters, jobs))
        lams = [_resolve_lam(parameters, problem, settings, kept) for kept, _ in folds]
        start = cast(LinearModel, model)
        return score_held_out_folds(problem.X, problem.labels, folds, lams, init=start, **_drop_lam(settings))

    def score_fold(
        self, divided: tuple[LearningProblem, LearningProblem], parameters: LinearParameters, jobs: int
    ) -> NDArray[np.float64]:
        """Return the scores of the held-out documents; the weights are not pruned."""
        return super().score_fold(divided, parameters.model_copy(update={"prune": 0.0}), jobs)

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
                f"{search.parameter} cannot be searched for each category", hint="Search rate or variance."
            )
        settings = _make_fit_arguments(self.name, problem, parameters, jobs)
        grid = np.asarray(search.grid)
        if search.parameter == "variance" and parameters.bare_variance:
            grid = grid / 2.0
        if problem.source is None:
            choice = choose_lam_by_cross_validation(
                problem.X, problem.labels, grid=grid.tolist(), folds=search.folds, runs=search.use or search.folds,
                own_divisions=search.own_divisions, stratify=search.stratify, executor=executor,
                always=problem.names, **{**_drop_prune(settings), "seed": search.seed},
            )  # fmt: skip
        else:
            shared = {
                name: value
                for name, value in _drop_prune(settings).items()
                if name not in ("prior", "mask", "lam")
            }
            prior = settings.get("prior", "gaussian")
            choice = choose_lam_on_folds(
                _divide_for_likelihood(problem, search), problem.shape[0], prior, grid.tolist(), **shared
            )
        if parameters.prune == "auto":
            settings["prune"] = self._fix_parameters(problem, parameters, jobs).prune
        return fit(problem.X, problem.labels, **{**settings, "lam": choice.lam}), choice


def _divide_for_likelihood(problem: LearningProblem, search: SearchSettings) -> Iterator[LikelihoodFold]:
    """Yield the folds of a search for each category, with features of their own."""
    for fold in problem.make_folds(search.folds, search.seed)[: search.use]:
        inner, outer = problem.divide(fold)
        yield LikelihoodFold(inner.X, inner.labels, inner.mask, outer.X, outer.labels)


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


FOLDS = 5
MAX_CATEGORIES = 512
MAX_RANK = 5
# In percentage points: about one standard error of the difference of P@1 with 5,000 held-out documents. Less would
# be decided by single documents.
MAX_LOSS = 0.15
# Shares of the nonzero weights that the thresholds of the grid drop.
DROPPED_SHARES = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995)


def choose_prune_threshold(
    problem: LearningProblem, train: Callable[[LearningProblem], LinearModel]
) -> ParameterChoice:
    """Return the largest threshold that costs no more than MAX_LOSS; `train` returns a model without pruning."""
    sample = _sample_categories(count_positives(problem.label_matrix))
    divided = problem.divide(problem.make_folds(FOLDS, problem.seed)[0])
    kept, held = (part.restrict(sample) for part in divided)
    model = train(kept)
    weights, labels = np.array(make_dense(model.coef)), held.labels
    thresholds = _list_thresholds(weights)
    if not thresholds or not held.shape[0]:
        return ParameterChoice(0.0, [])
    grid = []
    for share, threshold in zip(DROPPED_SHARES, thresholds, strict=True):
        # Thresholds rise: what one drops, all later ones drop too.
        weights[np.abs(weights) < threshold] = 0.0
        scores = np.asarray(held.X @ weights + model.intercept, dtype=np.float64)
        grid.append({"threshold": threshold, "dropped": share, **_measure(scores, labels)})
    return ParameterChoice(_find_largest(grid), grid)


def _list_thresholds(weights: NDArray[np.float64]) -> list[float]:
    """Return the threshold that drops each share of the nonzero weights, with three digits; none without weights."""
    sizes = np.abs(weights[weights != 0.0])
    if not sizes.size:
        return []
    found = np.quantile(sizes, DROPPED_SHARES, overwrite_input=True)
    return [
        float(f"{value:.3g}") if share else 0.0 for share, value in zip(DROPPED_SHARES, found, strict=True)
    ]


def _sample_categories(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return categories with training documents, evenly spaced by their numbers of documents."""
    order = sort_by_size(counts)[: np.count_nonzero(counts)]
    places = np.linspace(0, len(order) - 1, min(len(order), MAX_CATEGORIES))
    return np.sort(order[np.round(places).astype(np.int64)])


def _measure(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> dict[str, float]:
    """Return the measures that must not drop: micro F1 at score 0, break-even point, P@1 and P@5."""
    ks = sorted({1, min(MAX_RANK, labels.shape[1])})
    top = find_top_labels(scores, ks[-1])
    ranking = measure_ranking(top, labels, ks, np.count_nonzero(labels, axis=0), len(labels))
    return {
        "micro.f1": micro_f1(count_contingency(scores >= 0.0, labels)),
        "micro.bep": find_break_even(scores, labels).micro(),
        **{f"precision@{k}": ranking[f"precision@{k}"] for k in ks},
    }


def _find_largest(grid: list[dict[str, float]]) -> float:
    """Return the last threshold before the first that loses; measures that are undefined do not count."""
    whole, chosen = grid[0], 0.0
    for entry in grid[1:]:
        names = (name for name in entry if name not in ("threshold", "dropped"))
        if any(entry[name] < whole[name] - MAX_LOSS for name in names):
            break
        chosen = entry["threshold"]
    return chosen
