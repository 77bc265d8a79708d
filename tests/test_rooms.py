"""Data flows one way: no room imports from a room after it in the flow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "textcat"
# Each room with the rooms that it may know; `errors`, `compile`, `plugins` and itself it always may.
FOUNDATION = {
    "corpora",
    "text",
    "selection",
    "linear",
    "learners",
    "thresholds",
    "evaluation",
    "published",
    "store",
    "workers",
}
MAY_KNOW = {
    "plugins": set(),
    "store": set(),
    "workers": set(),
    "corpora": set(),
    "text": {"workers"},
    "selection": {"text"},
    "linear": {"workers"},
    "learners": {"linear"},
    "thresholds": set(),
    "evaluation": {"thresholds"},
    "published": {"evaluation"},
    "experiment": FOUNDATION,
    "serving": FOUNDATION | {"experiment"},
    "report": FOUNDATION | {"experiment"},
    "bench": FOUNDATION | {"experiment", "serving"},
    "sklearn": FOUNDATION,
}


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("textcat."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("textcat."))


@pytest.mark.parametrize("room", sorted(MAY_KNOW))
def test_a_room_knows_only_the_rooms_before_it(room: str) -> None:
    known = MAY_KNOW[room] | {"errors", "compile", "plugins", room}
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in (PACKAGE / room).rglob("*.py")
        for name in imports_of(path)
        if name not in known
    }
    assert not found
