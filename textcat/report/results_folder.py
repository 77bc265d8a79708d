"""Check that results/EXPERIMENT/ is complete: its manifest of file hashes is written last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from textcat.store.files import hash_file, write_atomically

MANIFEST = "manifest.json"
# Other files in the folder are the user's and are left alone.
FILES = ("results.json", "timings.json", "table.md", "table.csv", "table.tex", "report.html")


def find_damage(folder: Path, results: str) -> str:
    """Return what is wrong with the report of these results, or an empty text."""
    try:
        expected = dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"])
        found = {path.relative_to(folder).as_posix(): hash_file(path) for path in report_files(folder)}
        same = (folder / "results.json").read_bytes() == results.encode()
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "its manifest or a file cannot be read"
    for name in sorted({*FILES, *expected, *found}):
        if name not in found:
            return f"{name} is missing"
        if expected.get(name) != found[name]:
            return f"{name} has changed or does not belong to it"
    return "" if same else "results.json holds other results"


def seal(folder: Path) -> None:
    """Write the manifest, after all other files of the report."""
    files = {path.relative_to(folder).as_posix(): hash_file(path) for path in report_files(folder)}
    write_atomically(folder / MANIFEST, json.dumps({"files": files}, indent=1, sort_keys=True) + "\n")


def sweep(folder: Path) -> None:
    """Delete temporary files of killed writers; the caller holds the lock of the folder."""
    for path in unfinished_files(folder):
        path.unlink(missing_ok=True)


def report_files(folder: Path) -> Iterator[Path]:
    """Yield the existing files of the report, its figures, and unfinished files."""
    yield from (folder / name for name in FILES if (folder / name).is_file())
    yield from figures_in(folder / "figures")
    yield from unfinished_files(folder)


def figures_in(folder: Path) -> list[Path]:
    """Return the SVG and PNG files in a folder of figures."""
    return sorted(path for path in [*folder.glob("*.svg"), *folder.glob("*.png")] if _is_written(path))


def unfinished_files(folder: Path) -> list[Path]:
    """Return the temporary files of writers that were killed."""
    return sorted([*folder.glob(".*.part"), *folder.glob("figures/.*.part")])


def _is_written(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")
