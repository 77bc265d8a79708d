"""A paper's printed numbers as evidence on how it answered its open questions.

The loss of a number is its distance from print beyond rounding, in units of the tolerance of its kind, and at most 4.
The misfit of a reading is the mean loss within each table, then over tables. How sure it is that one reading fits
better than another is the share of 1,000 resamples of the evidence, drawn within each table, in which it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from textcat.published.check import CellValues, judge_cells
from textcat.published.printed_tables import PublishedCell
from textcat.published.verdicts import find_measure_kind, read_printed

Floats = NDArray[np.float64]

LARGEST_LOSS = 4.0
RESAMPLES = 1000
PERMUTATIONS = 1000
VERDICT_LOSSES = {"reproduced": 0.0, "close": 2.0}


def is_evidence(cell: PublishedCell) -> bool:
    """Return whether a cell holds a printed number of a kind that is judged, which repeats no other one."""
    return cell.counted and not cell.cannot_run and not cell.not_run and find_measure_kind(cell.kind).gated


def compute_losses(cells: Sequence[PublishedCell], values: CellValues) -> Floats:
    """Return the loss of each cell; a number that is missing has the largest one."""
    verdicts = {entry.cell.id: entry.verdict for entry in judge_cells(values, cells, {})}
    return np.array([_compute_loss(cell, values.get(cell.id), verdicts[cell.id]) for cell in cells])


def _compute_loss(cell: PublishedCell, value: float | None, verdict: str) -> float:
    kind = find_measure_kind(cell.kind)
    if value is None or not math.isfinite(value) or cell.printed is None:
        return LARGEST_LOSS
    if kind.rule in ("side", "sign"):  # Two sides have no distance between them.
        return VERDICT_LOSSES.get(verdict, LARGEST_LOSS)
    number = read_printed(cell.printed, cell.unit)
    if kind.rule in ("decades", "ratio"):
        if value <= 0:
            return LARGEST_LOSS
        high, low = number.value + number.half_unit, number.value - number.half_unit
        apart = max(math.log(value / high), math.log(low / value), 0.0)
        # A decade is close, and so are two units.
        unit = math.log(10.0) / 2 if kind.rule == "decades" else math.log(kind.tolerance)
        return min(apart / unit, LARGEST_LOSS)
    distance = max(0.0, abs(value - number.value) - number.half_unit)
    scale = abs(number.value) if kind.rule == "relative" else 1.0
    tolerance = min(max(kind.tolerance * scale, kind.at_least), kind.at_most)
    if tolerance == 0 and distance > 0:
        return VERDICT_LOSSES.get(verdict, LARGEST_LOSS)
    return min(distance / tolerance, LARGEST_LOSS) if distance else 0.0


@dataclass(frozen=True)
class Evidence:
    """Some printed numbers, in a fixed order."""

    cells: tuple[PublishedCell, ...]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the cells."""
        return tuple(cell.id for cell in self.cells)

    def without(self, left_out: Iterable[str]) -> Evidence:
        """Return the evidence without some cells."""
        out = set(left_out)
        return Evidence(tuple(cell for cell in self.cells if cell.id not in out))

    @cached_property
    def weights(self) -> Floats:
        """The weight of each cell in the misfit: each table counts once, each cell of a table the same."""
        tables = [cell.printed_table for cell in self.cells]
        sizes = {table: tables.count(table) for table in tables}
        return np.array([1.0 / (sizes[table] * len(sizes)) for table in tables])

    @cached_property
    def resampled_weights(self) -> Floats:
        """The weights in each resample of the evidence: resamples x cells."""
        generator = np.random.default_rng(1)
        drawn = np.zeros((RESAMPLES, len(self.cells)))
        tables = np.array([cell.printed_table for cell in self.cells])
        for table in dict.fromkeys(tables):
            members = np.flatnonzero(tables == table)
            counts = generator.multinomial(len(members), np.full(len(members), 1 / len(members)), RESAMPLES)
            drawn[:, members] = counts * self.weights[members]
        return drawn

    def compute_misfit(self, losses: Mapping[str, float]) -> float:
        """Return the misfit of a reading from the losses of all its cells."""
        return float(self.weights @ np.array([losses[name] for name in self.ids])) if self.cells else 0.0

    def compare(self, losses: Mapping[str, float], others: Mapping[str, float]) -> tuple[float, float]:
        """Return how much lower the misfit of the first reading is, and the share of resamples in which it is lower.

        Cells without losses are the same under both readings. A resample without a difference counts half.
        """
        if not self.cells:
            return 0.0, 0.5
        gains = np.array([others.get(name, 0.0) - losses.get(name, 0.0) for name in self.ids])
        resampled = self.resampled_weights @ gains
        won = np.mean(resampled > 1e-12) + 0.5 * np.mean(np.abs(resampled) <= 1e-12)
        return float(self.weights @ gains), float(won)


def count_by_chance(cells: Sequence[PublishedCell], values: CellValues) -> tuple[float, float]:
    """Return mean and standard deviation of the number of reproduced cells when print is permuted.

    Printed numbers change places among the cells of one kind and unit.
    """
    generator = np.random.default_rng(1)
    kinds: dict[tuple[str, str], list[PublishedCell]] = {}
    for cell in cells:
        if find_measure_kind(cell.kind).rule != "sign" and values.get(cell.id) is not None:
            kinds.setdefault((cell.kind, cell.unit), []).append(cell)
    counts = np.zeros(PERMUTATIONS)
    for members in kinds.values():
        # fits[i, j]: our number of cell i would reproduce the number printed in cell j.
        fits = np.array(
            [
                [_compute_loss(other, values[own.id], "differs") <= 1.0 + 1e-9 for other in members]
                for own in members
            ]
        )
        places = np.arange(len(members))
        for resample in range(PERMUTATIONS):
            counts[resample] += np.count_nonzero(fits[places, generator.permutation(len(members))])
    return float(counts.mean()), float(counts.std())
