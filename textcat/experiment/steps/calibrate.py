"""From held-out scores to a calibration of each category's probabilities."""

from __future__ import annotations

from pathlib import Path

from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.assemble import assemble
from textcat.experiment.steps.held_out import held_out_scores
from textcat.experiment.steps.step import Step, Workshop, inputs_of
from textcat.store import Recipe
from textcat.store.arrays import read_array, write_array
from textcat.thresholds.calibration import (
    ARRAYS,
    Calibration,
    CalibrationSettings,
    calibration_from,
    fit_calibration,
)


def calibrate_step(
    run: RunSettings, seed: int, trained: Step, sources: tuple[Step, Step | None, Step | None]
) -> Step | None:
    """The calibration of a run, or no step where none is asked for."""
    settings = run.calibration
    if settings is None:
        return None
    recipe = Recipe(
        "calibrate", 1, {**settings.model_dump(mode="json"), "seed": seed}, inputs_of(model=trained)
    )

    def make(workshop: Workshop, target: Path) -> None:
        problem = assemble(workshop, run, seed, *sources)
        scores, _ = held_out_scores(workshop, run, problem, trained, seed, settings.folds)
        save_calibration(target, fit_calibration(settings, scores, problem.labels))

    return Step("train", f"calibrate {run.title or run.learner}", recipe, make, (trained,))


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Its arrays, as files of a folder."""
    for name, values in calibration.to_arrays().items():
        write_array(folder, f"calibration.{name}", values)


def read_calibration(folder: Path, settings: CalibrationSettings, categories: int) -> Calibration:
    """The calibration that `save_calibration` left."""
    arrays = {name: read_array(folder, f"calibration.{name}") for name in ARRAYS[settings.method]}
    return calibration_from(settings.method, arrays, categories)
