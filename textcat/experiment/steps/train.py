"""Train a run's learner on its vectors, in blocks of categories: a killed run continues after the last block."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.compile_early import compile_kernels
from textcat.experiment.steps.held_out import search_parameter
from textcat.experiment.steps.learner import LearningProblem, load_learner
from textcat.experiment.steps.models import Model, load_model, save_model, save_model_parts
from textcat.experiment.steps.vectorize import LearningSteps
from textcat.learners.parameters import LEARNERS, validate_parameters
from textcat.linear.training import ALGORITHMS
from textcat.store import Recipe
from textcat.store.arrays import write_json

PRUNED_AT_ONCE = 512


def make_train_step(source: LearningSteps) -> Step:
    """Train a run's learner on all categories."""
    run = source.settings
    learner = LEARNERS[run.learner]
    parameters = validate_parameters(run.learner, run.parameters)
    sources = {"vectors": source.vectorized, "mask": source.selected, "projection": source.projected}
    needs = {name: step for name, step in sources.items() if step}
    decides = run.search is not None and run.search.criterion in ("micro.f1", "errors")
    prunes = getattr(parameters, "prune", None) == "auto"
    algorithm = ALGORITHMS.get(getattr(parameters, "algorithm", None) or learner.solver)
    recipe = Recipe(
        "train",
        learner.version,
        {
            "learner": run.learner,
            "parameters": parameters.model_dump(mode="json"),
            "search": run.search.model_dump(mode="json") if run.search else None,
            "dimensions": run.projection.dimensions if run.projection else None,
            **(run.projection.model_dump(include={"scaling", "length"}) if run.projection else {}),
            "seed": source.seed,
            **({"documents": run.train_documents} if run.train_documents else {}),
            **({"at_once": run.categories_at_once} if run.categories_at_once else {}),
            # A search and automatic pruning measure on folds.
            **(source.describe_folds() if run.search or prunes else {}),
            # The criterion of these searches depends on the thresholds.
            **({"threshold": run.threshold.model_dump(mode="json")} if decides else {}),
            **({"algorithm_version": algorithm.version} if algorithm and algorithm.version else {}),
        },
        make_recipe_inputs(**needs),
    )

    def make(context: RunContext, target: Path) -> None:
        problem = source.assemble_problem(context)
        if context.executor is None:
            compile_kernels(run)
        began = _measure_processor(context)
        if run.search:
            found = search_parameter(run, problem, context)
            write_json(target, "search", found.as_dict())
            save_model(target, found.model)
        elif getattr(parameters, "checkpoints", None):
            save_model(target, _train_checkpoint(context, recipe, problem, run))
        else:
            _train_in_blocks(context, target, recipe, problem, _fix_parameters(context, target, problem, run))
        write_json(target, "processor", {"seconds": _measure_processor(context) - began})

    return Step("train", f"train {run.title or run.learner}", recipe, make, tuple(needs.values()))


def _measure_processor(context: RunContext) -> float:
    """Return the processor seconds of this process, without those of threads that do other work."""
    return time.process_time() - context.measure_background()


def _fix_parameters(
    context: RunContext, target: Path, problem: LearningProblem, run: RunSettings
) -> RunSettings:
    """Return the run with the values of parameters that its learner chooses, so that all blocks use the same."""
    learner, parameters = load_learner(run)
    chosen = learner.choose_parameters(problem, parameters, context.jobs)
    for name, choice in chosen.items():
        write_json(target, name, {"value": choice.value, "grid": choice.grid})
    fixed = {name: choice.value for name, choice in chosen.items()}
    return run.model_copy(update={"parameters": run.parameters | fixed}) if fixed else run


def _train_checkpoint(
    context: RunContext, whole: Recipe, problem: LearningProblem, run: RunSettings
) -> Model:
    """Return one checkpoint of a descent; runs with the same settings share its artifact."""
    learner, parameters = load_learner(run)
    wanted = int(getattr(parameters, "iterations", 0))
    shared = {**whole.parameters, "parameters": parameters.model_dump(mode="json", exclude={"iterations"})}
    recipe = Recipe("course", whole.version, shared, whole.inputs)

    def make(target: Path) -> None:
        models = learner.fit_course(problem, parameters, context.jobs)
        for iterations, model in models.items():
            save_model(target, model, f"at{iterations}")

    return load_model(context.store.build(recipe, make).folder, f"at{wanted}")


@dataclass(frozen=True)
class _BlockInputs:
    """Inputs that all blocks of categories share."""

    run: RunSettings
    problem: LearningProblem
    jobs: int


def _train_block(training: _BlockInputs, block: Sequence[int]) -> Model:
    learner, parameters = load_learner(training.run)
    return learner.fit(training.problem.restrict(np.asarray(block)), parameters, training.jobs)


def _train_whole(context: RunContext, inputs: _BlockInputs) -> Model:
    """Train all categories together; an executor's workers train parts of the model, or one trains the whole."""
    if context.executor is not None:
        learner, parameters = load_learner(inputs.run)
        found = learner.fit_on_workers(inputs.problem, parameters, context.executor)
        if found is not None:
            return found
    (model,) = context.map_items(_train_block, inputs, [range(inputs.problem.shape[1])])
    return model


def _train_in_blocks(
    context: RunContext, target: Path, whole: Recipe, problem: LearningProblem, run: RunSettings
) -> None:
    """Train all blocks and write the model. If there are several, each becomes an artifact when it is done."""
    at_once = LEARNERS[run.learner].categories_at_once
    if run.categories_at_once:
        at_once = run.categories_at_once
    elif at_once and getattr(validate_parameters(run.learner, run.parameters), "prune", None):
        # Sparse weights are small: larger blocks prepare the documents less often.
        at_once = PRUNED_AT_ONCE
    categories = problem.shape[1]
    size = at_once or categories
    blocks = [range(first, min(first + size, categories)) for first in range(0, categories, size)]
    # Workers are not sent what only folds need.
    inputs = _BlockInputs(run, replace(problem, source=None), context.jobs_per_task)
    if len(blocks) == 1:
        save_model(target, _train_whole(context, inputs))
        return
    recipes = [
        Recipe("block", whole.version, {"first": block[0], "last": block[-1]}, {"train": whole.key})
        for block in blocks
    ]
    missing = [number for number, recipe in enumerate(recipes) if context.store.find(recipe) is None]
    trained = context.map_items(_train_block, inputs, [blocks[number] for number in missing])
    for number, model in zip(missing, trained, strict=True):
        context.store.build(recipes[number], partial(save_model, model=model))
        context.progress(blocks[number][-1] + 1, categories, f"train {run.title or run.learner}")
    save_model_parts(target, [context.store.locate_artifact(recipe) for recipe in recipes])
