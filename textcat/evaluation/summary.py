"""Compute every measure of a run under its dotted name, including measures of plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from textcat.errors import UsageError
from textcat.evaluation import measures
from textcat.evaluation.break_even import BreakEven, break_even
from textcat.evaluation.contingency import Bools, Contingency, Ints, contingency
from textcat.evaluation.measures import Floats, ZeroDivision
from textcat.plugins import find, guarded, loaded


@cache
def own_measures() -> tuple[str, ...]:
    """The names of all measures that are always taken, those of single categories left out."""
    one = np.ones((1, 1), dtype=np.bool_)
    measures = measure_all(one.astype(np.float64), one, one, ["one"], np.ones(1, dtype=np.int64))
    return tuple(name for name in measures if not name.startswith("category."))


def more_measures(names: Iterable[str], scores: Floats, decisions: Bools, labels: Bools) -> dict[str, float]:
    """The measures of plugins by name; one that is undefined is NaN."""
    found: dict[str, float] = {}
    for name in names:
        plugin = find("measures", name, own_measures())
        if plugin is not None:
            measure = guarded(plugin, loaded(plugin))
            found[name] = guarded(plugin, float)(measure(scores, decisions, labels))
    return found


@dataclass(frozen=True)
class MeasureSettings:
    """What 0/0 counts, over how many largest categories to average too, and what `rest` leaves out."""

    zero_division: ZeroDivision = 1
    largest: tuple[int, ...] = (5, 10, 20, 40, 60, 80, 100)
    rest_after: int = 10


DEFAULT = MeasureSettings()


def measure_all(
    scores: Floats | None,
    decisions: Bools,
    labels: Bools,
    categories: Sequence[str],
    train_counts: Ints,
    settings: MeasureSettings = DEFAULT,
) -> dict[str, float]:
    """All measures by dotted name; one that is undefined, or that needs scores where none are, is NaN."""
    if len(categories) != labels.shape[1] or len(train_counts) != labels.shape[1]:
        raise UsageError(
            f"{len(categories)} category names and {len(train_counts)} training counts "
            f"for labels of {labels.shape[1]} categories",
            hint="Give one name and one count a column of the labels.",
        )
    table = contingency(decisions, labels)
    ranked = _break_even_or_nothing(scores, labels)
    result = _pooled_and_mean(table, ranked, settings.zero_division)
    result["accuracy"] = _accuracy(scores, labels)
    result.update(_parts(table, ranked, measures.by_size(train_counts), settings))
    result.update(_each_category(table, ranked, categories, settings.zero_division))
    return result


def over_repetitions(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """`name.mean` and `name.sd` (n - 1) of measures that every repetition has; sd of one run is NaN."""
    if not runs:
        return {}
    shared = [name for name in runs[0] if all(name in run for run in runs)]
    result: dict[str, float] = {}
    for name in shared:
        values = np.array([run[name] for run in runs], dtype=np.float64)
        result[f"{name}.mean"] = float(values.mean())
        result[f"{name}.sd"] = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return result


def _break_even_or_nothing(scores: Floats | None, labels: Bools) -> BreakEven:
    if scores is not None:
        return break_even(scores, labels)
    nothing = np.zeros(labels.shape[1], dtype=np.int64)
    return BreakEven(hits=nothing, positives=nothing)


def _accuracy(scores: Floats | None, labels: Bools) -> float:
    single = len(labels) > 0 and bool(np.all(np.count_nonzero(labels, axis=1) == 1))
    if scores is None or not single:
        return float("nan")
    return measures.argmax_accuracy(scores, labels)


def _pooled_and_mean(table: Contingency, ranked: BreakEven, zero_division: ZeroDivision) -> dict[str, float]:
    pooled = table.pooled()
    return {
        "micro.precision": float(measures.precision(pooled, zero_division)[0]),
        "micro.recall": float(measures.recall(pooled, zero_division)[0]),
        "micro.f1": float(measures.f1(pooled, zero_division)[0]),
        "micro.bep": ranked.micro(),
        "micro.errors": float(pooled.errors[0]),
        "micro.error_rate": float(measures.error_rate(pooled)[0]),
        "macro.precision": measures.mean(measures.precision(table, zero_division)),
        "macro.recall": measures.mean(measures.recall(table, zero_division)),
        "macro.f1": measures.macro_f1(table, zero_division),
        "macro.f1_of_means": measures.f1_of_means(table, zero_division),
        "macro.bep": measures.mean(ranked.per_category()),
    }


def _parts(table: Contingency, ranked: BreakEven, order: Ints, settings: MeasureSettings) -> dict[str, float]:
    """The largest categories, and the rest; a part the collection is too small for is NaN."""
    parts = {f"top{n}": order[:n] if n <= len(order) else order[:0] for n in settings.largest}
    parts["rest"] = order[settings.rest_after :]
    result: dict[str, float] = {}
    for name, chosen in parts.items():
        part = table.restricted(chosen)
        known = len(chosen) > 0
        zero_division = settings.zero_division
        result[f"micro.f1.{name}"] = measures.micro_f1(part, zero_division) if known else float("nan")
        result[f"micro.bep.{name}"] = ranked.micro(chosen)
        result[f"macro.f1.{name}"] = measures.macro_f1(part, zero_division)
        result[f"macro.f1_of_means.{name}"] = measures.f1_of_means(part, zero_division)
    return result


def _each_category(
    table: Contingency, ranked: BreakEven, categories: Sequence[str], zero_division: ZeroDivision
) -> dict[str, float]:
    columns: dict[str, Floats | Ints] = {
        "precision": measures.precision(table, zero_division),
        "recall": measures.recall(table, zero_division),
        "f1": measures.f1(table, zero_division),
        "bep": ranked.per_category(),
        "errors": table.errors,
        "error_rate": measures.error_rate(table),
        "tp": table.tp,
        "fp": table.fp,
        "fn": table.fn,
        "tn": table.tn,
    }
    return {
        f"category.{category}.{name}": float(values[position])
        for position, category in enumerate(categories)
        for name, values in columns.items()
    }
