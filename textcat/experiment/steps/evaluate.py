"""Scores, decisions and measures on the test documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.elsewhere import more_measures
from textcat.evaluation.summary import MeasureSettings, measure_all
from textcat.experiment.fitting import Model, load_model
from textcat.experiment.settings import EvaluationSettings, Experiment, RunSettings
from textcat.experiment.steps.decide import read_thresholds
from textcat.experiment.steps.problem import test_matrix
from textcat.experiment.steps.project import read_projection
from textcat.experiment.steps.step import Step, Workshop, inputs_of
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.experiment.studies.study import Subject
from textcat.experiment.studies.table import STUDIES
from textcat.plugins import identities
from textcat.store import Recipe
from textcat.store.arrays import read_json, write_array, write_json, write_mask
from textcat.thresholds.settings import decisions


def evaluate_step(
    experiment: Experiment,
    run: RunSettings,
    trained: Step,
    decided: Step,
    vectorized: Step,
    projected: Step | None,
) -> Step:
    """Measure a run on its test documents."""
    single = experiment.corpus.single_label
    parameters = {"evaluation": run.evaluation.model_dump(mode="json"), "single_label": single}
    parameters |= identities(*(("measures", name) for name in run.evaluation.measures))
    recipe = Recipe(
        "evaluate", 2, parameters, inputs_of(model=trained, thresholds=decided, vectors=vectorized)
    )

    def make(workshop: Workshop, target: Path) -> None:
        vectors = read_vectors(vectorized.artifact(workshop).folder)
        model = load_model(trained.artifact(workshop).folder)
        thresholds = read_thresholds(decided.artifact(workshop).folder)
        scores = model.scores(test_matrix(workshop, run, vectors, projected))
        decided_on = decide(run, scores, thresholds, vectors.priors, single_label=single)
        measures = measured(scores, decided_on, vectors.test_labels, vectors, run.evaluation)
        X = read_projection(projected.artifact(workshop).folder, "train", run) if projected else vectors.train
        train_scores = model.scores(X)
        accepted = decide(run, train_scores, thresholds, vectors.priors, single_label=single)
        measures.update(_on_training(train_scores, accepted, vectors, run))
        series: dict[str, list[Any]] = {}
        for name in run.evaluation.studies:
            found = STUDIES[name](_subject(run, vectors, model, train_scores, scores))
            measures.update({k: v if np.isfinite(v) else None for k, v in found.measures.items()})
            series.update(found.series)
        write_json(target, "measures", measures)
        write_json(target, "series", series)
        write_array(target, "scores", scores)
        write_mask(target, "decisions", decided_on)

    needs = tuple(step for step in (trained, decided, vectorized, projected) if step)
    return Step("evaluate", f"evaluate {run.title or run.learner}", recipe, make, needs)


def decide(
    run: RunSettings,
    scores: NDArray[Any],
    thresholds: NDArray[Any],
    priors: NDArray[np.float64],
    *,
    single_label: bool,
) -> NDArray[np.bool_]:
    """Decisions by the run's rule; with one label a document, the category of the highest score alone."""
    if not single_label:
        return decisions(run.threshold, scores, thresholds, priors)
    chosen = np.zeros(scores.shape, dtype=bool)
    chosen[np.arange(len(scores)), np.argmax(scores, axis=1)] = True
    return chosen


def measured(
    scores: NDArray[Any],
    accepted: NDArray[np.bool_],
    labels: NDArray[np.bool_],
    vectors: Vectors,
    settings: EvaluationSettings,
) -> dict[str, float | None]:
    """All measures; one that is undefined is None, which is null in JSON."""
    chosen = MeasureSettings(zero_division=settings.zero_division, largest=tuple(settings.largest))
    values = measure_all(scores, accepted, labels, vectors.categories, vectors.train_counts, chosen)
    values |= more_measures(settings.measures, scores, accepted, labels)
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _on_training(
    scores: NDArray[Any], accepted: NDArray[np.bool_], vectors: Vectors, run: RunSettings
) -> dict[str, float | None]:
    """The few measures that are also of interest on the training documents."""
    training = measured(scores, accepted, vectors.train_labels, vectors, run.evaluation)
    wanted = ("micro.f1", "macro.f1", "macro.f1_of_means", "micro.errors")
    return {f"train.{name}": training[name] for name in wanted}


def _subject(
    run: RunSettings, vectors: Vectors, model: Model, train_scores: NDArray[Any], test_scores: NDArray[Any]
) -> Subject:
    return Subject(run, vectors, train_scores, test_scores, model.to_arrays().get("coef"), model.describe())


def read_series(folder: Path) -> dict[str, list[Any]]:
    """The lists that studies left for figures."""
    series: dict[str, list[Any]] = read_json(folder, "series")
    return series


def read_measures(folder: Path) -> dict[str, float | None]:
    """The measures that the step left."""
    values: dict[str, float | None] = read_json(folder, "measures")
    return values
