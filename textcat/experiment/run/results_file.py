"""Encode and read results.json and timings.json.

results.json holds the measures of categories as columns, one line per measure, in the order of
`corpus.categories_in_order`, and certificates likewise. Numbers have ten significant digits. When read, every
measure gets its dotted name back. Seconds differ from run to run; timings.json holds them.

With many categories results are compact: columns that follow from counts are left out, and certificates are
summarized; the model's description has the whole certificates.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textcat.errors import BadDataError
from textcat.evaluation import measures
from textcat.evaluation.measures import ContingencyTable, ZeroDivision
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.run.results_schema import load_results, load_timings
from textcat.experiment.run.runner import Timings
from textcat.store.arrays import read_json

log = logging.getLogger(__name__)


# Results with more categories than this are shortened.
MANY_CATEGORIES = 1000
DERIVED_COLUMNS = ("tn", "precision", "recall", "f1", "errors", "error_rate")
_COUNTS = ("tp", "fp", "fn")


def drop_derived_columns(columns: Mapping[str, list[Any]], documents: int) -> dict[str, list[Any]]:
    """Remove the columns that `restore_derived_columns` computes from the counts of all test documents."""
    counts = [columns.get(name) or [None] for name in (*_COUNTS, "tn")]
    if any(None in each for each in counts) or set(map(sum, zip(*counts, strict=True))) != {documents}:
        return dict(columns)
    return {name: values for name, values in columns.items() if name not in DERIVED_COLUMNS}


def restore_derived_columns(
    columns: Mapping[str, list[Any]], documents: int, zero_division: ZeroDivision
) -> dict[str, list[Any]]:
    """Add the columns that follow from the counts of `documents` test documents, if they were left out."""
    if not all(name in columns for name in _COUNTS) or any(name in columns for name in DERIVED_COLUMNS):
        return dict(columns)
    tp, fp, fn = (np.asarray(columns[name], dtype=np.int64) for name in _COUNTS)
    table = ContingencyTable(tp, fp, fn, documents - tp - fp - fn)
    derived = {
        "tn": table.tn,
        "precision": measures.precision(table, zero_division),
        "recall": measures.recall(table, zero_division),
        "f1": measures.f1(table, zero_division),
        "errors": table.errors,
        "error_rate": measures.error_rate(table),
    }
    return {**columns, **{name: values.tolist() for name, values in derived.items()}}


def summarize_certificates(certificates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return for each field the mean and largest number, or how often each text occurs."""
    summary: dict[str, Any] = {}
    for name in certificates[0] if certificates else ():
        values = [entry[name] for entry in certificates if entry[name] is not None]
        if values and all(isinstance(value, str) for value in values):
            summary[name] = dict(sorted(Counter(values).items()))
        elif values:
            numbers = np.asarray(values, dtype=np.float64)
            summary[name] = {"mean": float(numbers.mean()), "max": float(numbers.max())}
    return summary


RESULTS_FILE = "results.json"
TIMINGS_FILE = "timings.json"
_NUMBER_LIST = re.compile(r"\[\s+((?:-?[\d.eE+-]+|null)(?:,\s+(?:-?[\d.eE+-]+|null))*)\s+\]")


def encode_results(results: Mapping[str, Any]) -> str:
    """Return results as JSON; equal results give equal text."""
    text = json.dumps(_pack(results), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    # Put a list of numbers on one line.
    return _NUMBER_LIST.sub(lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]", text) + "\n"


def read_results(where: Path) -> dict[str, Any]:
    """Read the results in a folder or file, with the seconds of the timings.json beside them."""
    path = where / RESULTS_FILE if where.is_dir() else where
    try:
        results = _unpack(load_results(path))
    except (OSError, ValueError) as error:
        raise BadDataError(
            f"not readable as results: {error}",
            where=str(path),
            hint="Run the experiment again; `textcat run EXPERIMENT` rebuilds the whole folder.",
        ) from error
    return add_timings(results, read_timings(path.parent / TIMINGS_FILE))


def get_run_measures(results: Mapping[str, Any]) -> dict[str, Mapping[str, float | None]]:
    """Return the measures of each run, of each comparison and of the collection, by name."""
    return {name: run["measures"] for name, run in (results["runs"] | results["beside"]).items()}


def add_timings(results: Mapping[str, Any], timings: Mapping[str, Any]) -> dict[str, Any]:
    """Return results with the measures in seconds added to those of each run."""
    seconds: dict[str, Any] = timings.get("runs", {})
    beside = {name: {"measures": {}} for name in seconds if name not in results["runs"]} | results["beside"]
    return {
        **results,
        "runs": {name: _add_measures(run, seconds.get(name, {})) for name, run in results["runs"].items()},
        "beside": {name: _add_measures(part, seconds.get(name, {})) for name, part in beside.items()},
    }


def _add_measures(part: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {**part, "measures": {**part["measures"], **more}}


def read_timings(path: Path, *, warn: bool = True) -> dict[str, Any]:
    """Return what timings.json holds, or {} where it is missing; warn of a damaged one and ignore it."""
    if not path.exists():
        return {}
    try:
        return load_timings(path)
    except (OSError, ValueError) as error:
        if warn:
            log.warning("%s: ignored, not readable as timings: %s\n"
                        "`textcat run EXPERIMENT` writes the file again.", path, error)  # fmt: skip
        return {}


def _pack(results: Mapping[str, Any]) -> dict[str, Any]:
    categories = list(results["corpus"]["train_counts"])
    packed: dict[str, Any] = json.loads(json.dumps(results))
    packed["corpus"]["categories_in_order"] = categories
    for run in packed["runs"].values():
        run["by_category"], run["measures"] = _as_columns(run["measures"], categories)
        if len(categories) > MANY_CATEGORIES:
            _shorten_run(run, packed["corpus"]["test_documents"])
            continue
        run["certificates"] = {
            name: [_shorten_number(entry[name]) for entry in run["certificates"]]
            for name in (run["certificates"][0] if run["certificates"] else {})
        }
    for part in packed["beside"].values():
        part["measures"] = {name: _shorten_number(value) for name, value in part["measures"].items()}
    return packed


def _shorten_run(run: dict[str, Any], documents: int) -> None:
    """Remove from a run with many categories what can be computed again, and most of the certificates."""
    run["by_category"] = drop_derived_columns(run["by_category"], documents)
    if run["certificates"]:
        summary = summarize_certificates(run["certificates"])
        run["certificate_summary"] = {
            name: {key: _shorten_number(value) for key, value in part.items()}
            for name, part in summary.items()
        }
    run["certificates"] = {}


def _as_columns(
    measures: Mapping[str, float | None], categories: list[str]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    columns: dict[str, list[Any]] = {}
    others: dict[str, Any] = {}
    kinds = _list_kinds(measures, categories[0]) if categories else []
    for kind in kinds:
        columns[kind] = [
            _shorten_number(measures.get(f"category.{category}.{kind}")) for category in categories
        ]
    known, in_columns = set(categories), set(kinds)
    for name, value in measures.items():
        category, kind = split_category_measure(name)
        if category not in known or kind not in in_columns:
            others[name] = _shorten_number(value)
    return columns, others


def _list_kinds(measures: Mapping[str, Any], category: str) -> list[str]:
    parts = [split_category_measure(name) for name in measures if name.startswith(f"category.{category}.")]
    return [kind for owner, kind in parts if owner == category]


def split_category_measure(name: str) -> tuple[str, str]:
    """Split `category.CATEGORY.KIND`, also of categories with dots in their names; ("", "") for other measures.

    A kind is one word, followed by `.mean` or `.sd` in experiments with repetitions.
    """
    if not name.startswith("category."):
        return "", ""
    category, _, kind = name.removeprefix("category.").rpartition(".")
    if kind in ("mean", "sd"):
        category, _, measured = category.rpartition(".")
        kind = f"{measured}.{kind}"
    return category, kind


def _unpack(packed: dict[str, Any]) -> dict[str, Any]:
    categories = packed["corpus"].pop("categories_in_order")
    # The keys in the file are sorted; categories have an order of their own.
    counts = packed["corpus"]["train_counts"]
    packed["corpus"]["train_counts"] = {category: counts[category] for category in categories}
    for run in packed["runs"].values():
        columns = run.pop("by_category")
        if len(categories) > MANY_CATEGORIES:
            documents, settings = packed["corpus"]["test_documents"], run["settings"]["evaluation"]
            columns = restore_derived_columns(columns, documents, settings["zero_division"])
        for kind, values in columns.items():
            for category, value in zip(categories, values, strict=True):
                run["measures"][f"category.{category}.{kind}"] = _shorten_number(value)
        columns = run["certificates"]
        run["certificates"] = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    return packed


def _shorten_number(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    shorter = float(f"{value:.10g}")
    return int(shorter) if shorter.is_integer() and abs(shorter) < 1e15 else shorter


def collect_timings(plan: Plan, context: RunContext, timings: Timings) -> dict[str, Any]:
    """Return the seconds of each stage and, as measures of each run, of its training and of how it grows."""
    runs: dict[str, dict[str, float]] = {}
    for chain in plan.chains:
        if chain.repeat == 0:
            folder = chain.trained.build_folder(context)
            runs[chain.run] = _measure_training_seconds(read_json(folder, "model"), plan)
            if (folder / "processor.json").exists():
                seconds = round(read_json(folder, "processor")["seconds"], 4)
                runs[chain.run]["training.processor_seconds"] = seconds
    for name, members in plan.experiment.scalings.items():
        documents = [plan.experiment.runs[member].train_documents or 0 for member in members]
        seconds = [_find_seconds(runs[member]) for member in members]
        exponent = fit_growth_exponent(documents, seconds)
        runs[name] = {"scaling.exponent": round(exponent, 4)} if math.isfinite(exponent) else {}
    stages = {stage: round(seconds, 3) for stage, seconds in timings.seconds.items()}
    return {"stages": stages, "built": dict(timings.built), "runs": runs}


def _find_seconds(measures: Mapping[str, float]) -> float:
    """Return the processor seconds of training, or those of the clock where a model has no others."""
    return measures.get("training.processor_seconds", measures.get("training.seconds", 0.0))


def fit_growth_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of log seconds against log sizes."""
    if min(sizes) <= 0 or min(seconds) <= 0:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _measure_training_seconds(description: Mapping[str, Any], plan: Plan) -> dict[str, float]:
    """Return the training seconds in the certificates; categories trained together share theirs evenly."""
    seconds = [entry.get("seconds") for entry in description.get("certificate", [])]
    known = [float(value) for value in seconds if value is not None]
    if not known:
        return {}
    measures = {"training.seconds": round(sum(known), 4)}
    learned = plan.experiment.corpus.learn or []
    if len(known) == len(learned):
        measures |= {
            f"category.{name}.train_seconds": round(value, 4)
            for name, value in zip(learned, known, strict=True)
        }
    return measures


def merge_timings(folder: Path, timings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of timings.json: stages that built nothing keep the seconds that the folder holds."""
    before = read_timings(folder / TIMINGS_FILE).get("stages", {})
    stages = {
        stage: seconds if timings["built"].get(stage) else before.get(stage, seconds)
        for stage, seconds in timings["stages"].items()
    }
    return {"stages": stages, "runs": timings["runs"]}
