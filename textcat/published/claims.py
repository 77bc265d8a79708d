"""Conclusions of the papers, each with tests that can be evaluated on results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from textcat.errors import UsageError
from textcat.published.check import MeasuresByExperiment
from textcat.published.claim_tests import ClaimTest, NumberSelection, ResultPlace
from textcat.published.printed_tables import PAPERS, validate_contents
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml

ClaimOutcome = Literal["holds", "fails", "not run"]


class Claim(StrictSettings):
    """One conclusion of a paper in our words; it holds when all its tests hold.

    An `identity` follows from definitions and cannot fail if the program is correct; it is not counted.
    """

    id: str
    paper: str
    statement: str
    where: str
    tests: tuple[ClaimTest, ...]
    cannot_run: str | None = None
    note: str | None = None
    identity: bool = False


@dataclass(frozen=True)
class ClaimResult:
    """Outcome of a claim, a sentence with its numbers per test, and every number used (None: not available)."""

    claim: Claim
    outcome: ClaimOutcome
    figures: tuple[str, ...]
    evidence: Mapping[ResultPlace, float | None]

    def describe(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "statement": self.claim.statement,
            "where": self.claim.where,
            "outcome": self.outcome,
            "figures": list(self.figures),
            "evidence": [{**asdict(place), "value": value} for place, value in self.evidence.items()],
            "cannot_run": self.claim.cannot_run if self.outcome == "not run" else None,
            "note": self.claim.note,
            "identity": self.claim.identity,
        }


class _MissingNumberError(Exception):
    """A test needs a number that the results do not contain."""


@cache
def load_claims() -> tuple[Claim, ...]:
    """Load every claim, in the order of the papers."""
    return validate_claims(read_packaged_yaml("published/claims.yaml"), "claims.yaml")


def evaluate_claim(claim: Claim, results: MeasuresByExperiment) -> ClaimResult:
    """Evaluate one claim. A missing or undefined number makes it `not run`, unless another test fails."""
    seen: dict[ResultPlace, float | None] = {}

    def number(place: ResultPlace) -> float:
        value = results.get(place.experiment, {}).get(place.run, {}).get(place.measure)
        defined = value is not None and math.isfinite(value)
        seen[place] = value if defined else None
        if value is None or not defined:
            raise _MissingNumberError
        return float(value)

    outcomes: list[ClaimOutcome] = []
    figures: list[str] = []
    for test in claim.tests:
        try:
            answer = test.answer(number)
        except _MissingNumberError:
            outcomes.append("not run")
            figures.append("Not run.")
        else:
            outcomes.append("holds" if answer.holds else "fails")
            figures.append(answer.sentence)
    worst_first: tuple[ClaimOutcome, ...] = ("fails", "not run", "holds")
    outcome: ClaimOutcome = next((kind for kind in worst_first if kind in outcomes), "holds")
    return ClaimResult(claim, outcome, tuple(dict.fromkeys(figures)), seen)


def count_outcomes(results: Sequence[ClaimResult]) -> dict[str, int]:
    """Count the outcomes of claims that can fail, and those that cannot and hold."""
    counted = [result for result in results if not result.claim.identity]
    outcomes: tuple[ClaimOutcome, ...] = ("holds", "fails", "not run")
    counts = {outcome: sum(result.outcome == outcome for result in counted) for outcome in outcomes}
    return counts | {"cannot fail": sum(r.claim.identity and r.outcome == "holds" for r in results)}


def list_places(claim: Claim) -> list[ResultPlace]:
    """List the address of every number that a claim uses, including subtracted ones, in the order of its tests."""
    selections = [
        value for test in claim.tests for value in vars(test).values() if isinstance(value, NumberSelection)
    ]
    return list(dict.fromkeys(place for selection in selections for place in selection.list_all_places()))


def list_claim_experiments(claim: Claim) -> list[str]:
    """List the experiments whose results a claim needs."""
    return list(dict.fromkeys(place.experiment for place in list_places(claim)))


def validate_claims(contents: object, name: str) -> tuple[Claim, ...]:
    """Return the claims in plain values read from YAML; `name` is the source in error messages."""
    claims: tuple[Claim, ...] = validate_contents(tuple[Claim, ...], contents, "claims", name)
    for claim in claims:
        if claim.paper not in PAPERS or not claim.id.startswith(f"{claim.paper}."):
            raise UsageError(
                f"claim '{claim.id}' does not start with the key of its paper",
                where=name,
                hint="Start the id with the paper's key and a dot.",
            )
        if not claim.tests:
            raise UsageError(
                f"claim '{claim.id}' has no test",
                where=name,
                hint="Add a test; claim_tests.py says what it compares.",
            )
    if len({claim.id for claim in claims}) != len(claims):
        raise UsageError("two claims have the same id", where=name, hint="Give each claim a unique id.")
    return claims
