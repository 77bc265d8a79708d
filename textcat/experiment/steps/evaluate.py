"""Score and decide on the test documents, and measure the decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.measures import measure_calibration
from textcat.evaluation.run_measures import MeasureSettings, compute_plugin_measures, measure_all
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import EvaluationSettings, Experiment, RunSettings
from textcat.experiment.steps.assemble import read_test_matrix
from textcat.experiment.steps.decide import load_decision_rule
from textcat.experiment.steps.models import Model, load_model
from textcat.experiment.steps.project import read_projection
from textcat.experiment.steps.step import Step, make_recipe_inputs
from textcat.experiment.steps.studies import STUDIES, StudyInput
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.plugins import collect_identities
from textcat.store import Recipe
from textcat.store.arrays import read_json, write_array, write_json, write_mask


def make_evaluate_step(
    experiment: Experiment,
    run: RunSettings,
    trained: Step,
    decided: Step,
    vectorized: Step,
    projected: Step | None,
    calibrated: Step | None,
) -> Step:
    """Return the step that measures a run on its test documents."""
    single = experiment.corpus.single_label
    parameters = {"evaluation": run.evaluation.model_dump(mode="json"), "single_label": single}
    inputs = {"model": trained, "thresholds": decided, "vectors": vectorized}
    if calibrated:
        inputs["calibration"] = calibrated
    parameters |= collect_identities(*(("measures", name) for name in run.evaluation.measures))
    recipe = Recipe("evaluate", 3, parameters, make_recipe_inputs(**inputs))

    def make(context: RunContext, target: Path) -> None:
        vectors = read_vectors(vectorized.build_artifact(context).folder)
        model = load_model(trained.build_artifact(context).folder)
        rule = load_decision_rule(
            run,
            decided.build_artifact(context).folder,
            calibrated.build_artifact(context).folder if calibrated else None,
            vectors.priors,
            single_label=single,
        )
        scores = model.scores(read_test_matrix(context, run, vectors, projected))
        decisions = rule.decide(model, scores)
        measures = compute_measures(scores, decisions, vectors.test_labels, vectors, run.evaluation)
        if rule.calibration is not None:
            measures.update(measure_calibration(rule.calibration.probabilities(scores), vectors.test_labels))
        X = (
            read_projection(projected.build_artifact(context).folder, "train", run)
            if projected
            else vectors.train
        )
        train_scores = model.scores(X)
        accepted = rule.decide(model, train_scores)
        measures.update(_compute_training_measures(train_scores, accepted, vectors, run))
        series: dict[str, list[Any]] = {}
        for name in run.evaluation.studies:
            found = STUDIES[name](_make_study_input(run, vectors, model, train_scores, scores))
            measures.update({k: v if np.isfinite(v) else None for k, v in found.measures.items()})
            series.update(found.series)
        write_json(target, "measures", measures)
        write_json(target, "series", series)
        write_array(target, "scores", scores)
        write_mask(target, "decisions", decisions)

    needs = tuple(step for step in (trained, decided, vectorized, projected, calibrated) if step)
    return Step("evaluate", f"evaluate {run.title or run.learner}", recipe, make, needs)


def compute_measures(
    scores: NDArray[Any],
    accepted: NDArray[np.bool_],
    labels: NDArray[np.bool_],
    vectors: Vectors,
    settings: EvaluationSettings,
) -> dict[str, float | None]:
    """Return all measures; undefined ones are None."""
    chosen = MeasureSettings(zero_division=settings.zero_division, largest=tuple(settings.largest))
    values = measure_all(scores, accepted, labels, vectors.categories, vectors.train_counts, chosen)
    values |= compute_plugin_measures(settings.measures, scores, accepted, labels)
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _compute_training_measures(
    scores: NDArray[Any], accepted: NDArray[np.bool_], vectors: Vectors, run: RunSettings
) -> dict[str, float | None]:
    """Return the measures that are also taken on the training documents."""
    training = compute_measures(scores, accepted, vectors.train_labels, vectors, run.evaluation)
    wanted = ("micro.f1", "macro.f1", "macro.f1_of_means", "micro.errors")
    return {f"train.{name}": training[name] for name in wanted}


def _make_study_input(
    run: RunSettings, vectors: Vectors, model: Model, train_scores: NDArray[Any], test_scores: NDArray[Any]
) -> StudyInput:
    return StudyInput(
        run, vectors, train_scores, test_scores, model.to_arrays().get("coef"), model.describe()
    )


def read_series(folder: Path) -> dict[str, list[Any]]:
    """Read the lists of numbers that studies give for figures."""
    series: dict[str, list[Any]] = read_json(folder, "series")
    return series


def read_measures(folder: Path) -> dict[str, float | None]:
    """Read the measures of an evaluate artifact."""
    values: dict[str, float | None] = read_json(folder, "measures")
    return values
