"""Write and read a results folder: results.json, timings.json, and a manifest of file hashes, which is written last.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textcat.errors import BadDataError
from textcat.evaluation import measures
from textcat.evaluation.intervals import Interval
from textcat.evaluation.measures import ContingencyTable, ZeroDivision
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.run.results_schema import PackedResults, PackedTimings, load_checked
from textcat.experiment.run.runner import Timings
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.fetch import find_documents
from textcat.published.check import load_pinned_sources
from textcat.store.arrays import read_json
from textcat.store.files import hash_file, hold_lock, parse_json, write_atomically

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
MANIFEST = "manifest.json"
# Other files in the folder are the user's and are left alone.
FILES = (RESULTS_FILE, TIMINGS_FILE, "table.md", "table.csv", "table.tex", "report.html")
# The folder below results/ for numbers of another copy of a collection than the one that is pinned; not in git.
LOCAL_FOLDER = "local"
_NUMBER_LIST = re.compile(r"\[\s+((?:-?[\d.eE+-]+|null)(?:,\s+(?:-?[\d.eE+-]+|null))*)\s+\]")


def locate_results(experiment: Experiment, context: RunContext) -> Path:
    """Return the folder of an experiment's results: below local/ if another copy than the pinned one is here."""
    pinned = load_pinned_sources().get(experiment.name)
    source = find_documents(experiment, context) if pinned else None
    other = source is not None and source.fingerprint != pinned
    return context.results / (LOCAL_FOLDER if other else "") / experiment.name


def encode_results(results: Mapping[str, Any]) -> str:
    """Return results as JSON; equal results give equal text."""
    text = json.dumps(_pack(results), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    # Put a list of numbers on one line.
    return _NUMBER_LIST.sub(lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]", text) + "\n"


def read_results(where: Path) -> dict[str, Any]:
    """Read the results in a folder or file, with the seconds from the timings.json next to them."""
    path = where / RESULTS_FILE if where.is_dir() else where
    try:
        results = _unpack(load_checked(path, PackedResults))
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


def get_run_intervals(results: Mapping[str, Any]) -> dict[str, Mapping[str, Interval]]:
    """Return the intervals of each run by measure; none for results that were written without them."""
    return {name: run.get("intervals", {}) for name, run in results["runs"].items()}


def add_timings(results: Mapping[str, Any], timings: Mapping[str, Any]) -> dict[str, Any]:
    """Return results in which each run also has its measures in seconds."""
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
    """Return the contents of timings.json, or {} if it is missing; ignore a damaged one with a warning."""
    if not path.exists():
        return {}
    try:
        return load_checked(path, PackedTimings)
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
        if packed["corpus"]["categories"] > MANY_CATEGORIES:
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
    """Remove what can be computed again from a run with many categories, and summarize its certificates."""
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
    parts = {name: split_category_measure(name) for name in measures}
    # Every category has the measures of the first.
    kinds = [kind for category, kind in parts.values() if kind and category == next(iter(categories), None)]
    columns = {
        kind: [_shorten_number(measures.get(f"category.{category}.{kind}")) for category in categories]
        for kind in kinds
    }
    known, in_columns = set(categories), set(kinds)
    others = {
        name: _shorten_number(measures[name])
        for name, (category, kind) in parts.items()
        if category not in known or kind not in in_columns
    }
    return columns, others


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
    # The file has sorted keys, but categories have another order.
    counts = packed["corpus"]["train_counts"]
    packed["corpus"]["train_counts"] = {category: counts[category] for category in categories}
    for run in packed["runs"].values():
        columns = run.pop("by_category")
        if packed["corpus"]["categories"] > MANY_CATEGORIES:
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
    """Return the seconds of each stage, and as measures of runs the seconds of training and its growth exponents."""
    runs: dict[str, dict[str, float]] = {}
    for chain in plan.chains:
        if chain.repeat == 0:
            folder = chain.trained.read_folder(context)
            runs[chain.run] = _measure_training_seconds(read_json(folder, "model"), plan)
            if (folder / "processor.json").exists():
                seconds = round(read_json(folder, "processor")["seconds"], 4)
                runs[chain.run]["training.processor_seconds"] = seconds
    for name, members in plan.experiment.scalings.items():
        documents = [plan.experiment.runs[member].train_documents or 0 for member in members]
        # Processor seconds, or wall-clock seconds if a model has no others.
        seconds = [
            runs[member].get("training.processor_seconds", runs[member].get("training.seconds", 0.0))
            for member in members
        ]
        exponent = fit_growth_exponent(documents, seconds)
        runs[name] = {"scaling.exponent": round(exponent, 4)} if math.isfinite(exponent) else {}
    stages = {stage: round(seconds, 3) for stage, seconds in timings.seconds.items()}
    return {"stages": stages, "built": dict(timings.built), "runs": runs}


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
    """Return the contents of timings.json; a fetch that downloaded nothing keeps the seconds that the folder holds.

    Artifacts know how long they took to build; collections on disk do not.
    """
    stages = dict(timings["stages"])
    if "fetch" in stages and not timings["built"].get("fetch"):
        before = read_timings(folder / TIMINGS_FILE).get("stages", {})
        stages["fetch"] = before.get("fetch", stages["fetch"])
    return {"stages": stages, "runs": timings["runs"]}


def write_results_folder(
    folder: Path,
    results: Mapping[str, Any],
    timings: Mapping[str, Any],
    write_report: Callable[[Path, Mapping[str, float]], None],
    *,
    report_code: str = "",
    rebuild: bool = False,
) -> None:
    """Bring a results folder up to date: the report, timings.json, results.json and the manifest, in this order.

    Nothing is written if the folder is complete and holds the same results, in a report that the same `report_code`
    (a hash) wrote, unless `rebuild` is set. `write_report` receives the folder and the seconds of each stage.
    """
    content = encode_results(results)
    with hold_lock(folder, folder=True):
        damage = find_damage(folder, content, report_code)
        if not rebuild and not damage:
            return
        log.info("writing %s%s", folder, f": {damage}" if damage else "")
        for path in list_unfinished_files(folder):
            path.unlink(missing_ok=True)
        merged = merge_timings(folder, timings)
        write_report(folder, merged["stages"])
        write_atomically(folder / TIMINGS_FILE, json.dumps(merged, indent=1, sort_keys=True) + "\n")
        write_atomically(folder / RESULTS_FILE, content)
        files = {path.relative_to(folder).as_posix(): hash_file(path) for path in list_report_files(folder)}
        manifest = {"files": files, "report_code": report_code}
        write_atomically(folder / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def find_damage(folder: Path, results: str, report_code: str = "") -> str:
    """Return what is wrong with the report of these results, or an empty text."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        expected, written_by = dict(manifest["files"]), manifest.get("report_code")
        found = {path.relative_to(folder).as_posix(): hash_file(path) for path in list_report_files(folder)}
        same = (folder / RESULTS_FILE).read_bytes() == results.encode()
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "its manifest or a file cannot be read"
    for name in sorted({*FILES, *expected, *found}):
        if name not in found:
            return f"{name} is missing"
        if expected.get(name) != found[name]:
            return f"{name} has changed or does not belong to it"
    if not same:
        return f"{RESULTS_FILE} holds other results"
    return "" if written_by == report_code else "its pages are of another version of textcat"


def is_edited(folder: Path) -> bool:
    """Return whether results.json is not the file that the folder's manifest lists; False without a manifest."""
    try:
        listed = parse_json((folder / MANIFEST).read_text(encoding="utf-8"))["files"][RESULTS_FILE]
        return bool(listed != hash_file(folder / RESULTS_FILE))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def list_report_files(folder: Path) -> Iterator[Path]:
    """Yield the existing files of the report, its figures, and unfinished files."""
    yield from (folder / name for name in FILES if (folder / name).is_file())
    yield from list_figures(folder / "figures")
    yield from list_unfinished_files(folder)


def list_figures(folder: Path) -> list[Path]:
    """Return the SVG and PNG files in a folder of figures."""
    found = [*folder.glob("*.svg"), *folder.glob("*.png")]
    return sorted(path for path in found if path.is_file() and not path.name.startswith("."))


def list_unfinished_files(folder: Path) -> list[Path]:
    """Return the temporary files of writers that were killed."""
    return sorted([*folder.glob(".*.part"), *folder.glob("figures/.*.part")])
