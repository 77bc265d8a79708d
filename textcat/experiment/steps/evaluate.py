"""Score and decide on the test documents, and measure the decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.evaluation import measures
from textcat.evaluation.contingency import ContingencyTable, count_contingency, sum_tables
from textcat.evaluation.measures import ZeroDivision, measure_calibration
from textcat.evaluation.run_measures import MeasureSettings, compute_plugin_measures, measure_all
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import EvaluationSettings, Experiment, RunSettings
from textcat.experiment.steps.assemble import read_test_matrix
from textcat.experiment.steps.decide import DecisionRule, load_decision_rule
from textcat.experiment.steps.models import Model, load_model
from textcat.experiment.steps.project import read_projection
from textcat.experiment.steps.step import Step, make_recipe_inputs
from textcat.experiment.steps.studies import STUDIES, StudyInput
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.plugins import collect_identities
from textcat.store import Recipe
from textcat.store.arrays import read_json, write_array, write_json, write_mask

# More scores of training documents than this are never held at once.
LARGE_SCORES = 50_000_000


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
        if single:
            # Probabilities of one category per document are divided by their sum before they are measured.
            parameters["normalized"] = True
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
        found = compute_measures(scores, decisions, vectors.test_labels, vectors, run.evaluation)
        probabilities = rule.probabilities(model, scores) if rule.calibration is not None else None
        if probabilities is not None:
            found.update(measure_calibration(probabilities, vectors.test_labels))
        X = (
            read_projection(projected.build_artifact(context).folder, "train", run)
            if projected
            else vectors.train
        )
        table, train_scores = count_training_decisions(
            X, model, rule, vectors, keep=bool(run.evaluation.studies)
        )
        found.update(_compute_training_measures(table, run.evaluation.zero_division))
        series: dict[str, list[Any]] = {}
        for name in run.evaluation.studies:
            study = STUDIES[name](_make_study_input(run, vectors, model, train_scores, scores))
            found.update({k: v if np.isfinite(v) else None for k, v in study.measures.items()})
            series.update(study.series)
        write_json(target, "measures", found)
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
    chosen = MeasureSettings(
        zero_division=settings.zero_division,
        largest=tuple(settings.largest),
        ranking=tuple(settings.ranking),
        frequency_groups=settings.frequency_groups,
    )
    values = measure_all(
        scores, accepted, labels, vectors.categories, vectors.train_counts, chosen, vectors.train.shape[0]
    )
    values |= compute_plugin_measures(settings.measures, scores, accepted, labels)
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def count_training_decisions(
    X: Any, model: Model, rule: DecisionRule, vectors: Vectors, *, keep: bool
) -> tuple[ContingencyTable, NDArray[np.float64] | None]:
    """Return the contingency table of the training documents, and their scores if they are kept.

    Above LARGE_SCORES scores, sparse documents are decided in blocks and their scores are not kept.
    """
    documents, categories = X.shape[0], len(vectors.categories)
    split = documents * categories > LARGE_SCORES and sp.issparse(X) and not keep
    if not split or rule.needs_all_documents:
        scores = model.scores(X)
        return count_contingency(rule.decide(model, scores), vectors.train_labels), scores
    size = max(LARGE_SCORES // (8 * categories), 1)
    tables = []
    for start in range(0, documents, size):
        rows = slice(start, start + size)
        accepted = rule.decide(model, model.scores(X[rows]))
        tables.append(count_contingency(accepted, vectors.train_labels[rows]))
    return sum_tables(tables), None


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
    return {f"train.{name}": value if np.isfinite(value) else None for name, value in values.items()}


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
