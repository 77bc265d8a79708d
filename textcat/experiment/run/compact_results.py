"""Shorter results of experiments with many categories: columns that follow from counts, and a summary of certificates.

The whole certificates stay in the model's description.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from textcat.evaluation import measures
from textcat.evaluation.contingency import ContingencyTable
from textcat.evaluation.measures import ZeroDivision

# Results with more categories than this are shortened.
MANY_CATEGORIES = 1000
DERIVED_COLUMNS = ("tn", "precision", "recall", "f1", "errors", "error_rate")
_COUNTS = ("tp", "fp", "fn")


def drop_derived_columns(columns: Mapping[str, list[Any]], documents: int) -> dict[str, list[Any]]:
    """Leave out the columns that `restore_derived_columns` computes from the counts of all test documents."""
    counts = [columns.get(name) or [None] for name in (*_COUNTS, "tn")]
    if any(None in each for each in counts) or set(map(sum, zip(*counts, strict=True))) != {documents}:
        return dict(columns)
    return {name: values for name, values in columns.items() if name not in DERIVED_COLUMNS}


def restore_derived_columns(
    columns: Mapping[str, list[Any]], documents: int, zero_division: ZeroDivision
) -> dict[str, list[Any]]:
    """Add the columns that follow from the counts of `documents` test documents, if they were left out."""
    if not all(name in columns for name in _COUNTS) or any(name in columns for name in DERIVED_COLUMNS):
        return dict(columns)
    tp, fp, fn = (np.asarray(columns[name], dtype=np.int64) for name in _COUNTS)
    table = ContingencyTable(tp, fp, fn, documents - tp - fp - fn)
    derived = {
        "tn": table.tn,
        "precision": measures.precision(table, zero_division),
        "recall": measures.recall(table, zero_division),
        "f1": measures.f1(table, zero_division),
        "errors": table.errors,
        "error_rate": measures.error_rate(table),
    }
    return {**columns, **{name: values.tolist() for name, values in derived.items()}}


def summarize_certificates(certificates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return for each field the mean and largest number, or how often each text occurs."""
    summary: dict[str, Any] = {}
    for name in certificates[0] if certificates else ():
        values = [entry[name] for entry in certificates if entry[name] is not None]
        if values and all(isinstance(value, str) for value in values):
            summary[name] = dict(sorted(Counter(values).items()))
        elif values:
            numbers = np.asarray(values, dtype=np.float64)
            summary[name] = {"mean": float(numbers.mean()), "max": float(numbers.max())}
    return summary
