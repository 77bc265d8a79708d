"""docs/dev/methods.md is up to date, and every function that it names exists."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.documents.methods_page import load_equations, make_methods_page
from tests.loops import for_each

NAMES = sorted(
    {name for entries in load_equations().values() for names in entries.values() for name in names}
)


@for_each("name", NAMES)
def test_every_function_exists(name: str) -> None:
    module, _, member = name.partition(":")
    assert hasattr(import_module(module), member), f"{module} has no {member}: correct the equation's row"


def test_the_page_is_generated_from_the_tables() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "dev" / "methods.md"
    assert page.read_text() == make_methods_page(), (
        "python -m tests.documents.methods_page > docs/dev/methods.md"
    )
