"""The lock file of continuous integration: everything pinned, hashed, and from no named place."""

from __future__ import annotations

import re
import tomllib

from tests.conftest import PROJECT

LOCK = (PROJECT / ".ci" / "requirements.txt").read_text(encoding="utf-8")
ENTRIES = re.split(r"\n(?=\S)", LOCK.strip())


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return found[0].lower().replace("_", "-")


def test_every_entry_is_pinned_and_hashed() -> None:
    for entry in ENTRIES:
        assert re.match(r"[a-z0-9.-]+(\[[a-z,]+\])?==\S+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_no_place_is_named() -> None:
    assert "://" not in LOCK
    assert "index" not in LOCK


def test_all_dependencies_are_locked() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in ("test", "lint"):
        wanted += project["optional-dependencies"][extra]
    assert {_name(each) for each in wanted} <= {_name(each) for each in ENTRIES}
