"""Bootstrap intervals of micro and macro F1 of two methods over one test set, and of their difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.contingency import Bools, ContingencyTable
from textcat.evaluation.measures import Floats, ZeroDivision, macro_f1, micro_f1

SAMPLES_PER_BATCH = 100


@dataclass(frozen=True)
class Interval:
    """The value on the whole test set and its percentile interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedIntervals:
    """Intervals of left, right, and left minus right on the same resamples."""

    left: Interval
    right: Interval
    difference: Interval


def paired_bootstrap(
    left: Bools,
    right: Bools,
    labels: Bools,
    *,
    seed: int,
    zero_division: ZeroDivision = 1,
    samples: int = 1000,
    level: float = 95.0,
) -> dict[str, PairedIntervals]:
    """Resample documents with replacement; return the intervals of `micro.f1` and `macro.f1` in percent."""
    if not len(labels) or left.shape != labels.shape or right.shape != labels.shape:
        raise UsageError(
            "the bootstrap needs two sets of decisions and labels over the same documents",
            hint="Give both systems' decisions on the same documents and categories.",
        )
    whole = np.ones((1, len(labels)), dtype=np.float32)
    values = np.stack([next(_compute_f1(side, labels, whole, zero_division)) for side in (left, right)])
    drawn = _resample_f1(left, right, labels, np.random.default_rng(seed), zero_division, samples)
    names = ("micro.f1", "macro.f1")
    return {name: _make_paired_intervals(values[:, k], drawn[:, :, k], level) for k, name in enumerate(names)}


def _resample_f1(
    left: Bools,
    right: Bools,
    labels: Bools,
    generator: np.random.Generator,
    zero_division: ZeroDivision,
    samples: int,
) -> Floats:
    """Return the F1 values of each resample: sides x samples x (micro, macro)."""
    documents = len(labels)
    chance = np.full(documents, 1.0 / documents)
    collected: list[list[Floats]] = [[], []]
    for start in range(0, samples, SAMPLES_PER_BATCH):
        size = min(SAMPLES_PER_BATCH, samples - start)
        times = generator.multinomial(documents, chance, size=size).astype(np.float32)
        for side, decisions in enumerate((left, right)):
            collected[side].extend(_compute_f1(decisions, labels, times, zero_division))
    return np.array(collected)


def _compute_f1(
    decisions: Bools, labels: Bools, times: NDArray[np.float32], zero_division: ZeroDivision
) -> Iterator[Floats]:
    """Yield micro and macro F1 for each row of `times`, the number of times that each document counts."""
    # Counts stay far below 2**24, so single precision is exact.
    tp, accepted, positive = (
        np.rint(times @ indicator.astype(np.float32)).astype(np.int64)
        for indicator in (decisions & labels, decisions, labels)
    )
    for hits, taken, wanted in zip(tp, accepted, positive, strict=True):
        table = ContingencyTable(hits, taken - hits, wanted - hits, len(labels) - taken - wanted + hits)
        yield np.array([micro_f1(table, zero_division), macro_f1(table, zero_division)])


def _make_paired_intervals(values: Floats, drawn: Floats, level: float) -> PairedIntervals:
    return PairedIntervals(
        left=_compute_interval(float(values[0]), drawn[0], level),
        right=_compute_interval(float(values[1]), drawn[1], level),
        difference=_compute_interval(float(values[0] - values[1]), drawn[0] - drawn[1], level),
    )


def _compute_interval(value: float, drawn: Floats, level: float) -> Interval:
    low, high = np.nanpercentile(drawn, [(100.0 - level) / 2, (100.0 + level) / 2])
    return Interval(value=value, low=float(low), high=float(high))
