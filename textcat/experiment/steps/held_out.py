"""Train on folds: choose a parameter by cross-validation, and score documents by models trained without them.

Thresholds and calibrations are fitted to the held-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.curves import find_break_even
from textcat.evaluation.measures import Floats, argmax_accuracy, count_contingency, micro_f1
from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import RunSettings, SearchSettings
from textcat.experiment.steps.learner import Fold, LearningProblem, find_learner, load_learner
from textcat.experiment.steps.models import BlockResult, Model, choose_block_width, load_model
from textcat.learners.parameters import validate_parameters
from textcat.linear.model import LinearModel
from textcat.store import Recipe
from textcat.store.arrays import read_array, read_json, write_array
from textcat.thresholds.rules import set_thresholds


@dataclass(frozen=True)
class SearchResult:
    """The model trained with the chosen values, and the criterion at each value of the grid.

    chosen: one value, or one for each category; criterion: values of the grid x folds, or x categories.
    """

    model: Model
    parameter: str
    chosen: list[float]
    grid: list[float]
    criterion: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        """Return all but the model, as JSON-able data."""
        return {name: value for name, value in vars(self).items() if name != "model"}


def search_parameter(run: RunSettings, problem: LearningProblem, context: RunContext) -> SearchResult:
    """Return the model with the best value of the grid, one for all categories or one for each."""
    if run.search is None:
        raise ValueError("the run has no `search`")
    if run.search.per_category:
        return _search_per_category(run, run.search, problem, context)
    search, criterion = run.search, _evaluate_grid(run, run.search, problem, context)
    # Ties go to the first value of the grid.
    best = search.grid[int(np.argmax(criterion.sum(axis=1)))]
    parameters = validate_parameters(run.learner, {**run.parameters, search.parameter: best})
    model = find_learner(run.learner).fit(problem, parameters, context.jobs)
    return SearchResult(model, search.parameter, [best], list(search.grid), criterion.tolist())


def _search_per_category(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, context: RunContext
) -> SearchResult:
    learner, parameters = load_learner(run)
    model, choice = learner.search_each_category(problem, parameters, search, context.jobs, context.executor)
    # The choice is ordered from the strongest prior to the weakest: large rates or small variances first.
    grid = sorted(search.grid, reverse=search.parameter == "rate")
    chosen = [grid[best] for best in choice.best]
    return SearchResult(model, search.parameter, chosen, grid, choice.likelihood.tolist())


@dataclass(frozen=True)
class _TrialInputs:
    """Inputs that all values and folds share."""

    run: RunSettings
    search: SearchSettings
    problem: LearningProblem
    parts: Sequence[Fold]
    jobs: int


def _evaluate_grid(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, context: RunContext
) -> NDArray[np.float64]:
    """Return the criterion, values of the grid x folds.

    A learner with a path trains all values of a fold in one task; for others each value is a task.
    """
    parts = problem.make_folds(search.folds, search.seed)[: search.use]
    together = find_learner(run.learner).has_path(search.parameter)
    values = [search.grid] if together else [[value] for value in search.grid]
    tasks = [(some, fold) for some in values for fold in range(len(parts))]
    shared = _TrialInputs(run, search, problem, parts, context.jobs_per_task)
    found = []
    for criteria in context.map_items(_evaluate_trial, shared, tasks):
        found.append(criteria)
        context.progress(len(found), len(tasks), f"{search.parameter} of {run.title or run.learner}")
    by_values = [found[first : first + len(parts)] for first in range(0, len(found), len(parts))]
    return np.concatenate([np.array(of_folds).T for of_folds in by_values])


def _evaluate_trial(trials: _TrialInputs, task: tuple[list[float], int]) -> list[float]:
    """Return the criterion of some values of the grid on one fold."""
    run, search = trials.run, trials.search
    values, fold = task
    inner, outer = trials.problem.divide(trials.parts[fold])
    grid = [validate_parameters(run.learner, {**run.parameters, search.parameter: each}) for each in values]
    found = []
    own = inner.own
    for model in find_learner(run.learner).fit_grid(inner, grid, search.parameter, trials.jobs):
        thresholds = set_thresholds(run.threshold, model.scores(own.X), own.labels)
        found.append(_compute_criterion(search.criterion, model.scores(outer.X), thresholds, outer.labels))
    return found


def _compute_criterion(
    criterion: str, scores: NDArray[Any], thresholds: NDArray[Any], labels: NDArray[np.bool_]
) -> float:
    if criterion == "micro.bep":
        return float(find_break_even(scores, labels).micro())
    if criterion == "accuracy":
        return float(argmax_accuracy(scores, labels))
    if criterion == "log-likelihood":
        signs = np.where(labels, 1.0, -1.0)
        return float(-np.logaddexp(0.0, -signs * scores).sum())
    table = count_contingency(scores >= thresholds, labels)
    return -float(table.errors.sum()) if criterion == "errors" else float(micro_f1(table))


# Each block prepares the documents of all folds again: blocks are larger than those that are only scored.
MAX_HELD_OUT_SCORES = 25_000_000


def load_held_out_scores(
    context: RunContext, run: RunSettings, problem: LearningProblem, trained: Step, folds: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return scores, documents x categories, and each document's fold; built once per model and number of folds.

    Names of labels are no documents: they have no scores, and are learned from in each fold.
    """
    numbers = problem.assign_folds(folds, problem.seed)
    parts = problem.make_folds(folds, problem.seed)
    recipe = _make_recipe(run, trained, problem.seed, folds)

    def make(target: Path) -> None:
        run_of_folds = _fix_searched_value(run, trained, context)
        scores = np.empty((problem.documents, problem.shape[1]), dtype=np.float64)
        title = f"folds of {run.title or run.learner}"
        context.progress(0, folds, title)
        batches = _score_parts(context, run_of_folds, problem, trained, parts)
        for done, held_out in enumerate(chain.from_iterable(batches)):
            scores[parts[done][1]] = held_out
            context.progress(done + 1, folds, title)
        write_array(target, "scores", scores)

    return read_array(context.store.build(recipe, make).folder, "scores"), numbers


def can_score_held_out_blocks(run: RunSettings) -> bool:
    """Return whether folds can be trained by blocks of categories: each block as part of the same problem."""
    learner = find_learner(run.learner)
    return learner.trains_categories_apart and (run.search is None or not run.search.per_category)


def map_held_out_blocks(
    context: RunContext,
    run: RunSettings,
    problem: LearningProblem,
    trained: Step,
    folds: int,
    work: Callable[[int, Floats], BlockResult],
) -> Iterator[BlockResult]:
    """Yield `work(first, scores)` for the held-out scores of each block of categories.

    The scores equal those of `load_held_out_scores`. They are neither stored nor sent: a collection with thousands of
    categories has too many.
    """
    documents, categories = problem.documents, problem.shape[1]
    parts = problem.make_folds(folds, problem.seed)
    model = load_model(trained.build_folder(context))
    run_of_folds = _fix_searched_value(run, trained, context)
    divided = [] if problem.source is None else [problem.divide(fold) for fold in parts]
    whole = replace(problem, source=None)
    shared = _BlockInputs(
        run_of_folds, whole, model, context.jobs_per_task, parts, work=work, divided=divided
    )
    width = choose_block_width(documents, MAX_HELD_OUT_SCORES)
    blocks = [slice(first, min(first + width, categories)) for first in range(0, categories, width)]
    title = f"folds of {run.title or run.learner}"
    context.progress(0, categories, title)
    for block, result in zip(blocks, context.map_items(_use_block, shared, blocks), strict=True):
        yield result
        context.progress(block.stop, categories, title)


def _use_block(shared: _BlockInputs, block: slice) -> Any:
    """Return the result of the work on the held-out scores of a block of categories."""
    categories = np.arange(block.start, block.stop)
    problem = shared.problem.restrict(categories)
    if shared.divided:
        learner, parameters = load_learner(shared.run)
        pairs = ((inner.restrict(categories), outer.restrict(categories)) for inner, outer in shared.divided)
        found = [learner.score_fold(pair, parameters, shared.jobs) for pair in pairs]
        return shared.work(block.start, _join_folds(problem, shared.parts, found))
    model: Any = shared.model
    part = model.select_categories(block.start, block.stop) if isinstance(model, LinearModel) else model
    return shared.work(block.start, score_held_out(shared.run, problem, part, shared.parts, shared.jobs))


def score_held_out(
    run: RunSettings, problem: LearningProblem, model: Model, parts: Sequence[Fold], jobs: int
) -> Floats:
    """Return the score of every document, without names of labels, by a model trained without it.

    `model` was trained on all rows.
    """
    return _join_folds(problem, parts, _score_fold_batch(_FoldInputs(run, problem, model, jobs), parts))


def _join_folds(problem: LearningProblem, parts: Sequence[Fold], found: Sequence[Floats]) -> Floats:
    """Return the scores of all folds in the order of the documents."""
    scores = np.empty((problem.documents, problem.shape[1]), dtype=np.float64)
    for (_, held), held_out in zip(parts, found, strict=True):
        scores[held] = held_out
    return scores


def find_held_out_scores(
    context: RunContext, run: RunSettings, trained: Step, seed: int, folds: int
) -> Floats | None:
    """Return the scores that `load_held_out_scores` has built, or None."""
    found = context.store.find(_make_recipe(run, trained, seed, folds))
    return read_array(found.folder, "scores") if found else None


def _make_recipe(run: RunSettings, trained: Step, seed: int, folds: int) -> Recipe:
    once = run.selection.folds == "once"
    parameters = {"folds": folds, "seed": seed, **({} if once else {"folds_learn": run.selection.folds})}
    return Recipe("held_out", 2, parameters, make_recipe_inputs(model=trained))


def _fix_searched_value(run: RunSettings, trained: Step, context: RunContext) -> RunSettings:
    """Return the run with the value that its search chose for all categories, so that folds do not search again."""
    if run.search is None or run.search.per_category:
        return run
    found = read_json(trained.build_folder(context), "search")["chosen"][0]
    return run.model_copy(
        update={"parameters": run.parameters | {run.search.parameter: found}, "search": None}
    )


def _score_parts(
    context: RunContext, run: RunSettings, problem: LearningProblem, trained: Step, parts: Sequence[Fold]
) -> Iterator[list[Floats]]:
    """Yield the scores of the folds' documents, some folds at a time, in order."""
    if run.search:
        for kept, held in parts:
            # The values are searched again without the documents of the fold.
            inner, outer = problem.divide((kept, held))
            yield [search_parameter(run, inner, context).model.scores(outer.X)]
        return
    model = load_model(trained.build_folder(context))
    shared = _FoldInputs(run, problem, model, context.jobs_per_task)
    shares = problem.source is None and find_learner(run.learner).shares_folds
    together = context.executor is None and shares
    batches = [parts] if together else [[part] for part in parts]
    yield from context.map_items(_score_fold_batch, shared, batches)


@dataclass(frozen=True)
class _FoldInputs:
    """Inputs that all folds share."""

    run: RunSettings
    problem: LearningProblem
    model: Model
    jobs: int
    parts: Sequence[Fold] = ()


@dataclass(frozen=True)
class _BlockInputs(_FoldInputs):
    """Inputs that all blocks of categories share, and what is done with their scores."""

    work: Callable[[int, Floats], Any] = field(kw_only=True)
    divided: Sequence[tuple[LearningProblem, LearningProblem]] = ()


def _score_fold_batch(shared: _FoldInputs, parts: Sequence[Fold]) -> list[Floats]:
    """Return the held-out scores of some folds."""
    learner, parameters = load_learner(shared.run)
    return learner.score_folds(shared.problem, parameters, shared.model, parts, shared.jobs)
