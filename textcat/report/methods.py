"""The page that leads from the papers' equations and algorithms to the code: `python -m textcat.report.methods`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from textcat.yaml_reader import read_packaged_yaml

PACKAGES_WITH_EQUATIONS = ("linear", "learners")
PAGE_HEAD = """# From equations to code

Each equation and algorithm of the papers, and the functions that carry it out. Each header of a module says the
problem that it solves, its inputs and its outputs. This page is made from the files `equations.yaml` of the rooms.
"""


def load_equations() -> dict[str, dict[str, list[str]]]:
    """Paper -> equation -> full names of functions."""
    found: dict[str, dict[str, list[str]]] = {}
    for room in PACKAGES_WITH_EQUATIONS:
        for paper, entries in read_packaged_yaml(f"{room}/equations.yaml").items():
            for equation, places in entries.items():
                names = [f"textcat.{room}.{place}" for place in places]
                found.setdefault(paper, {}).setdefault(equation, []).extend(names)
    return found


def make_methods_page() -> str:
    """The page as Markdown."""
    return "\n".join([PAGE_HEAD, *_format_sections()])


def _format_sections() -> Iterator[str]:
    for paper, entries in load_equations().items():
        yield f"## {paper}\n\n| equation or algorithm | where |\n|---|---|"
        for equation, names in entries.items():
            yield f"| {equation} | {', '.join(f'`{name}`' for name in names)} |"
        yield ""


if __name__ == "__main__":
    sys.stdout.write(make_methods_page())
