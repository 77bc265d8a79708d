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
    assert (PROJECT / path).exists(), f"docs/dev/architecture.md names {path}, which does not exist"
    assert (PROJECT / path).is_dir() == path.endswith("/"), f"{path} is a folder without /, or a file with it"


def test_every_package_is_described() -> None:
    packages = {f"textcat/{path.parent.name}/" for path in (PROJECT / "textcat").glob("*/__init__.py")}
    assert packages - set(PATHS) == set(), "describe these packages in docs/dev/architecture.md"


@for_each("page", [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))])
def test_links_lead_to_files(page) -> None:
    targets = [
        target for target in LINK.findall(page.read_text(encoding="utf-8")) if not target.startswith("http")
    ]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_page_on_adding_names_each_command_that_makes_a_file() -> None:
    page = (PROJECT / "docs" / "dev" / "adding.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| `([^`]+)` \| (?:`(tests/[^`]+)`|[^`|]+) \|$", page, re.MULTILINE)
    commands = {command for command, _ in rows}
    named = {
        command
        for path in (PROJECT / "tests").rglob("*.py")
        for command in re.findall(
            r"(?:python -m|textcat show) [-\w.]+ > [\w./]+\w", path.read_text(encoding="utf-8")
        )
    }
    assert len(named) >= 4
    assert named - commands == set(), "add the commands that tests ask for to docs/dev/adding.md"
    assert [test for _, test in rows if test and not (PROJECT / test).is_file()] == []


def test_the_readme_is_light_on_numbers() -> None:
    """No paragraph has more than three numbers; tables and examples show the others."""
    text = re.sub(r"```.*?```", "", (PROJECT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    paragraphs = [part for part in text.split("\n\n") if not part.strip().startswith(("|", "!"))]
    heavy = [part for part in paragraphs if len(re.findall(r"(?<![\w-])\d[\d.,]*", part)) > 3]
    assert heavy == []
