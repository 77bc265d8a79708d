"""What the papers conclude, each conclusion with tests that a program can carry out on results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from textcat.errors import UsageError
from textcat.published.check import MeasuresByExperiment
from textcat.published.claim_tests import ClaimTest, NumberSelection, ResultPlace
from textcat.published.printed_tables import PAPERS
from textcat.yaml_reader import parse_yaml, read_packaged_yaml

ClaimOutcome = Literal["holds", "fails", "not run"]


class Claim(BaseModel):
    """One conclusion in our words; it holds when all its tests do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    statement: str
    where: str
    tests: tuple[ClaimTest, ...]
    cannot_run: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Evidence:
    """One number that a claim rests on; None where there is none."""

    experiment: str
    run: str
    measure: str
    value: float | None


@dataclass(frozen=True)
class ClaimResult:
    """The outcome of a claim, one line of figures a test, and every number looked at."""

    claim: Claim
    outcome: ClaimOutcome
    figures: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def describe(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "statement": self.claim.statement,
            "where": self.claim.where,
            "outcome": self.outcome,
            "figures": list(self.figures),
            "evidence": [asdict(entry) for entry in self.evidence],
            "cannot_run": self.claim.cannot_run if self.outcome == "not run" else None,
            "note": self.claim.note,
        }


class _MissingNumberError(Exception):
    """A test asked for a number that no result has."""


@cache
def load_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the papers."""
    return _validate_claims(read_packaged_yaml("published/claims.yaml"), "claims.yaml")


def parse_claims(text: str, name: str) -> tuple[Claim, ...]:
    """Claims from YAML text; `name` stands in messages."""
    return _validate_claims(parse_yaml(text, name).data, name)


def evaluate_claim(claim: Claim, results: MeasuresByExperiment) -> ClaimResult:
    """Test one claim; a missing or undefined number makes it `not run`, unless another test already fails."""
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
            figures.append("not run")
        else:
            outcomes.append("holds" if answer.holds else "fails")
            figures.append(answer.figures)
    evidence = tuple(Evidence(place.experiment, place.run, place.measure, seen[place]) for place in seen)
    return ClaimResult(claim, _combine_outcomes(outcomes), tuple(figures), evidence)


def evaluate_claims(claims: Sequence[Claim], results: MeasuresByExperiment) -> list[ClaimResult]:
    """Test every claim."""
    return [evaluate_claim(claim, results) for claim in claims]


def list_places(claim: Claim) -> list[ResultPlace]:
    """Every number that a claim looks at, subtracted ones too, in the order of its tests."""
    places: dict[ResultPlace, None] = {}
    for test in claim.tests:
        for selection in vars(test).values():
            if isinstance(selection, NumberSelection):
                places.update(dict.fromkeys([*selection.places(), *selection.list_subtracted_places()]))
    return list(places)


def list_claim_experiments(claim: Claim) -> list[str]:
    """The experiments whose results a claim needs."""
    return list(dict.fromkeys(place.experiment for place in list_places(claim)))


def _combine_outcomes(outcomes: Sequence[ClaimOutcome]) -> ClaimOutcome:
    if "fails" in outcomes:
        return "fails"
    return "not run" if "not run" in outcomes else "holds"


def _validate_claims(contents: object, name: str) -> tuple[Claim, ...]:
    try:
        claims = _claims_adapter().validate_python(contents)
    except ValidationError as problem:
        raise UsageError(
            f"does not fit the format of claims: {problem}",
            where=name,
            hint="Mend it as textcat/published/README.md describes.",
        ) from problem
    for claim in claims:
        if claim.paper not in PAPERS or not claim.id.startswith(f"{claim.paper}."):
            raise UsageError(
                f"claim '{claim.id}' does not begin with the key of its paper",
                where=name,
                hint="Begin its id with the paper's key and a dot.",
            )
        if not claim.tests:
            raise UsageError(
                f"claim '{claim.id}' has no test", where=name, hint="Add one of the tests of claim_tests.py."
            )
    if len({claim.id for claim in claims}) != len(claims):
        raise UsageError("two claims have the same id", where=name, hint="Give each claim an id of its own.")
    return claims


@cache
def _claims_adapter() -> TypeAdapter[tuple[Claim, ...]]:
    return TypeAdapter(tuple[Claim, ...])
