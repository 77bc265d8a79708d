"""Imports go one way: no package imports from a package after it in the data flow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.loops import for_each

PACKAGE = Path(__file__).resolve().parent.parent / "textcat"
BASE = {"errors", "compile", "yaml_reader", "extensions", "settings", "splits", "matrices"}
# Each package with the packages that it imports; modules of BASE may be imported by all.
LEARNING = {"linear", "selection", "text", "learners", "thresholds", "evaluation"}
ALLOWED = {
    "store": set(),
    "parallel": set(),
    "corpora": {"store"},
    "text": {"parallel"},
    "selection": set(),
    "linear": {"parallel"},
    "learners": {"linear", "parallel"},
    "thresholds": set(),
    "evaluation": {"thresholds"},
    "published": set(),
    "experiment": LEARNING | {"corpora", "published", "store", "parallel"},
    "serving": {"corpora", "experiment", "learners", "parallel", "store", "text", "thresholds"},
    "report": {"corpora", "evaluation", "experiment", "published", "store"},
    "sklearn": {"learners", "linear", "selection", "serving", "text", "thresholds"},
}


def list_modules(package: str) -> list[Path]:
    folder = PACKAGE / package
    return list(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imported_packages(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("textcat."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("textcat."))


@for_each("package", sorted(ALLOWED))
def test_a_package_imports_what_it_may_and_needs_all_it_may(package: str) -> None:
    found = {name for path in list_modules(package) for name in imported_packages(path)}
    assert found - BASE - {package} == ALLOWED[package]
