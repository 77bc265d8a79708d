"""From vectors to a trained model, block of categories by block, so that a killed run goes on where it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.spec.learner_table import LEARNERS, validate_parameters
from textcat.experiment.steps.assemble import assemble_problem
from textcat.experiment.steps.fitting import (
    LearningProblem,
    Model,
    fit_checkpoints,
    fit_learner,
    join_models,
    load_model,
    save_model,
)
from textcat.experiment.steps.search import search_parameter
from textcat.experiment.steps.step import Step, StepContext, make_recipe_inputs
from textcat.plugins import collect_identities
from textcat.store import Recipe
from textcat.store.arrays import write_json

# Rises when a change of the code moves the numbers of an algorithm, so that no cache gives back the old ones.
_ALGORITHM_VERSIONS = {"fast": 3}

_SCALING_LEFT_OUT = ("none", 1.5)


def make_train_step(
    run: RunSettings, seed: int, vectorized: Step, selected: Step | None, projected: Step | None
) -> Step:
    """Train a run's learner on all categories."""
    learner = LEARNERS[run.learner]
    parameters = validate_parameters(run.learner, run.parameters)
    sources = {"vectors": vectorized, "mask": selected, "projection": projected}
    needs = {name: step for name, step in sources.items() if step}
    recipe = Recipe(
        "train",
        learner.version,
        {
            "learner": run.learner,
            "parameters": parameters.model_dump(mode="json"),
            "search": run.search.model_dump(mode="json") if run.search else None,
            "dimensions": run.projection.dimensions if run.projection else None,
            **_scaling_of_dimensions(run),
            "seed": seed,
            **({"documents": run.train_documents} if run.train_documents else {}),
            **_make_threshold_parameters(run),
            **_make_version_parameters(parameters),
            **collect_identities(
                *list_method_names(parameters), ("thresholds", run.threshold.rule if run.search else None)
            ),
        },
        make_recipe_inputs(**needs),
    )

    def make(workshop: StepContext, target: Path) -> None:
        problem = assemble_problem(workshop, run, seed, vectorized, selected, projected)
        if run.search:
            found = search_parameter(run, problem, workshop)
            write_json(target, "search", found.as_dict())
            save_model(target, found.model)
        elif getattr(parameters, "checkpoints", None):
            save_model(target, _train_checkpoint(workshop, recipe, problem, run))
        else:
            parts = [load_model(folder) for folder in _build_blocks(workshop, recipe, problem, run)]
            save_model(target, join_models(parts) if len(parts) > 1 else parts[0])

    return Step("train", f"train {run.title or run.learner}", recipe, make, tuple(needs.values()))


def _scaling_of_dimensions(run: RunSettings) -> dict[str, Any]:
    """Return how latent dimensions are scaled, for a recipe; the committed results of gao_2003 fix the key of
    one scaling, which is left out."""
    if run.projection is None or (run.projection.scaling, run.projection.length) == _SCALING_LEFT_OUT:
        return {}
    return {"scaling": run.projection.scaling, "length": run.projection.length}


def _make_threshold_parameters(run: RunSettings) -> dict[str, Any]:
    """What a search for the best decisions hangs on besides."""
    decides = run.search is not None and run.search.criterion in ("micro.f1", "errors")
    return {"threshold": run.threshold.model_dump(mode="json")} if decides else {}


def _make_version_parameters(parameters: BaseModel) -> dict[str, int]:
    """For a recipe; recipes of algorithms that no versions are kept of stay as they are."""
    version = _ALGORITHM_VERSIONS.get(getattr(parameters, "algorithm", None) or "")
    return {} if version is None else {"algorithm_version": version}


def list_method_names(parameters: BaseModel) -> list[tuple[str, str | None]]:
    """What a learner's parameters name that a plugin may offer, each with its kind."""
    kinds = {"loss": "losses", "prior": "priors", "algorithm": "algorithms"}
    return [(kind, getattr(parameters, key, None)) for key, kind in kinds.items()]


def _train_checkpoint(
    workshop: StepContext, whole: Recipe, problem: LearningProblem, run: RunSettings
) -> Model:
    """One checkpoint of a descent that runs with the same settings share."""
    parameters = validate_parameters(run.learner, run.parameters)
    wanted = int(getattr(parameters, "iterations", 0))
    shared = {**whole.parameters, "parameters": parameters.model_dump(mode="json", exclude={"iterations"})}
    recipe = Recipe("course", whole.version, shared, whole.inputs)

    def make(target: Path) -> None:
        for iterations, model in fit_checkpoints(run.learner, parameters, problem).items():
            save_model(target, model, f"at{iterations}")

    return load_model(workshop.store.build(recipe, make).folder, f"at{wanted}")


def _make_blocks(problem: LearningProblem, at_once: int | None) -> list[Sequence[int]]:
    """Categories in blocks of the size a learner works on at once; None is all."""
    categories = problem.labels.shape[1]
    size = at_once or categories
    return [range(start, min(start + size, categories)) for start in range(0, categories, size)]


@dataclass(frozen=True)
class _BlockInputs:
    """What all blocks of categories share."""

    run: RunSettings
    problem: LearningProblem
    jobs: int


def _train_block(training: _BlockInputs, block: Sequence[int]) -> Model:
    run, part = training.run, training.problem.restricted(np.asarray(block))
    return fit_learner(run.learner, validate_parameters(run.learner, run.parameters), part, training.jobs)


def _build_blocks(
    workshop: StepContext, whole: Recipe, problem: LearningProblem, run: RunSettings
) -> Iterator[Path]:
    """The folders of the blocks' models; each is an artifact, kept as soon as it and those before are trained."""
    blocks = _make_blocks(problem, LEARNERS[run.learner].categories_at_once)
    recipes = [
        Recipe("block", whole.version, {"first": block[0], "last": block[-1]}, {"train": whole.key})
        for block in blocks
    ]
    missing = [
        block for block, recipe in zip(blocks, recipes, strict=True) if workshop.store.find(recipe) is None
    ]
    trained = workshop.map_items(_train_block, _BlockInputs(run, problem, workshop.jobs_per_task), missing)
    for block, recipe in zip(blocks, recipes, strict=True):
        yield workshop.store.build(recipe, lambda target: save_model(target, next(trained))).folder
        workshop.progress(block[-1] + 1, problem.labels.shape[1], f"train {run.title or run.learner}")
