"""The outcomes of the attacks: kept as data, and shown in docs/dev/faults.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from tests.conftest import PROJECT

OUTCOMES = Path(__file__).with_name("outcomes.yaml")
PAGE = PROJECT / "docs" / "dev" / "faults.md"
BEGIN = "<!-- Written by `python -m tests.faults --write`. -->\n"
END = "<!-- end -->"


@dataclass(frozen=True)
class Outcome:
    """How often an attack was tried and survived."""

    attack: str
    what: str
    tries: int
    survived: int

    @property
    def mismatches(self) -> int:
        """The number of tries that were not survived."""
        return self.tries - self.survived


def format_table(outcomes: Iterable[Outcome]) -> str:
    """Return the outcomes as a table in Markdown."""
    lines = ["| attack | | tries | survived | mismatches |", "|---|---|---|---|---|"]
    for each in outcomes:
        lines.append(f"| {each.attack} | {each.what} | {each.tries} | {each.survived} | {each.mismatches} |")
    return "\n".join(lines)


def read_outcomes() -> list[Outcome]:
    """Return the kept outcomes."""
    return [Outcome(**each) for each in yaml.safe_load(OUTCOMES.read_text())] if OUTCOMES.exists() else []


def write_outcomes(outcomes: list[Outcome]) -> None:
    """Keep the outcomes and show them in the page."""
    OUTCOMES.write_text(yaml.safe_dump([asdict(each) for each in outcomes], sort_keys=False, width=200))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{format_table(outcomes)}\n{END}{after}", encoding="utf-8")
