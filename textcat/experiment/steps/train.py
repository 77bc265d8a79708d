"""Train a run's learner on its vectors, in blocks of categories, so that a killed run continues where it was."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.spec.learner_table import LEARNERS, validate_parameters
from textcat.experiment.steps.held_out import search_parameter
from textcat.experiment.steps.learner import LearningProblem, load_learner
from textcat.experiment.steps.models import Model, load_model, save_model, save_model_parts
from textcat.experiment.steps.vectorize import LearningSteps
from textcat.linear.training import ALGORITHMS
from textcat.plugins import collect_identities
from textcat.store import Recipe
from textcat.store.arrays import write_json

PRUNED_AT_ONCE = 512
_SCALING_LEFT_OUT = ("none", 1.5)


def make_train_step(source: LearningSteps) -> Step:
    """Train a run's learner on all categories."""
    run = source.settings
    learner = LEARNERS[run.learner]
    parameters = validate_parameters(run.learner, run.parameters)
    sources = {"vectors": source.vectorized, "mask": source.selected, "projection": source.projected}
    needs = {name: step for name, step in sources.items() if step}
    recipe = Recipe(
        "train",
        learner.version,
        {
            "learner": run.learner,
            "parameters": parameters.model_dump(mode="json"),
            "search": run.search.model_dump(mode="json") if run.search else None,
            "dimensions": run.projection.dimensions if run.projection else None,
            **_make_scaling_parameters(run),
            "seed": source.seed,
            **({"documents": run.train_documents} if run.train_documents else {}),
            **({"at_once": run.categories_at_once} if run.categories_at_once else {}),
            **_make_threshold_parameters(run),
            **_make_version_parameters(getattr(parameters, "algorithm", None) or learner.solver),
            **collect_identities(
                *list_method_names(parameters), ("thresholds", run.threshold.rule if run.search else None)
            ),
        },
        make_recipe_inputs(**needs),
    )

    def make(context: RunContext, target: Path) -> None:
        problem = source.assemble_problem(context)
        began = time.process_time()
        if run.search:
            found = search_parameter(run, problem, context)
            write_json(target, "search", found.as_dict())
            save_model(target, found.model)
        elif getattr(parameters, "checkpoints", None):
            save_model(target, _train_checkpoint(context, recipe, problem, run))
        else:
            _train_in_blocks(context, target, recipe, problem, _fix_parameters(context, target, problem, run))
        write_json(target, "processor", {"seconds": time.process_time() - began})

    return Step("train", f"train {run.title or run.learner}", recipe, make, tuple(needs.values()))


def _fix_parameters(
    context: RunContext, target: Path, problem: LearningProblem, run: RunSettings
) -> RunSettings:
    """Return the run with the parameters that its learner chooses by itself, so that all blocks have the same."""
    learner, parameters = load_learner(run)
    chosen = learner.choose_parameters(problem, parameters, context.jobs)
    for name, choice in chosen.items():
        write_json(target, name, {"value": choice.value, "grid": choice.grid})
    fixed = {name: choice.value for name, choice in chosen.items()}
    return run.model_copy(update={"parameters": run.parameters | fixed}) if fixed else run


def _make_scaling_parameters(run: RunSettings) -> dict[str, Any]:
    """Return how latent dimensions are scaled, for a recipe; without the scaling that the first recipes had."""
    if run.projection is None or (run.projection.scaling, run.projection.length) == _SCALING_LEFT_OUT:
        return {}
    return {"scaling": run.projection.scaling, "length": run.projection.length}


def _make_threshold_parameters(run: RunSettings) -> dict[str, Any]:
    """Return the threshold settings, for a recipe, where the criterion of the search depends on them."""
    decides = run.search is not None and run.search.criterion in ("micro.f1", "errors")
    return {"threshold": run.threshold.model_dump(mode="json")} if decides else {}


def _make_version_parameters(name: str) -> dict[str, int]:
    """Return the version of a built-in algorithm, for a recipe; nothing for one without a version."""
    algorithm = ALGORITHMS.get(name)
    return {} if algorithm is None or algorithm.version is None else {"algorithm_version": algorithm.version}


def list_method_names(parameters: BaseModel) -> list[tuple[str, str | None]]:
    """Return the names in a learner's parameters that may be a plugin's, each with its kind."""
    kinds = {"loss": "losses", "prior": "priors", "algorithm": "algorithms"}
    return [(kind, getattr(parameters, key, None)) for key, kind in kinds.items()]


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


def _make_blocks(problem: LearningProblem, at_once: int | None) -> list[Sequence[int]]:
    """Return blocks of consecutive categories; `at_once` is their size, None for one block."""
    categories = problem.shape[1]
    size = at_once or categories
    return [range(start, min(start + size, categories)) for start in range(0, categories, size)]


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
    """Train all categories together; with an executor, parts of the model or the whole are trained by workers."""
    run, problem = inputs.run, inputs.problem
    if context.executor is not None:
        learner, parameters = load_learner(run)
        found = learner.fit_on_workers(problem, parameters, context.executor)
        if found is not None:
            return found
    (model,) = context.map_items(_train_block, inputs, [range(problem.shape[1])])
    return model


def _train_in_blocks(
    context: RunContext, target: Path, whole: Recipe, problem: LearningProblem, run: RunSettings
) -> None:
    """Train all blocks and write the model. Each of several blocks is an artifact as soon as it is done."""
    at_once = LEARNERS[run.learner].categories_at_once
    if run.categories_at_once:
        at_once = run.categories_at_once
    elif at_once and getattr(validate_parameters(run.learner, run.parameters), "prune", None):
        # Sparse weights are small: larger blocks prepare the documents less often.
        at_once = PRUNED_AT_ONCE
    blocks = _make_blocks(problem, at_once)
    inputs = _BlockInputs(run, problem, context.jobs_per_task)
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
        context.progress(blocks[number][-1] + 1, problem.shape[1], f"train {run.title or run.learner}")
    save_model_parts(target, [context.store.locate_artifact(recipe) for recipe in recipes])
