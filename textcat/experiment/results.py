"""results.json: every measure of every run with its signature, the same bytes for the same experiment."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import textcat
from textcat.errors import BadDataError
from textcat.evaluation.summary import over_repetitions
from textcat.experiment.fitting import certificates_of
from textcat.experiment.pipeline import Chain, Plan
from textcat.experiment.steps.evaluate import measured, read_measures
from textcat.experiment.steps.step import Workshop
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store import digest
from textcat.store.arrays import read_array, read_json, read_mask
from textcat.store.files import write_whole

FORMAT = 1
Measures = dict[str, float | None]


def collect(plan: Plan, workshop: Workshop) -> dict[str, Any]:
    """The results of an experiment whose steps are all made."""
    experiment = plan.experiment
    by_run: dict[str, list[Chain]] = defaultdict(list)
    for chain in plan.chains:
        by_run[chain.run].append(chain)
    first = read_vectors(plan.chains[0].vectorized.artifact(workshop).folder)
    return {
        "format": FORMAT,
        "version": textcat.__version__,
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "tables": list(experiment.tables),
        "corpus": {
            "name": experiment.corpus.name,
            "split": experiment.corpus.split,
            "fingerprint": plan.chains[0].tokenized.recipe.inputs["corpus"],
            "train_documents": first.train.shape[0],
            "test_documents": first.test.shape[0],
            "terms": first.train.shape[1],
            "categories": len(first.categories),
            "train_counts": dict(zip(first.categories, first.train_counts.tolist(), strict=True)),
        },
        "settings": experiment.model_dump(mode="json", exclude={"runs", "title", "notes"}),
        "runs": {name: _run(chains, plan, workshop) for name, chains in by_run.items()},
    }


def _run(chains: Sequence[Chain], plan: Plan, workshop: Workshop) -> dict[str, Any]:
    run = chains[0].settings
    settings = run.model_dump(mode="json", exclude={"title"})
    folders = [chain.trained.artifact(workshop).folder for chain in chains]
    description = read_json(folders[0], "model")
    measures = _measures(chains, plan, workshop)
    measures |= _of_model(folders[0])
    result: dict[str, Any] = {
        "title": run.title,
        "settings": settings,
        "signature": digest({"key": [chain.evaluated.recipe.key for chain in chains]})[:16],
        "measures": dict(sorted(measures.items())),
        "certificates": certificates_of(description),
    }
    if (folders[0] / "search.json").exists():
        result["search"] = read_json(folders[0], "search")
    return result


def _measures(chains: Sequence[Chain], plan: Plan, workshop: Workshop) -> Measures:
    each = [read_measures(chain.evaluated.artifact(workshop).folder) for chain in chains]
    if len(each) == 1:
        return dict(each[0])
    spread = over_repetitions([{k: np.nan if v is None else v for k, v in one.items()} for one in each])
    aggregated: Measures = {name: value if np.isfinite(value) else None for name, value in spread.items()}
    if plan.experiment.resample and plan.experiment.resample.kind == "folds":
        aggregated |= _pooled(chains, workshop)
    return aggregated


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


def _of_model(folder: Path) -> Measures:
    """How many features a linear model uses, by category."""
    if not (folder / "model.coef.npy").exists():
        return {}
    used = np.count_nonzero(read_array(folder, "model.coef"), axis=0)
    return {
        "features.least": float(used.min()),
        "features.most": float(used.max()),
        "features.mean": float(used.mean()),
        "features.sd": float(used.std(ddof=1)) if len(used) > 1 else None,
    }


def encoded(results: Mapping[str, Any]) -> str:
    """The one spelling of results."""
    return json.dumps(results, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_results(folder: Path, results: Mapping[str, Any]) -> Path:
    """results.json, whole."""
    path = folder / "results.json"
    write_whole(path, encoded(results))
    return path


def read_results(where: Path) -> dict[str, Any]:
    """The results in a folder or file."""
    path = where / "results.json" if where.is_dir() else where
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadDataError(
            f"no readable results: {error}", where=str(path), hint="Run the experiment first."
        ) from error
    if not isinstance(results, dict) or results.get("format") != FORMAT:
        raise BadDataError(
            "not results of this version of textcat", where=str(path), hint="Run the experiment again."
        )
    return results
