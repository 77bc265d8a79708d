"""Which measured numbers a claim is about: named by experiment, run and measure, looked up in the results."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

Several = str | tuple[str, ...]


class Strict(BaseModel):
    """A part of claims.yaml: no other keys than it knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Place:
    """Where a number stands in the results."""

    experiment: str
    run: str
    measure: str


class Selection(Strict):
    """Numbers by experiment, run and measure, each one name or a list; lists multiply, in the order written.

    With `minus`, the same run's other measure is subtracted from each.
    """

    experiment: Several
    run: Several
    measure: Several
    minus: str | None = None

    def places(self) -> list[Place]:
        """Every number that is needed, without those to subtract."""
        names = (_listed(self.experiment), _listed(self.run), _listed(self.measure))
        return [Place(*combination) for combination in itertools.product(*names)]

    def values(self, number: Callable[[Place], float]) -> list[float]:
        """The numbers in order; `number` looks one up."""
        found = [number(place) for place in self.places()]
        if self.minus is None:
            return found
        others = [number(place) for place in self.subtracted()]
        return [value - other for value, other in zip(found, others, strict=True)]

    def subtracted(self) -> list[Place]:
        """The numbers to subtract, one for each of `places`; none without `minus`."""
        if self.minus is None:
            return []
        return [Place(place.experiment, place.run, self.minus) for place in self.places()]


Lookup = Callable[[Place], float]


def _listed(names: Several) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names
