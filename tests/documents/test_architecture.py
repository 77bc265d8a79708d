"""The lists of docs/dev/architecture.md name files and packages that exist, and every package."""

from __future__ import annotations

import re

from tests.conftest import PROJECT
from tests.loops import for_each

PAGE = (PROJECT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")
PATHS = re.findall(r"`((?:textcat|benchmarks)/[\w./]*)`", PAGE)
QUESTIONS = re.findall(r"^- (.+): `(textcat/\S+)`$", PAGE[PAGE.index("## Where do I change") :], re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_twenty_questions_are_answered() -> None:
    assert len(QUESTIONS) >= 20
    assert len({question for question, _ in QUESTIONS}) == len(QUESTIONS)


@for_each("path", PATHS)
def test_path_exists(path: str) -> None:
    assert (PROJECT / path).exists()
    assert (PROJECT / path).is_dir() == path.endswith("/")


def test_every_package_is_described() -> None:
    packages = {f"textcat/{path.parent.name}/" for path in (PROJECT / "textcat").glob("*/__init__.py")}
    assert packages - set(PATHS) == set()


@for_each("page", [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))])
def test_links_lead_to_files(page) -> None:
    targets = [
        target for target in LINK.findall(page.read_text(encoding="utf-8")) if not target.startswith("http")
    ]
    assert [target for target in targets if not (page.parent / target).exists()] == []
