"""Collect every measure of every run of an experiment, with its signature."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textcat
from textcat.evaluation.significance import comparison_measures
from textcat.evaluation.summary import over_repetitions
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.run.results_schema import FORMAT
from textcat.experiment.spec.experiment import ComparisonSettings, Experiment, RunSettings
from textcat.experiment.spec.learners import parameters_of
from textcat.experiment.steps.evaluate import measured, read_measures, read_series
from textcat.experiment.steps.fitting import certificates_of
from textcat.experiment.steps.step import Workshop
from textcat.experiment.steps.train import methods_named
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.plugins import identities
from textcat.store import digest
from textcat.store.arrays import read_array, read_json, read_mask

Measures = dict[str, float | None]

# The papers call by these names what the learners' parameters call by shorter ones.
PRINTED_NAMES = {"lam": "lambda", "rate": "lambda"}


def of_weights(folder: Path, categories: Sequence[str], positives: NDArray[np.int64]) -> Measures:
    """How many features a linear model uses, by category and over them, the constant not counted."""
    if not (folder / "model.coef.npy").exists():
        return {}
    used = np.count_nonzero(read_array(folder, "model.coef"), axis=0)
    constants = read_array(folder, "model.intercept")
    measures: Measures = {
        "features.min": float(used.min()),
        "features.max": float(used.max()),
        "features.mean": float(used.mean()),
        "features.sd": float(used.std(ddof=1)) if len(used) > 1 else None,
        "features.constants_dropped": float(np.count_nonzero(constants == 0)),
        "features.correlation_with_positives": _correlation(used, positives),
    }
    each = {f"category.{name}.features": float(n) for name, n in zip(categories, used, strict=True)}
    return {**measures, **each}


def _correlation(used: NDArray[np.int64], positives: NDArray[np.int64]) -> float | None:
    """Of the logarithms, over the categories with a positive document and a feature."""
    known = (used > 0) & (positives > 0)
    if np.unique(used[known]).size < 2 or np.unique(positives[known]).size < 2:
        return None
    return float(np.corrcoef(np.log(used[known]), np.log(positives[known]))[0, 1])


def of_certificates(certificates: Sequence[Mapping[str, Any]]) -> Measures:
    """Objective and gap summed over the categories, passes averaged; none where a learner minimises nothing."""
    measures: Measures = {}
    for name, together in (("objective", np.sum), ("gap", np.sum), ("passes", np.mean)):
        values = [entry.get(name) for entry in certificates]
        if values and all(value is not None for value in values):
            measures[f"training.{name}"] = float(
                together([float(value) for value in values if value is not None])
            )
    return measures


def of_search(folder: Path) -> Measures:
    """chosen.lambda, or another parameter, where one value was chosen for all categories."""
    if not (folder / "search.json").exists():
        return {}
    search = read_json(folder, "search")
    if len(search["chosen"]) != 1:
        return {}
    return {f"chosen.{PRINTED_NAMES.get(search['parameter'], search['parameter'])}": search["chosen"][0]}


# Runs of their own in what cells and claims ask for, though nothing is trained for them.
COLLECTION = "collection"


def collect(plan: Plan, workshop: Workshop) -> dict[str, Any]:
    """The results of an experiment whose steps are all made."""
    experiment = plan.experiment
    by_run: dict[str, list[Chain]] = defaultdict(list)
    for chain in plan.chains:
        by_run[chain.run].append(chain)
    first = read_vectors(plan.chains[0].vectorized.artifact(workshop).folder)
    runs = {name: _run(chains, plan, workshop) for name, chains in by_run.items()}
    compared = {
        name: {"measures": _compared(pair, runs, first)} for name, pair in experiment.comparisons.items()
    }
    return {
        "format": FORMAT,
        "version": textcat.__version__,
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "tables": list(experiment.tables),
        "figures": list(experiment.figures),
        "corpus": _corpus(plan, first),
        "settings": _dumped(experiment, "runs", "title"),
        "runs": runs,
        "beside": compared | {COLLECTION: {"measures": _collection(plan, by_run, first, workshop)}},
    }


def _dumped(settings: Experiment | RunSettings, *left_out: str) -> dict[str, Any]:
    """Settings as JSON-able data; a calibration that is not asked for is not mentioned."""
    unused = () if settings.calibration else ("calibration",)
    return settings.model_dump(mode="json", exclude={*left_out, *unused})


def _corpus(plan: Plan, vectors: Vectors) -> dict[str, Any]:
    corpus = plan.experiment.corpus
    return {
        "name": corpus.name,
        "split": corpus.split,
        "fingerprint": plan.chains[0].tokenized.recipe.inputs["corpus"],
        "train_documents": vectors.train.shape[0],
        "test_documents": vectors.test.shape[0],
        "terms": vectors.train.shape[1],
        "categories": len(vectors.categories),
        "train_counts": dict(zip(vectors.categories, vectors.train_counts.tolist(), strict=True)),
    }


def _run(chains: Sequence[Chain], plan: Plan, workshop: Workshop) -> dict[str, Any]:
    run = chains[0].settings
    folders = [chain.trained.artifact(workshop).folder for chain in chains]
    vectors = read_vectors(chains[0].vectorized.artifact(workshop).folder)
    certificates = certificates_of(read_json(folders[0], "model"))
    measures = _measures(chains, plan, workshop)
    measures |= of_weights(folders[0], vectors.categories, vectors.train_counts) | of_certificates(
        certificates
    )
    measures |= of_search(folders[0])
    result: dict[str, Any] = {
        "title": run.title,
        "settings": _dumped(run, "title"),
        "signature": digest({"key": [chain.evaluated.recipe.key for chain in chains]})[:16],
        "measures": dict(sorted(measures.items())),
        "certificates": certificates,
    }
    if (folders[0] / "search.json").exists():
        result["search"] = read_json(folders[0], "search")
    result |= identities(*plugins_of(plan.experiment, run))
    series = read_series(chains[0].evaluated.artifact(workshop).folder)
    if series:
        result["series"] = series
    return result


def plugins_of(experiment: Experiment, run: RunSettings) -> list[tuple[str, str | None]]:
    """All names in a run that a plugin may offer, with their kinds."""
    return [
        ("corpora", experiment.corpus.name),
        ("tokenizers", run.text.tokenizer),
        ("selection_scores", run.selection.score if run.selection.features != "all" else None),
        *methods_named(parameters_of(run.learner, run.parameters)),
        ("thresholds", run.threshold.rule),
        *(("measures", name) for name in run.evaluation.measures),
    ]


def _measures(chains: Sequence[Chain], plan: Plan, workshop: Workshop) -> Measures:
    each = [read_measures(chain.evaluated.artifact(workshop).folder) for chain in chains]
    if len(each) == 1:
        return dict(each[0])
    spread = over_repetitions([{k: np.nan if v is None else v for k, v in one.items()} for one in each])
    aggregated: Measures = {name: value if np.isfinite(value) else None for name, value in spread.items()}
    if plan.experiment.resample and plan.experiment.resample.kind == "folds":
        aggregated |= _pooled(chains, workshop)
    return {name: value for name, value in aggregated.items() if not _of_one_category(name)}


def _of_one_category(name: str) -> bool:
    """Of means and spreads by category there are too many for anyone to read."""
    return name.startswith("category.") and name.endswith((".mean", ".sd"))


def _pooled(chains: Sequence[Chain], workshop: Workshop) -> Measures:
    """Measures over the documents of all folds together, each decided by the model that had not seen it."""
    scores, decisions, labels = [], [], []
    vectors = None
    for chain in chains:
        folder = chain.evaluated.artifact(workshop).folder
        vectors = read_vectors(chain.vectorized.artifact(workshop).folder)
        scores.append(read_array(folder, "scores"))
        decisions.append(read_mask(folder, "decisions"))
        labels.append(vectors.test_labels)
    if vectors is None:
        return {}
    return measured(
        np.vstack(scores), np.vstack(decisions), np.vstack(labels), vectors, chains[0].settings.evaluation
    )


def _compared(pair: ComparisonSettings, runs: dict[str, Any], vectors: Vectors) -> Measures:
    """Fewer, more and equal errors over the categories, and Wilcoxon's p."""
    errors = [
        [runs[side]["measures"][f"category.{name}.errors"] for name in vectors.categories]
        for side in (pair.left, pair.right)
    ]
    return dict(comparison_measures(*errors))


def _collection(plan: Plan, by_run: dict[str, list[Chain]], vectors: Vectors, workshop: Workshop) -> Measures:
    """The size of the collection as learners saw it; with folds every document trains and tests in turn."""
    chain = next(iter(by_run.values()))[0]
    train, test = vectors.train.shape[0], vectors.test.shape[0]
    resample = plan.experiment.resample
    if resample and resample.kind == "folds":
        train = test = train + test
    selection = chain.settings.selection.features
    return {
        "collection.train_documents": float(train),
        "collection.test_documents": float(test),
        "collection.categories": float(len(vectors.categories)),
        "collection.terms": float(vectors.train.shape[1]),
        "collection.features": float(vectors.train.shape[1] if selection == "all" else selection),
    }
