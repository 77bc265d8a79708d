"""Products of a sparse row with sixteen lanes of weights, the two inner loops of everything here."""

from __future__ import annotations

from typing import Any

from textcat.compile import compiled
from textcat.linear.vector import differs, fused, load, prefetch, splat, store


@compiled
def row_product(spans: Any, indices: Any, data: Any, i: int, W: Any) -> Any:
    """Row i times the weights: one number a lane. Four partial sums hide the latency of the additions."""
    a = splat(W, 0.0)
    b = splat(W, 0.0)
    c = splat(W, 0.0)
    d = splat(W, 0.0)
    j = spans[i, 0]
    end = spans[i, 1]
    while j + 3 < end:
        a = fused(splat(W, data[j]), load(W, indices[j]), a)
        b = fused(splat(W, data[j + 1]), load(W, indices[j + 1]), b)
        c = fused(splat(W, data[j + 2]), load(W, indices[j + 2]), c)
        d = fused(splat(W, data[j + 3]), load(W, indices[j + 3]), d)
        j += 4
    while j < end:
        a = fused(splat(W, data[j]), load(W, indices[j]), a)
        j += 1
    return (a + b) + (c + d)


@compiled
def add_row(spans: Any, indices: Any, data: Any, i: int, step: Any, W: Any) -> None:
    """Weights plus row i times `step`, a number a lane."""
    for j in range(spans[i, 0], spans[i, 1]):
        store(W, indices[j], fused(splat(W, data[j]), step, load(W, indices[j])))


# How many visits ahead documents are asked for, and how many entries in single precision a cache line holds.
_AHEAD = 4
_LINE = 16


@compiled
def ask_for(spans: Any, indices: Any, data: Any, visits: Any, now: int, signs: Any, alpha: Any) -> None:
    """Have the documents of later visits on their way from memory: in random order no processor foresees them."""
    last = len(visits) - 1
    prefetch(spans, visits[min(now + 2 * _AHEAD, last)])
    i = visits[min(now + _AHEAD, last)]
    prefetch(signs, i)
    prefetch(alpha, i)
    for j in range(spans[i, 0], spans[i, 1], _LINE):
        prefetch(indices, j)
        prefetch(data, j)


@compiled
def all_products(spans: Any, indices: Any, data: Any, W: Any, margins: Any) -> None:
    """Margins of all documents: X W."""
    for i in range(len(spans)):
        store(margins, i, row_product(spans, indices, data, i, W))


@compiled
def add_rows(spans: Any, indices: Any, data: Any, steps: Any, W: Any) -> None:
    """Weights plus X' steps, passing over the documents whose steps are all zero."""
    zero = splat(W, 0.0)
    for i in range(len(spans)):
        step = load(steps, i)
        if differs(step, zero):
            add_row(spans, indices, data, i, step, W)


@compiled
def place_columns(W: Any, place: Any, columns: Any, out: Any) -> None:
    """Lane k of feature place[j] to row j and column columns[k] of `out`, row after row."""
    for j in range(len(place)):
        row = W[place[j]]
        for k in range(len(columns)):
            out[j, columns[k]] = row[k]
