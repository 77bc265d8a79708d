"""Check that results/EXPERIMENT/ is complete: its manifest of file hashes is written last."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from textcat.experiment.run.results_file import RESULTS_FILE, TIMINGS_FILE, encode_results, merge_timings
from textcat.store.files import hash_file, hold_lock, write_atomically

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"
# Other files in the folder are the user's and are left alone.
FILES = (RESULTS_FILE, TIMINGS_FILE, "table.md", "table.csv", "table.tex", "report.html")


def write_results_folder(
    folder: Path,
    results: Mapping[str, Any],
    timings: Mapping[str, Any],
    write_report: Callable[[Path, Mapping[str, float]], None],
    *,
    rebuild: bool = False,
) -> None:
    """Bring a results folder up to date: the report, timings.json, results.json and the manifest, in this order.

    Nothing is written if the folder is complete and holds the same results, unless `rebuild` is set.
    `write_report` receives the folder and the seconds of each stage.
    """
    content = encode_results(results)
    with hold_lock(folder, folder=True):
        damage = find_damage(folder, content)
        if not rebuild and not damage:
            return
        log.info("writing %s%s", folder, f": {damage}" if damage else "")
        remove_unfinished_files(folder)
        merged = merge_timings(folder, timings)
        write_report(folder, merged["stages"])
        write_atomically(folder / TIMINGS_FILE, json.dumps(merged, indent=1, sort_keys=True) + "\n")
        write_atomically(folder / RESULTS_FILE, content)
        write_report_manifest(folder)


def find_damage(folder: Path, results: str) -> str:
    """Return what is wrong with the report of these results, or an empty text."""
    try:
        expected = dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"])
        found = {path.relative_to(folder).as_posix(): hash_file(path) for path in list_report_files(folder)}
        same = (folder / RESULTS_FILE).read_bytes() == results.encode()
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "its manifest or a file cannot be read"
    for name in sorted({*FILES, *expected, *found}):
        if name not in found:
            return f"{name} is missing"
        if expected.get(name) != found[name]:
            return f"{name} has changed or does not belong to it"
    return "" if same else f"{RESULTS_FILE} holds other results"


def write_report_manifest(folder: Path) -> None:
    """Write the manifest, after all other files of the report."""
    files = {path.relative_to(folder).as_posix(): hash_file(path) for path in list_report_files(folder)}
    write_atomically(folder / MANIFEST, json.dumps({"files": files}, indent=1, sort_keys=True) + "\n")


def remove_unfinished_files(folder: Path) -> None:
    """Delete temporary files of killed writers; the caller holds the lock of the folder."""
    for path in list_unfinished_files(folder):
        path.unlink(missing_ok=True)


def list_report_files(folder: Path) -> Iterator[Path]:
    """Yield the existing files of the report, its figures, and unfinished files."""
    yield from (folder / name for name in FILES if (folder / name).is_file())
    yield from list_figures(folder / "figures")
    yield from list_unfinished_files(folder)


def list_figures(folder: Path) -> list[Path]:
    """Return the SVG and PNG files in a folder of figures."""
    return sorted(path for path in [*folder.glob("*.svg"), *folder.glob("*.png")] if _is_written(path))


def list_unfinished_files(folder: Path) -> list[Path]:
    """Return the temporary files of writers that were killed."""
    return sorted([*folder.glob(".*.part"), *folder.glob("figures/.*.part")])


def _is_written(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")
