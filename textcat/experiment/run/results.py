"""Collect the measures and signatures of all runs of an experiment.

Experiments with one label per document also get accuracy at k, confusions and the reliability of probabilities.
The experiments of the papers do not, so that their results stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textcat
from textcat.evaluation.comparison import measure_comparison
from textcat.evaluation.measures import Floats, Ints, make_dense_labels, replace_nan
from textcat.evaluation.one_label import (
    compute_calibration_error,
    compute_risk_area,
    count_confusions,
    find_columns,
    measure_rejection,
    measure_reliability,
    measure_top_accuracy,
    trace_risk_coverage,
)
from textcat.evaluation.run_measures import average_repetitions
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.run.results_file import split_category_measure
from textcat.experiment.run.results_schema import FORMAT
from textcat.experiment.spec.experiment import ComparisonSettings, Experiment, RunSettings
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.block_outcome import read_decisions, read_scores
from textcat.experiment.steps.decide import DecisionRule, build_decision_rule
from textcat.experiment.steps.evaluate import compute_measures, read_measures, read_series
from textcat.experiment.steps.intervals import read_intervals
from textcat.experiment.steps.models import extract_certificates, load_model
from textcat.experiment.steps.vectorize import Vectors, read_vectors
from textcat.extensions import find_sources
from textcat.published.printed_tables import find_varied_experiment
from textcat.store import hash_json
from textcat.store.arrays import read_array, read_json, read_mask
from textcat.thresholds.rejection import Rejection

RunMeasures = dict[str, float | None]

# The papers' names of parameters with shorter names here.
PRINTED_NAMES = {"lam": "lambda", "rate": "lambda"}


def measure_weights(folder: Path, categories: Sequence[str], positives: NDArray[np.int64]) -> RunMeasures:
    """Return how many features a linear model uses, over all categories and for each, without the constant."""
    model: Any = load_model(folder)
    if not hasattr(model, "coef"):
        return {}
    used = np.asarray((model.coef != 0).sum(axis=0)).ravel()
    constants = model.intercept
    measures: RunMeasures = {
        "features.min": float(used.min()),
        "features.max": float(used.max()),
        "features.mean": float(used.mean()),
        "features.sd": float(used.std(ddof=1)) if len(used) > 1 else None,
        "features.constants_dropped": float(np.count_nonzero(constants == 0)),
        "features.correlation_with_positives": _correlate_logarithms(used, positives),
    }
    each = {f"category.{name}.features": float(n) for name, n in zip(categories, used, strict=True)}
    return {**measures, **each}


def _correlate_logarithms(used: NDArray[np.int64], positives: NDArray[np.int64]) -> float | None:
    """Correlate the logarithms over the categories that have a positive document and a feature."""
    known = (used > 0) & (positives > 0)
    if np.unique(used[known]).size < 2 or np.unique(positives[known]).size < 2:
        return None
    return float(np.corrcoef(np.log(used[known]), np.log(positives[known]))[0, 1])


def measure_training(certificates: Sequence[Mapping[str, Any]]) -> RunMeasures:
    """Return the sums of objective and gap and the mean of passes over categories; nothing for other learners."""
    measures: RunMeasures = {}
    for name, together in (("objective", np.sum), ("gap", np.sum), ("passes", np.mean)):
        values = [entry.get(name) for entry in certificates]
        if values and None not in values:
            measures[f"training.{name}"] = float(together(np.asarray(values, dtype=np.float64)))
    return measures


def measure_search(folder: Path) -> RunMeasures:
    """Return what was chosen for all categories: chosen.prune, or a search's value such as chosen.lambda."""
    if (folder / "prune.json").exists():
        return {"chosen.prune": read_json(folder, "prune")["value"]}
    if not (folder / "search.json").exists():
        return {}
    search = read_json(folder, "search")
    if len(search["chosen"]) != 1:
        return {}
    return {f"chosen.{PRINTED_NAMES.get(search['parameter'], search['parameter'])}": search["chosen"][0]}


# Cells and claims refer to measures of the collection under this name of a run.
COLLECTION_RUN = "collection"


def collect_results(plan: Plan, context: RunContext) -> dict[str, Any]:
    """Return the results of an experiment whose steps are all built."""
    experiment = plan.experiment
    by_run: dict[str, list[Chain]] = defaultdict(list)
    for chain in plan.chains:
        by_run[chain.run].append(chain)
    first = read_vectors(plan.chains[0].vectorized.read_folder(context))
    runs = {name: _collect_run(chains, plan, context) for name, chains in by_run.items()}
    compared = {
        name: {"measures": _compare_errors(pair, runs, first)}
        for name, pair in experiment.comparisons.items()
    }
    results = {
        "format": FORMAT,
        "version": textcat.__version__,
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "tables": list(experiment.tables),
        "figures": list(experiment.figures),
        "corpus": _describe_corpus(plan, first),
        "settings": _dump_settings(experiment, "runs", "title"),
        "runs": runs,
        "beside": compared
        | {COLLECTION_RUN: {"measures": _measure_collection(plan, by_run, first, context)}},
    }
    varied = find_varied_experiment(experiment.name, experiment.extended, experiment.tables)
    # Numbers of a paper say nothing about other documents.
    if varied and load_experiment(varied).corpus.name == experiment.corpus.name:
        results["variant_of"] = varied
    if experiment.reading:
        results["reading"] = experiment.reading
    if experiment.evaluation.per_category is not None:
        _keep_largest_categories(results, experiment.evaluation.per_category)
    return results


def _keep_largest_categories(results: dict[str, Any], number: int) -> None:
    """Remove the training counts and measures of all but the largest categories."""
    counts: dict[str, int] = results["corpus"]["train_counts"]
    largest = set(sorted(counts, key=lambda name: -counts[name])[:number])
    results["corpus"]["train_counts"] = {name: n for name, n in counts.items() if name in largest}
    for run in results["runs"].values():
        parts = ((name, split_category_measure(name)[0]) for name in run["measures"])
        kept = {name for name, category in parts if not category or category in largest}
        run["measures"] = {name: value for name, value in run["measures"].items() if name in kept}


def _dump_settings(settings: Experiment | RunSettings, *left_out: str) -> dict[str, Any]:
    """Return settings as JSON-able data, without `calibration` and `reject` if there is none."""
    unused = [name for name in ("calibration", "reject") if not getattr(settings, name)]
    return settings.model_dump(mode="json", exclude={*left_out, *unused})


def _describe_corpus(plan: Plan, vectors: Vectors) -> dict[str, Any]:
    corpus = plan.experiment.corpus
    return {
        "name": corpus.name,
        "split": corpus.split,
        "fingerprint": plan.chains[0].tokenized.recipe.inputs["corpus"],
        "train_documents": vectors.train_documents,
        "test_documents": vectors.test.shape[0],
        "terms": vectors.train.shape[1],
        "categories": len(vectors.categories),
        "train_counts": dict(zip(vectors.categories, vectors.train_counts.tolist(), strict=True)),
    }


def compute_signature(chains: Sequence[Chain]) -> str:
    """Return a short hash of all that decides the numbers of a run, given its chains."""
    return hash_json({"key": [chain.evaluated.recipe.key for chain in chains]})[:16]


def _collect_run(chains: Sequence[Chain], plan: Plan, context: RunContext) -> dict[str, Any]:
    run = chains[0].settings
    folders = [chain.trained.read_folder(context) for chain in chains]
    vectors = read_vectors(chains[0].vectorized.read_folder(context))
    certificates = extract_certificates(read_json(folders[0], "model"))
    measures = _aggregate_measures(chains, plan, context)
    measures |= measure_weights(folders[0], vectors.categories, vectors.train_counts)
    measures |= measure_training(certificates) | measure_search(folders[0])
    result: dict[str, Any] = {
        "title": run.title,
        "settings": _dump_settings(run, "title"),
        "signature": compute_signature(chains),
        "measures": measures,
        "certificates": certificates,
    }
    if describes_one_label(plan.experiment):
        described = collect_one_label_results(chains, context)
        result["measures"] |= described.pop("measures")
        result |= described
    result["measures"] = dict(sorted(result["measures"].items()))
    if intervals := context.store.find(plan.intervals[chains[0].run].recipe):
        result["intervals"] = read_intervals(intervals.folder)
    if (folders[0] / "search.json").exists():
        result["search"] = read_json(folders[0], "search")
    if plan.experiment.imports:
        result["imports"] = find_sources(plan.experiment.imports)
    series = read_series(chains[0].evaluated.read_folder(context))
    if series:
        result["series"] = series
    return result


def _aggregate_measures(chains: Sequence[Chain], plan: Plan, context: RunContext) -> RunMeasures:
    each = [read_measures(chain.evaluated.read_folder(context)) for chain in chains]
    if len(each) == 1:
        return dict(each[0])
    spread = average_repetitions([{k: np.nan if v is None else v for k, v in one.items()} for one in each])
    aggregated = replace_nan(spread)
    if plan.experiment.resample and plan.experiment.resample.kind == "folds":
        aggregated |= _measure_pooled_folds(chains, context)
    # Results leave out the means and spreads of single categories.
    return {
        name: value
        for name, value in aggregated.items()
        if not (name.startswith("category.") and name.endswith((".mean", ".sd")))
    }


def _measure_pooled_folds(chains: Sequence[Chain], context: RunContext) -> RunMeasures:
    """Return measures over the test documents of all folds together."""
    folders = [chain.evaluated.read_folder(context) for chain in chains]
    vectors = [read_vectors(chain.vectorized.read_folder(context)) for chain in chains]
    return compute_measures(
        np.vstack([read_scores(folder) for folder in folders]),
        np.vstack([make_dense_labels(read_decisions(folder)) for folder in folders]),
        np.vstack([make_dense_labels(part.test_labels) for part in vectors]),
        vectors[-1],
        chains[0].settings.evaluation,
    )


def _compare_errors(pair: ComparisonSettings, runs: dict[str, Any], vectors: Vectors) -> RunMeasures:
    """Return the categories with fewer, more and equal errors, and Wilcoxon's p."""
    errors = [
        [runs[side]["measures"][f"category.{name}.errors"] for name in vectors.categories]
        for side in (pair.left, pair.right)
    ]
    return dict(measure_comparison(*errors))


def _measure_collection(
    plan: Plan, by_run: dict[str, list[Chain]], vectors: Vectors, context: RunContext
) -> RunMeasures:
    """Return the size of the collection; with folds every document is a training and a test document."""
    chain = next(iter(by_run.values()))[0]
    train, test = vectors.train_documents, vectors.test.shape[0]
    resample = plan.experiment.resample
    if resample and resample.kind == "folds":
        train = test = train + test
    selection = chain.settings.selection.features
    return {
        "collection.train_documents": float(train),
        "collection.test_documents": float(test),
        "collection.categories": float(len(vectors.categories)),
        "collection.terms": float(vectors.train.shape[1]),
        "collection.terms_of_all_documents": float(
            len(read_array(chain.vectorized.read_folder(context), "vectorizer.kept"))
        ),
        "collection.features": float(vectors.train.shape[1] if selection == "all" else selection),
    }


TOP_ACCURACIES = (3, 5)
MAX_CONFUSIONS = 1000


def describes_one_label(experiment: Experiment) -> bool:
    """Return whether the results describe single labels: not for papers, nor for several random splits."""
    splits = experiment.resample is not None and experiment.resample.kind == "splits"
    return experiment.corpus.single_label and not experiment.paper and not splits


def load_single_label_rule(chain: Chain, vectors: Vectors, context: RunContext) -> DecisionRule:
    """Return the decision rule of a run whose steps are built, for one label per document."""
    return build_decision_rule(
        context, chain.settings, chain.decided, chain.calibrated, vectors.priors, single_label=True
    )


def collect_one_label_results(chains: Sequence[Chain], context: RunContext) -> dict[str, Any]:
    """Return `measures`, `confusions` as (label, given, documents) by number of the category, and more.

    With folds, the test documents of all folds count together.
    """
    parts = [_read_part(chain, context) for chain in chains]
    ranked = np.vstack([part["ranked"] for part in parts])
    labels = np.concatenate([part["labels"] for part in parts])
    given = np.concatenate([part["given"] for part in parts])
    # The column of the label of documents out of scope, or -1.
    reject, outside = chains[0].settings.reject, -1
    if reject is not None and reject.label is not None:
        outside = list(parts[0]["categories"]).index(reject.label)
    measures = dict(measure_top_accuracy(ranked, labels, TOP_ACCURACIES))
    found: dict[str, Any] = {
        "confusions": [list(entry) for entry in count_confusions(labels, given, MAX_CONFUSIONS)]
    }
    if chains[0].settings.reject:
        measures |= measure_rejection(labels, given, outside)
        measures["reject.threshold"] = float(np.mean([part["threshold"] for part in parts]))
    if all(part["probabilities"] is not None for part in parts):
        probabilities = np.vstack([part["probabilities"] for part in parts])
        described = _describe_probabilities(probabilities, ranked, labels, outside)
        measures |= described.pop("measures")
        found |= described
    return found | {"measures": replace_nan(measures)}


def _describe_probabilities(
    probabilities: Floats, ranked: Floats, labels: Ints, outside: int
) -> dict[str, Any]:
    """Return `measures`, `reliability` and `risk_coverage`; a document out of scope is wrong if it is answered."""
    reliability = measure_reliability(probabilities, labels, ranked)
    best, columns = Rejection(0.0, outside).find_best(probabilities, ranked)
    right = columns == labels
    return {
        "measures": {
            "probability.calibration_error": compute_calibration_error(reliability),
            "reject.risk_area": compute_risk_area(best, right),
        },
        "reliability": [[round(p, 6), round(share, 6), n] for p, share, n in reliability],
        "risk_coverage": [[round(c, 6), round(r, 6)] for c, r in trace_risk_coverage(best, right)],
    }


def _read_part(chain: Chain, context: RunContext) -> dict[str, Any]:
    """Return ranked categories, labels, decisions, probabilities and more of the test documents of one repetition."""
    vectors = read_vectors(chain.vectorized.read_folder(context))
    folder = chain.evaluated.read_folder(context)
    scores = read_array(folder, "scores")
    model = load_model(chain.trained.read_folder(context))
    rule = load_single_label_rule(chain, vectors, context)
    return {
        "ranked": rule.rank_categories(model, scores),
        "labels": find_columns(vectors.test_labels),
        "given": find_columns(read_mask(folder, "decisions")),
        "probabilities": rule.probabilities(model, scores),
        "categories": vectors.categories,
        "threshold": rule.rejection.threshold if rule.rejection else 0.0,
    }
