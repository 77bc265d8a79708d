"""The problem as the kernels read it: rows, features by frequency, blocks of sixteen categories, visiting order.

A visit in purely random order reads the matrix all over the place. Where it is larger than memory and lies on
a disk, each visit would wait for the disk; so the regions come in random order, and the documents of each in
random order, and a pass reads every region once. That has its price: the constant's weight follows the region
just seen, as it follows any order that is not random, and the last tenths of a percent of the gap take long.

sixteen lanes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.compile import compiled
from textcat.linear.mapped_arrays import converted, pieces, room_like, row_pieces, some_rows
from textcat.linear.simd import WIDTH, differs, fused, load, prefetch, splat, store


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


# Entries of a region: some tens of megabytes.
REGION = 2_000_000
# What an entry takes in single precision with its position.
_BYTES = 8


def fits_into_memory(entries: int) -> bool:
    """Whether a matrix with so many entries takes less than half of the machine's memory."""
    return _BYTES * entries <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2


def visiting_order(
    generator: np.random.Generator, documents: NDArray[np.int64], indptr: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The documents in a fresh random order; the same for a matrix that was read and one that is mapped."""
    shuffled = generator.permutation(documents)
    if fits_into_memory(int(indptr[-1])):
        return shuffled
    regions = -(-int(indptr[-1]) // REGION)
    rank = generator.permutation(regions).astype(np.uint16 if regions < 2**16 else np.int64)
    keys = rank[np.minimum(indptr[shuffled] // REGION, regions - 1)]
    return np.asarray(shuffled[np.argsort(keys, kind="stable")])


Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Rows:
    """Documents of positive weight, each from one place of `indices` and `data` to another. Feature j of the caller
    is row `place[j]` of a block's weights: frequent ones lie together. `single` holds data, squared norms and document
    weights in float32.
    """

    spans: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    norms: NDArray[np.float64]
    importance: NDArray[np.float64]
    place: NDArray[np.int32]
    single: tuple[Floats, Floats, Floats]

    @property
    def documents(self) -> int:
        """How many documents count."""
        return len(self.spans)

    @property
    def features(self) -> int:
        """How many features there are, occurring or not."""
        return len(self.place)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each document starts, and the end of all."""
        return np.append(self.spans[:, 0], len(self.indices))

    def some(self, documents: NDArray[np.int64]) -> Rows:
        """Some of the documents, whose entries are not copied."""
        data, norms, importance = self.single
        return replace(
            self, spans=self.spans[documents], norms=self.norms[documents],
            importance=self.importance[documents], single=(data, norms[documents], importance[documents]),
        )  # fmt: skip

    def values(self, dtype: type[np.floating]) -> tuple[Floats, Floats, Floats]:
        """Data, squared norms and document weights in an element type."""
        return self.single if dtype is np.float32 else (self.data, self.norms, self.importance)


@dataclass(frozen=True)
class Block:
    """At most sixteen categories: their numbers, signs (documents x 16, float32) and C by lane; spare lanes
    repeat the last category.
    """

    categories: NDArray[np.int64]
    signs: NDArray[np.float32]
    limits: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many of the lanes count."""
        return len(self.categories)

    @property
    def lanes(self) -> NDArray[np.int64]:
        """The category of each lane."""
        return _lanes(self.categories)


def pack_rows(X: sp.csr_matrix, importance: NDArray[np.float64]) -> Rows:
    """Keep the documents of positive weight and rename the features by falling document frequency."""
    if not importance.all():
        X, importance = some_rows(X, np.flatnonzero(importance)), importance[importance > 0]
    data = X.data if X.dtype == np.float64 else converted(X.data, np.float64)
    place, indices = _by_frequency(X)
    norms = np.concatenate(
        [np.zeros(0)]
        + [_square_norms(data, X.indptr[part.start : part.stop + 1]) for part in row_pieces(X.indptr)]
    )
    single = (converted(data, np.float32), norms.astype(np.float32), importance.astype(np.float32))
    spans = np.stack((X.indptr[:-1], X.indptr[1:]), axis=1).astype(np.int64)
    return Rows(spans, indices, data, norms, importance, place, single)


def _by_frequency(X: sp.csr_matrix) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The place of each feature by falling document frequency, and the matrix's positions by place."""
    frequency = np.zeros(X.shape[1], np.int64)
    for piece in pieces(X.nnz):
        frequency += np.bincount(X.indices[piece], minlength=X.shape[1])
    place = np.empty(X.shape[1], np.int32)
    place[np.argsort(-frequency, kind="stable")] = np.arange(X.shape[1], dtype=np.int32)
    indices = room_like(X.indices, X.nnz, np.int32)
    for piece in pieces(X.nnz):
        indices[piece] = place[X.indices[piece]]
    return place, indices


def _square_norms(data: NDArray[np.float64], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    """Squared norms of the rows between those pointers."""
    values = data[indptr[0] : indptr[-1]]
    return _row_sums(values * values, indptr - indptr[0])


def _row_sums(values: NDArray[np.float64], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    """Sums over rows; `reduceat` alone would be wrong for empty rows."""
    filled = np.flatnonzero(np.diff(indptr))
    sums = np.zeros(len(indptr) - 1)
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums


def groups_of(Y: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Categories of like size, sixteen at a time, so that the documents that matter to one lane matter to its
    neighbours.
    """
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    return [order[start : start + WIDTH] for start in range(0, len(order), WIDTH)]


def _lanes(categories: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((categories, np.repeat(categories[-1:], WIDTH - len(categories))))


def pack_block(Y: NDArray[np.bool_], C: NDArray[np.float64], categories: NDArray[np.int64]) -> Block:
    """The signs and costs of a group of categories, a lane each."""
    lanes = _lanes(categories)
    signs = np.empty((len(Y), WIDTH), np.float32)
    for lane, category in enumerate(lanes):
        signs[:, lane] = np.where(Y[:, category], np.float32(1), np.float32(-1))
    return Block(categories, signs, C[lanes])
