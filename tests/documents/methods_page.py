"""Print docs/dev/methods.md, the page from equations to code: python -m tests.documents.methods_page."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from textcat.yaml_reader import read_packaged_yaml

PACKAGES_WITH_EQUATIONS = ("linear", "learners")
METHODS_HEAD = """# From equations to code

Each equation and algorithm of the papers, with the functions that implement it. The docstring of each module states
the problem that it solves, its inputs and its outputs. `python -m tests.documents.methods_page` generates this page
from the `equations.yaml` files of the packages.
"""


def load_equations() -> dict[str, dict[str, list[str]]]:
    """Map papers and their equations to full names of functions."""
    found: dict[str, dict[str, list[str]]] = {}
    for package in PACKAGES_WITH_EQUATIONS:
        for paper, entries in read_packaged_yaml(f"{package}/equations.yaml").items():
            for equation, members in entries.items():
                names = [f"textcat.{package}.{member}" for member in members]
                found.setdefault(paper, {}).setdefault(equation, []).extend(names)
    return found


def make_methods_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([METHODS_HEAD, *_format_equations()])


def _format_equations() -> Iterator[str]:
    for paper, entries in load_equations().items():
        yield f"## {paper}\n"
        for equation, names in entries.items():
            yield f"- {equation}: {', '.join(f'`{name}`' for name in names)}"
        yield ""


if __name__ == "__main__":
    sys.stdout.write(make_methods_page())
