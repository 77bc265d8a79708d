"""Compute every measure of a run under its dotted name, including registered measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from textcat.errors import UsageError
from textcat.evaluation import measures
from textcat.evaluation.curves import BreakEven, find_break_even
from textcat.evaluation.measures import (
    Average,
    Bools,
    ContingencyTable,
    Floats,
    Ints,
    SparseLabels,
    ZeroDivision,
    count_contingency,
)
from textcat.evaluation.ranking import TopLabels, find_top_labels, measure_ranking
from textcat.extensions import claim_name, guard_function
from textcat.settings import GrowingSettings, KnownName


@cache
def list_builtin_measures() -> tuple[str, ...]:
    """Return the names of all built-in measures except those of single categories."""
    one = np.ones((1, 1), dtype=np.bool_)
    measures = measure_all(one.astype(np.float64), one, one, ["one"], np.ones(1, dtype=np.int64))
    return tuple(name for name in measures if not name.startswith("category."))


def list_measures() -> list[str]:
    """Return the names of all measures except those of single categories."""
    return [*list_builtin_measures(), *REGISTERED_MEASURES]


# A measure is a function of scores, decisions and labels, all documents x categories.
Measure = Callable[[Floats, Bools, Bools], float]
REGISTERED_MEASURES: dict[str, Measure] = {}


def register_measure(name: str, function: Measure) -> None:
    """Add a measure; it returns a number, or NaN where the measure is not defined."""
    claim_name("measure", name, list_builtin_measures())

    def check(found: object, *_: object) -> str:
        return "" if isinstance(found, int | float | np.number) else f"it returned {found!r:.80}"

    REGISTERED_MEASURES[name] = guard_function("measure", name, function, check)


def compute_registered_measures(
    names: Iterable[str], scores: Floats, decisions: Bools, labels: Bools
) -> dict[str, float]:
    """Return the registered ones among these measures; undefined ones are NaN."""
    return {
        name: float(REGISTERED_MEASURES[name](scores, decisions, labels))
        for name in names
        if name in REGISTERED_MEASURES
    }


StudyName = Literal["margins", "precision-recall", "objectives", "iterations", "weights"]


class EvaluationSettings(GrowingSettings):
    """Measures, and the value of undefined ratios."""

    later = ("measures", "ranking", "frequency_groups", "per_category")

    zero_division: ZeroDivision = Field(
        default=1, description="F1 of a category in a macro average if it is 0/0."
    )
    largest: list[Annotated[int, Field(ge=1)]] = Field(
        default=[5, 10, 20, 40, 60, 80, 100],
        description="Also average over these numbers of largest categories.",
    )
    studies: list[StudyName] = Field(
        default_factory=list,
        description="Studies for a figure or a remark: the distribution of margins, the precision-recall "
        "curve, the objectives of the SVM and of its approximation, the training F1 of each "
        "iteration, the weights of features.",
    )
    measures: list[Annotated[str, KnownName("measure", list_measures)]] = Field(
        default_factory=list,
        description="Registered measures, in addition to the built-in ones (see `imports`).",
    )
    study_category: str | None = Field(default=None, description="The category of studies; default: all.")
    ranking: list[Annotated[int, Field(ge=1, le=100)]] = Field(
        default_factory=list,
        description="Numbers k for P@k, R@k, nDCG@k, R-precision@k and propensity-scored P@k, such as [1, 3, "
        "5].",
    )
    frequency_groups: bool = Field(
        default=False,
        description="Also compute micro and macro F1 over frequent labels (more than 50 training documents), "
        "few (1 to 50) and unseen ones.",
    )
    per_category: int | None = Field(
        default=None,
        ge=1,
        description="Number of largest categories whose measures results.json and reports hold; default: all.",
    )


DEFAULT_SETTINGS = EvaluationSettings()
# The averages named `rest` leave out this many of the largest categories.
LARGEST_LEFT_OUT = 10

# Frequent labels have more training documents than this, few have at least one.
MOST_OF_FEW = 50
FREQUENCY_GROUPS = ("frequent", "few", "unseen")


def measure_all(
    scores: Floats | None,
    decisions: Bools,
    labels: Bools,
    categories: Sequence[str],
    train_counts: Ints,
    settings: EvaluationSettings = DEFAULT_SETTINGS,
    train_documents: int = 0,
) -> dict[str, float]:
    """Return all measures by dotted name; measures that are undefined or need absent scores are NaN.

    `train_documents` is the number of training documents, which propensities need.
    """
    if len(categories) != labels.shape[1] or len(train_counts) != labels.shape[1]:
        raise UsageError(
            f"{len(categories)} category names and {len(train_counts)} training counts "
            f"for labels of {labels.shape[1]} categories",
            hint="Give one name and one count per column of the labels.",
        )
    top = None
    if settings.ranking and scores is not None:
        top = find_top_labels(scores, max(settings.ranking))
    nothing = np.zeros(labels.shape[1], dtype=np.int64)
    ranked = BreakEven(nothing, nothing) if scores is None else find_break_even(scores, labels)
    accuracy = float("nan")
    if scores is not None and len(labels) and np.all(np.count_nonzero(labels, axis=1) == 1):
        accuracy = measures.argmax_accuracy(scores, labels)
    counts = EvaluationCounts(count_contingency(decisions, labels), ranked, accuracy, top)
    return measure_counts(counts, labels, categories, train_counts, settings, train_documents)


@dataclass(frozen=True)
class EvaluationCounts:
    """What the measures of a run are computed from; counts of categories may come from blocks."""

    table: ContingencyTable
    ranked: BreakEven
    accuracy: float
    top: TopLabels | None


def measure_counts(
    counts: EvaluationCounts,
    labels: Bools | SparseLabels,
    categories: Sequence[str],
    train_counts: Ints,
    settings: EvaluationSettings,
    train_documents: int,
) -> dict[str, float]:
    """Return all measures of these counts by dotted name."""
    table, ranked = counts.table, counts.ranked
    result = compute_averages(table, ranked, train_counts, settings)
    if settings.zero_division == "skip":
        result["macro.left_out"] = float(np.count_nonzero(measures.find_empty_categories(table)))
    result["accuracy"] = counts.accuracy
    if settings.frequency_groups:
        result.update(_compute_frequency_groups(table, train_counts, settings.zero_division))
    if settings.ranking and counts.top is not None:
        result.update(measure_ranking(counts.top, labels, settings.ranking, train_counts, train_documents))
    result.update(compute_per_category(table, ranked, categories, settings.zero_division))
    return result


def average_repetitions(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return `name.mean` and `name.sd` (n - 1) of the measures of every repetition; the sd of one run is NaN."""
    if not runs:
        return {}
    shared = [name for name in runs[0] if all(name in run for run in runs)]
    result: dict[str, float] = {}
    for name in shared:
        values = np.array([run[name] for run in runs], dtype=np.float64)
        result[f"{name}.mean"] = float(values.mean())
        result[f"{name}.sd"] = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return result


def compute_averages(
    table: ContingencyTable, ranked: BreakEven, train_counts: Ints, settings: EvaluationSettings
) -> dict[str, Average]:
    """Return the averages over all categories, over the largest and over the rest, of counts or of resampled ones."""
    pooled, zero_division = table.sum_categories(), settings.zero_division
    averages = {
        "micro.precision": measures.precision(pooled, zero_division)[0],
        "micro.recall": measures.recall(pooled, zero_division)[0],
        "micro.f1": measures.f1(pooled, zero_division)[0],
        "micro.bep": ranked.micro(),
        "micro.errors": pooled.errors[0].astype(np.float64),
        "micro.error_rate": measures.error_rate(pooled)[0],
        "macro.precision": measures.mean(measures.precision(table, zero_division)),
        "macro.recall": measures.mean(measures.recall(table, zero_division)),
        "macro.f1": measures.macro_f1(table, zero_division),
        "macro.f1_of_means": measures.f1_of_means(table, zero_division),
        "macro.bep": measures.mean(ranked.per_category()),
    }
    return averages | _compute_largest_and_rest(table, ranked, measures.sort_by_size(train_counts), settings)


def _compute_largest_and_rest(
    table: ContingencyTable, ranked: BreakEven, order: Ints, settings: EvaluationSettings
) -> dict[str, Average]:
    """Return averages over the largest categories and the rest; NaN if there are too few categories."""
    parts = {f"top{n}": order[:n] if n <= len(order) else order[:0] for n in settings.largest}
    parts["rest"] = order[LARGEST_LEFT_OUT:]
    result: dict[str, Average] = {}
    for name, chosen in parts.items():
        part = table.restrict(chosen)
        zero_division = settings.zero_division
        result[f"micro.f1.{name}"] = measures.micro_f1(part, zero_division) if len(chosen) else float("nan")
        result[f"micro.bep.{name}"] = ranked.micro(chosen)
        result[f"macro.f1.{name}"] = measures.macro_f1(part, zero_division)
        result[f"macro.f1_of_means.{name}"] = measures.f1_of_means(part, zero_division)
    return result


def _compute_frequency_groups(
    table: ContingencyTable, train_counts: Ints, zero_division: ZeroDivision
) -> dict[str, float]:
    """Return micro and macro F1 over frequent, few and unseen labels, and the number of labels in each group."""
    counts = np.asarray(train_counts)
    members = (counts > MOST_OF_FEW, (counts > 0) & (counts <= MOST_OF_FEW), counts == 0)
    result: dict[str, float] = {}
    for name, chosen in zip(FREQUENCY_GROUPS, map(np.flatnonzero, members), strict=True):
        part = table.restrict(chosen)
        result[f"micro.f1.{name}"] = measures.micro_f1(part, zero_division) if len(chosen) else float("nan")
        result[f"macro.f1.{name}"] = measures.macro_f1(part, zero_division)
        result[f"labels.{name}"] = float(len(chosen))
    return result


def compute_per_category(
    table: ContingencyTable, ranked: BreakEven, categories: Sequence[str], zero_division: ZeroDivision
) -> dict[str, Average]:
    """Return the measures of each category, of counts or of resampled ones."""
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
        f"category.{category}.{name}": values[position].astype(np.float64)
        for position, category in enumerate(categories)
        for name, values in columns.items()
    }
