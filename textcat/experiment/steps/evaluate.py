"""Score and decide on the test documents, and measure the decisions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation import measures
from textcat.evaluation.measures import (
    ContingencyTable,
    SparseLabels,
    ZeroDivision,
    count_contingency,
    make_dense_labels,
    measure_calibration,
    replace_nan,
)
from textcat.evaluation.run_measures import (
    EvaluationSettings,
    compute_registered_measures,
    measure_all,
    measure_counts,
)
from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import Experiment, RunSettings
from textcat.experiment.steps.block_outcome import (
    count_in_blocks,
    evaluate_in_blocks,
    write_all_scores,
    write_kept_scores,
)
from textcat.experiment.steps.decide import DecisionRule, build_decision_rule
from textcat.experiment.steps.models import Model, is_too_large, load_model
from textcat.experiment.steps.studies import STUDIES, StudyInput
from textcat.experiment.steps.vectorize import LearningSteps, Vectors, read_vectors
from textcat.store import Recipe
from textcat.store.arrays import read_json, write_json

# Rises when measures of rankings are added or change.
RANKING_VERSION = 2


def make_evaluate_step(
    experiment: Experiment, source: LearningSteps, trained: Step, decided: Step, calibrated: Step | None
) -> Step:
    """Return the step that measures a run on its test documents."""
    run, vectorized, projected = source.settings, source.vectorized, source.projected
    single = experiment.corpus.single_label
    parameters = {"evaluation": run.evaluation.model_dump(mode="json"), "single_label": single}
    if run.evaluation.ranking:
        parameters["ranking_version"] = RANKING_VERSION
    inputs = {"model": trained, "thresholds": decided, "vectors": vectorized}
    if calibrated:
        inputs["calibration"] = calibrated
        if single:
            # Probabilities of one category per document are divided by their sum before they are measured.
            parameters["normalized"] = True
            if run.calibration is not None and run.calibration.method != "temperature":
                parameters["accepts"] = "most probable"
    recipe = Recipe("evaluate", 3, parameters, make_recipe_inputs(**inputs))

    def make(context: RunContext, target: Path) -> None:
        vectors = read_vectors(vectorized.build_folder(context))
        model = load_model(trained.build_folder(context))
        rule = build_decision_rule(context, run, decided, calibrated, vectors.priors, single_label=single)
        train = source.read_matrix(context, vectors, "train")
        inputs = _EvaluationInputs(
            run,
            vectors,
            model,
            rule,
            source.read_matrix(context, vectors, "test"),
            train[: vectors.train_documents] if vectors.names else train,
        )
        if _can_use_blocks(experiment, inputs):
            _evaluate_by_blocks(context, target, inputs)
        else:
            _evaluate_at_once(context, target, inputs)

    needs = tuple(step for step in (trained, decided, vectorized, projected, calibrated) if step)
    return Step("evaluate", f"evaluate {run.title or run.learner}", recipe, make, needs)


@dataclass(frozen=True)
class _EvaluationInputs:
    """A trained run, its decision rule, and its documents."""

    run: RunSettings
    vectors: Vectors
    model: Model
    rule: DecisionRule
    test: Any
    train: Any


def _can_use_blocks(experiment: Experiment, inputs: _EvaluationInputs) -> bool:
    """Return whether the test scores are too many, and nothing needs all of them at once."""
    settings, labels = inputs.run.evaluation, inputs.vectors.test_labels
    has_folds = experiment.resample is not None and experiment.resample.kind == "folds"
    needs_all = bool(settings.studies or settings.measures or has_folds or inputs.rule.single_label)
    return is_too_large(*labels.shape) and not needs_all and inputs.rule.works_in_blocks(inputs.model)


def _evaluate_at_once(context: RunContext, target: Path, inputs: _EvaluationInputs) -> None:
    """Write measures, series, all scores and all decisions."""
    run, vectors, model, rule = inputs.run, inputs.vectors, inputs.model, inputs.rule
    scores, labels = model.scores(inputs.test), make_dense_labels(vectors.test_labels)
    decisions = rule.decide(model, scores)
    found = compute_measures(scores, decisions, labels, vectors, run.evaluation)
    if rule.ranks_probabilities and found["accuracy"] is not None:
        found["accuracy"] = measures.argmax_accuracy(rule.rank_categories(model, scores), labels)
    probabilities = rule.probabilities(model, scores) if rule.calibration is not None else None
    if probabilities is not None:
        found.update(measure_calibration(probabilities, labels))
    table, train_scores = count_training_decisions(
        context, inputs.train, model, rule, vectors.own_labels, keep=bool(run.evaluation.studies)
    )
    found.update(_compute_training_measures(table, run.evaluation.zero_division))
    series: dict[str, list[Any]] = {}
    for name in run.evaluation.studies:
        study = STUDIES[name](_make_study_input(run, vectors, model, train_scores, scores))
        found.update(replace_nan(study.measures))
        series.update(study.series)
    write_json(target, "measures", found)
    write_json(target, "series", series)
    write_all_scores(target, scores, decisions)


def _evaluate_by_blocks(context: RunContext, target: Path, inputs: _EvaluationInputs) -> None:
    """Write measures, curve, decisions and the scores that a report shows, from blocks of categories."""
    run, vectors = inputs.run, inputs.vectors
    labels, settings = vectors.test_labels, run.evaluation
    most = max(settings.ranking, default=1)
    outcome = evaluate_in_blocks(context, inputs.model, inputs.test, inputs.rule, labels, most)
    values = measure_counts(
        outcome.counts,
        labels,
        vectors.categories,
        vectors.train_counts,
        settings,
        vectors.train_documents,
    )
    found = replace_nan(values | outcome.calibration)
    table, _ = count_training_decisions(
        context, inputs.train, inputs.model, inputs.rule, vectors.own_labels, keep=False
    )
    found.update(_compute_training_measures(table, settings.zero_division))
    write_json(target, "measures", found)
    write_json(target, "series", {})
    write_kept_scores(target, outcome.scores, outcome.decisions, outcome.curve)


def compute_measures(
    scores: NDArray[Any],
    accepted: NDArray[np.bool_],
    labels: NDArray[np.bool_],
    vectors: Vectors,
    settings: EvaluationSettings,
) -> dict[str, float | None]:
    """Return all measures; undefined ones are None."""
    values = measure_all(
        scores, accepted, labels, vectors.categories, vectors.train_counts, settings, vectors.train_documents
    )
    values |= compute_registered_measures(settings.measures, scores, accepted, labels)
    return replace_nan(values)


def count_training_decisions(
    context: RunContext, X: Any, model: Model, rule: DecisionRule, labels: SparseLabels, *, keep: bool
) -> tuple[ContingencyTable, NDArray[np.float64] | None]:
    """Return the contingency table of the training documents, and their scores if they are kept.

    Too many scores are computed in blocks of categories and not kept.
    """
    if is_too_large(*labels.shape) and not keep and rule.works_in_blocks(model):
        return count_in_blocks(context, model, X, rule, labels), None
    scores = model.scores(X)
    return count_contingency(rule.decide(model, scores), make_dense_labels(labels)), scores


def _compute_training_measures(
    table: ContingencyTable, zero_division: ZeroDivision
) -> dict[str, float | None]:
    """Return the measures that are also taken on the training documents."""
    values = {
        "micro.f1": measures.micro_f1(table, zero_division),
        "macro.f1": measures.macro_f1(table, zero_division),
        "macro.f1_of_means": measures.f1_of_means(table, zero_division),
        "micro.errors": float(table.errors.sum()),
    }
    return {f"train.{name}": value for name, value in replace_nan(values).items()}


def _make_study_input(
    run: RunSettings, vectors: Vectors, model: Model, train_scores: Any, test_scores: NDArray[Any]
) -> StudyInput:
    coef: Any = getattr(model, "coef", None)
    weights = coef.toarray() if hasattr(coef, "toarray") else model.to_arrays().get("coef")
    return StudyInput(run, vectors, train_scores, test_scores, weights, model.describe())


def read_series(folder: Path) -> dict[str, list[Any]]:
    """Read the lists of numbers that studies give for figures."""
    series: dict[str, list[Any]] = read_json(folder, "series")
    return series


def read_measures(folder: Path) -> dict[str, float | None]:
    """Read the measures of an evaluate artifact."""
    values: dict[str, float | None] = read_json(folder, "measures")
    return values
