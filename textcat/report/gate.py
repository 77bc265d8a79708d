"""Read results and judge them against printed and pinned values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from textcat.corpora.cards import list_corpora, name_copy
from textcat.errors import UsageError
from textcat.experiment.run.results_file import (
    LOCAL_FOLDER,
    get_run_intervals,
    get_run_measures,
    read_results,
)
from textcat.published.check import (
    SOURCES_FILE,
    CellVerdict,
    find_cell_intervals,
    find_cell_values,
    find_document_counts,
    judge_cells,
    load_deviations,
    load_pinned,
    load_pinned_sources,
    render_pinned,
)
from textcat.published.printed_tables import load_all_cells
from textcat.store.files import write_atomically

ResultsByExperiment = Mapping[str, Mapping[str, Any]]


def find_results(where: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the results in folders and their subfolders, by experiment; refuse two results of one experiment.

    Results of other copies of a collection, in results/local/, are read only where that folder is named.
    """
    found: dict[str, dict[str, Any]] = {}
    read_from: dict[str, Path] = {}
    paths = {path.resolve(): path for folder in where for path in _find_results_files(folder)}
    for path in paths.values():
        results = read_results(path)
        name = results["experiment"]
        if name in found:
            raise UsageError(
                f"results of {name} are also in {read_from[name]}",
                where=str(path.parent),
                hint="Move one of the two folders away, or name the folder to check.",
            )
        found[name], read_from[name] = results, path.parent
    return found


def _find_results_files(folder: Path) -> Sequence[Path]:
    if folder.is_file():
        return [folder]
    found = sorted(folder.rglob("results.json"))
    paths = [path for path in found if LOCAL_FOLDER not in path.relative_to(folder).parts]
    if found and not paths:
        raise UsageError(
            "contains only results of other copies of a collection than the pinned ones",
            where=str(folder),
            hint=f"Name their folder: {folder / LOCAL_FOLDER}.",
        )
    if not paths:
        raise UsageError(
            "contains no results.json", where=str(folder), hint="Run an experiment first: `textcat run`."
        )
    return paths


def judge_results(results: ResultsByExperiment, *, everything: bool) -> list[CellVerdict]:
    """Judge every published cell, or with `everything` false only the cells of the given experiments.

    Pinned values of results made from other corpus files are ignored.
    """
    published = [cell for cell in load_all_cells() if everything or cell.experiment in results]
    pinned, sources, corpora = load_pinned(), load_pinned_sources(), _get_fingerprints(results)
    for cell in published:
        if cell.experiment in corpora and sources.get(cell.experiment) != corpora[cell.experiment]:
            pinned.pop(cell.id, None)
    measures = _get_measures(results)
    return judge_cells(
        find_cell_values(published, measures),
        published,
        pinned,
        load_deviations(),
        find_document_counts(published, measures),
        find_cell_intervals(published, {name: get_run_intervals(one) for name, one in results.items()}),
    )


def _get_measures(results: ResultsByExperiment) -> dict[str, Mapping[str, Any]]:
    return {name: get_run_measures(one) for name, one in results.items()}


def _get_fingerprints(results: ResultsByExperiment) -> dict[str, str]:
    """Map experiments to the fingerprint of the corpus files of their results."""
    return {name: one["corpus"]["fingerprint"] for name, one in results.items()}


def require_one_copy(results: ResultsByExperiment) -> None:
    """Raise UsageError if results were measured on different copies of one collection."""
    read_from: dict[str, tuple[str, str]] = {}
    for name, one in results.items():
        collection, made = one["corpus"]["name"], one["corpus"]["fingerprint"]
        first, known = read_from.setdefault(collection, (name, made))
        if made != known and collection in list_corpora():
            raise UsageError(
                f"{first} was measured on {name_copy(collection, known)}, "
                f"and {name} on {name_copy(collection, made)}",
                where=collection,
                hint="One matrix is of one copy: run these experiments again, or name another folder with --results.",
            )


def describe_copy(results: Mapping[str, Any]) -> str:
    """Name the copy of the collection that results were measured on, and the pinned one if that is another.

    The text is empty for documents that are no known collection.
    """
    collection, made = results["corpus"]["name"], results["corpus"]["fingerprint"]
    pinned = load_pinned_sources().get(results.get("variant_of") or results["experiment"], made)
    named = list_copies({results["experiment"]: results})
    if named and pinned != made:
        named.append(f"The pinned numbers are those of {name_copy(collection, pinned)}.")
    return " ".join(named)


def list_copies(results: ResultsByExperiment) -> list[str]:
    """Name the copy of each known collection that results were measured on."""
    copies = {(one["corpus"]["name"], one["corpus"]["fingerprint"]) for one in results.values()}
    return [
        f"Copy of {collection}: {name_copy(collection, made)}."
        for collection, made in sorted(copies)
        if collection in list_corpora()
    ]


def find_measured_values(results: ResultsByExperiment) -> dict[str, float | None]:
    """Map cell ids to measured values."""
    return find_cell_values(load_all_cells(), _get_measures(results))


def find_unpinned(results: ResultsByExperiment) -> list[str]:
    """List the printed cells that are measured and have no pinned value, so that drift is not judged."""
    missing = set(_list_printed_cells()) - load_pinned().keys()
    return [
        cell_id
        for cell_id, value in find_measured_values(results).items()
        if value is not None and math.isfinite(value) and cell_id in missing
    ]


def find_changed_sources(results: ResultsByExperiment) -> list[str]:
    """List the experiments whose corpus files differ from those of the pinned values, so that drift is not judged."""
    sources = load_pinned_sources()
    return [name for name, made in _get_fingerprints(results).items() if sources.get(name, made) != made]


def _list_printed_cells() -> list[str]:
    """Return the cells for which the papers print a number; only these are pinned."""
    return [cell.id for cell in load_all_cells() if cell.printed is not None]


def explain_unchecked(results: ResultsByExperiment, variants: Iterable[str]) -> list[str]:
    """Say of each experiment without pinned numbers to compare with that its drift is not checked."""
    copies = [
        f"{name}: drift is not checked: the corpus files differ from those of the pinned values. "
        f"{describe_copy(results[name])}".rstrip()
        for name in find_changed_sources(results)
    ]
    return copies + [
        f"{name}: drift is not checked: a variant of {results[name]['variant_of']} is compared with print only"
        for name in variants
    ]


def pin_values(results: ResultsByExperiment) -> Path:
    """Pin the measured values; cells that were not run keep their pinned values."""
    folder = Path(str(files("textcat.published")))
    printed = _list_printed_cells()
    measured = load_pinned() | {k: v for k, v in find_measured_values(results).items() if v is not None}
    write_atomically(folder / "pinned.yaml", render_pinned(measured, printed))
    write_atomically(
        folder / SOURCES_FILE, yaml.safe_dump(load_pinned_sources() | _get_fingerprints(results))
    )
    return folder / "pinned.yaml"
