"""From a trained model to what decides: a threshold for each category, or a number of categories a document."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.assemble import assemble
from textcat.experiment.steps.calibrate import read_calibration
from textcat.experiment.steps.fitting import Model, Problem, load_model
from textcat.experiment.steps.held_out import held_out_scores
from textcat.experiment.steps.probabilities import probabilities_of
from textcat.experiment.steps.step import Step, Workshop, inputs_of
from textcat.plugins import identities
from textcat.store import Recipe
from textcat.store.arrays import read_array, write_array
from textcat.thresholds.calibration import Calibration
from textcat.thresholds.rules import decisions, set_per_document, set_thresholds

Floats = NDArray[np.float64]

# The rules that decide by a number of categories a document.
COUNTING_RULES = ("rcut", "pcut")


@dataclass(frozen=True)
class Decider:
    """All that decides for a run: its rule, what was fitted for it, and where probabilities come from."""

    run: RunSettings
    single_label: bool
    thresholds: Floats
    per_document: float
    priors: Floats
    calibration: Calibration | None

    def probabilities(self, model: Model, scores: Floats) -> Floats | None:
        """Documents x categories, calibrated or the learner's own; None where there are none."""
        return probabilities_of(model, self.calibration, scores)

    def decide(self, model: Model, scores: Floats) -> NDArray[np.bool_]:
        """What is accepted; with one label a document, the category of the highest score alone."""
        if self.single_label:
            chosen = np.zeros(scores.shape, dtype=bool)
            chosen[np.arange(len(scores)), np.argmax(scores, axis=1)] = True
            return chosen
        asked_for = self.run.threshold.rule == "expected-f1"
        return decisions(
            self.run.threshold,
            scores,
            self.thresholds,
            self.priors,
            per_document=self.per_document,
            probabilities=self.probabilities(model, scores) if asked_for else None,
        )

    @property
    def looks_at_all_documents(self) -> bool:
        """Whether a decision depends on the other documents that are decided on."""
        return self.run.threshold.looks_at_all_documents and not self.single_label


def decide_step(
    run: RunSettings,
    seed: int,
    trained: Step,
    calibrated: Step | None,
    sources: tuple[Step, Step | None, Step | None],
) -> Step:
    """Set the thresholds of a run by its rule."""
    needs = {"model": trained}
    if calibrated and run.threshold.rule == "expected-f1":
        needs["calibration"] = calibrated
    parameters = {**run.threshold.model_dump(mode="json"), "seed": seed}
    parameters |= identities(("thresholds", run.threshold.rule))
    recipe = Recipe("threshold", 1, parameters, inputs_of(**needs))

    def make(workshop: Workshop, target: Path) -> None:
        problem = assemble(workshop, run, seed, *sources)
        model = load_model(trained.artifact(workshop).folder)
        scores, folds = model.scores(problem.X), None
        if run.threshold.cross_validated:
            scores, folds = held_out_scores(workshop, run, problem, trained, seed, run.threshold.folds)
        probabilities = None
        if run.threshold.rule == "expected-f1":
            calibration = _calibration(run, calibrated, workshop, problem)
            probabilities = probabilities_of(model, calibration, scores)
        fitted = set_thresholds(run.threshold, scores, problem.labels, folds, probabilities)
        write_array(target, "thresholds", fitted)
        if run.threshold.rule in COUNTING_RULES:
            per_document = set_per_document(run.threshold, scores, problem.labels)
            write_array(target, "per_document", np.array(per_document, dtype=np.float64))

    return Step("train", f"set thresholds of {run.title or run.learner}", recipe, make, tuple(needs.values()))


def _calibration(
    run: RunSettings, calibrated: Step | None, workshop: Workshop, problem: Problem
) -> Calibration | None:
    if calibrated is None or run.calibration is None:
        return None
    folder = calibrated.artifact(workshop).folder
    return read_calibration(folder, run.calibration, problem.labels.shape[1])


def read_decider(
    run: RunSettings, decided: Path, calibrated: Path | None, priors: Floats, *, single_label: bool
) -> Decider:
    """The decider of a run, from what its steps left in their folders."""
    thresholds = read_array(decided, "thresholds")
    calibration = None
    if calibrated is not None and run.calibration is not None:
        calibration = read_calibration(calibrated, run.calibration, len(priors))
    counted = run.threshold.rule in COUNTING_RULES
    per_document = float(read_array(decided, "per_document")) if counted else 1.0
    return Decider(run, single_label, thresholds, per_document, priors, calibration)
