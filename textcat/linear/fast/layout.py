"""Data in the form of the fast kernels: packed rows, blocks of sixteen categories, the order of visits.

A pass in random order reads the matrix everywhere. If the matrix is on disk and larger than memory, each visit
would wait for the disk. Then regions of the matrix come in random order, with the documents of each region in
random order, so that a pass reads every region once. Convergence to very small gaps is slower that way: the
constant's weight follows the region just visited.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.compile import compile_kernel, compile_part
from textcat.linear.mapped_arrays import (
    allocate_like,
    convert_dtype,
    select_rows,
    split_into_pieces,
    split_rows,
)
from textcat.linear.simd import (
    WIDTH,
    any_differs,
    choose_less,
    entry,
    fused_multiply_add,
    lane_absolute,
    load,
    prefetch,
    splat,
    store,
    widen,
)


@compile_part
def multiply_row(spans: Any, indices: Any, data: Any, i: int, W: Any) -> Any:
    """Return row i times the weights, by lane; four partial sums hide the latency of the additions."""
    a = splat(W, 0.0)
    b = splat(W, 0.0)
    c = splat(W, 0.0)
    d = splat(W, 0.0)
    j = spans[i, 0]
    end = spans[i, 1]
    while j + 3 < end:
        a = fused_multiply_add(splat(W, entry(data, j)), load(W, entry(indices, j)), a)
        b = fused_multiply_add(splat(W, entry(data, j + 1)), load(W, entry(indices, j + 1)), b)
        c = fused_multiply_add(splat(W, entry(data, j + 2)), load(W, entry(indices, j + 2)), c)
        d = fused_multiply_add(splat(W, entry(data, j + 3)), load(W, entry(indices, j + 3)), d)
        j += 4
    while j < end:
        a = fused_multiply_add(splat(W, entry(data, j)), load(W, entry(indices, j)), a)
        j += 1
    return (a + b) + (c + d)


@compile_part
def add_row(spans: Any, indices: Any, data: Any, i: int, step: Any, W: Any) -> None:
    """Add row i times `step`, one number per lane, to the weights."""
    for j in range(spans[i, 0], spans[i, 1]):
        place = entry(indices, j)
        store(W, place, fused_multiply_add(splat(W, entry(data, j)), step, load(W, place)))


@compile_part
def multiply_entries(indices: Any, data: Any, start: int, end: int, w: Any) -> float:
    """Return the entries from `start` to `end` times the weights of one category."""
    a = 0.0
    b = 0.0
    t = start
    while t + 1 < end:
        a += entry(data, t) * entry(w, entry(indices, t))
        b += entry(data, t + 1) * entry(w, entry(indices, t + 1))
        t += 2
    if t < end:
        a += entry(data, t) * entry(w, entry(indices, t))
    return a + b


@compile_part
def add_entries(indices: Any, data: Any, start: int, end: int, step: float, w: Any) -> None:
    """Add the entries from `start` to `end` times `step` to the weights of one category."""
    for t in range(start, end):
        w[np.uint32(entry(indices, t))] += step * entry(data, t)


# Documents are prefetched this many visits ahead; a cache line holds this many entries in single precision.
_PREFETCH_DISTANCE = 4
_ENTRIES_PER_CACHE_LINE = 16


@compile_part
def prefetch_documents(
    spans: Any, indices: Any, data: Any, visits: Any, now: int, signs: Any, alpha: Any
) -> None:
    """Prefetch the documents of later visits, which the processor cannot predict in random order."""
    last = len(visits) - 1
    prefetch(spans, visits[min(now + 2 * _PREFETCH_DISTANCE, last)])
    i = visits[min(now + _PREFETCH_DISTANCE, last)]
    prefetch(signs, i)
    prefetch(alpha, i)
    for j in range(spans[i, 0], spans[i, 1], _ENTRIES_PER_CACHE_LINE):
        prefetch(indices, j)
        prefetch(data, j)


@compile_kernel
def multiply_all_rows(spans: Any, indices: Any, data: Any, W: Any, margins: Any) -> None:
    """Compute X W for all documents."""
    for i in range(len(spans)):
        store(margins, i, multiply_row(spans, indices, data, i, W))


@compile_kernel
def add_rows(spans: Any, indices: Any, data: Any, steps: Any, W: Any) -> None:
    """Add X' steps to the weights; skip documents whose steps are all zero."""
    zero = splat(W, 0.0)
    for i in range(len(spans)):
        step = load(steps, i)
        if any_differs(step, zero):
            add_row(spans, indices, data, i, step, W)


@compile_kernel
def multiply_all_columns(starts: Any, documents: Any, data: Any, steps: Any, W: Any) -> None:
    """Compute X' steps by columns; four partial sums hide the latency of the additions."""
    for j in range(len(W)):
        a = splat(W, 0.0)
        b = splat(W, 0.0)
        c = splat(W, 0.0)
        d = splat(W, 0.0)
        t = starts[j]
        end = starts[j + 1]
        while t + 3 < end:
            a = fused_multiply_add(splat(W, entry(data, t)), load(steps, entry(documents, t)), a)
            b = fused_multiply_add(splat(W, entry(data, t + 1)), load(steps, entry(documents, t + 1)), b)
            c = fused_multiply_add(splat(W, entry(data, t + 2)), load(steps, entry(documents, t + 2)), c)
            d = fused_multiply_add(splat(W, entry(data, t + 3)), load(steps, entry(documents, t + 3)), d)
            t += 4
        while t < end:
            a = fused_multiply_add(splat(W, entry(data, t)), load(steps, entry(documents, t)), a)
            t += 1
        store(W, j, (a + b) + (c + d))


# Rows of a block that are copied together, so that they stay in the cache.
_ROWS_PER_TILE = 512


@compile_kernel
def _copy_lanes(block: Any, lanes: Any, rows: Any) -> None:
    for first in range(0, len(block), _ROWS_PER_TILE):
        for k in range(len(lanes)):
            for i in range(first, min(first + _ROWS_PER_TILE, len(block))):
                rows[k, i] = block[i, lanes[k]]


def split_lanes(
    block: NDArray[np.floating], lanes: NDArray[np.int64], dtype: type[np.floating]
) -> NDArray[Any]:
    """Return some lanes as contiguous rows."""
    rows = np.empty((len(lanes), len(block)), dtype)
    _copy_lanes(block, lanes, rows)
    return rows


@compile_kernel
def join_lanes(rows: Any, lanes: Any, block: Any) -> None:
    """Write rows back to their lanes; the other way of `split_lanes`."""
    for first in range(0, len(block), _ROWS_PER_TILE):
        for k in range(len(lanes)):
            for i in range(first, min(first + _ROWS_PER_TILE, len(block))):
                block[i, lanes[k]] = rows[k, i]


# Rows of weights are prefetched this many features ahead.
_PLACE_DISTANCE = 12


@compile_kernel
def place_columns(W: Any, place: Any, columns: Any, out: Any) -> None:
    """Copy lane k of feature place[j] to row j and column columns[k] of `out`."""
    last = len(place) - 1
    for j in range(len(place)):
        prefetch(W, place[min(j + _PLACE_DISTANCE, last)])
        row = W[place[j]]
        for k in range(len(columns)):
            out[j, columns[k]] = row[k]


@compile_kernel
def take_columns(weights: Any, place: Any, columns: Any, W: Any) -> None:
    """Copy column columns[k] of feature j of `weights` to row place[j] and lane k; the other way of `place_columns`."""
    for j in range(len(place)):
        row = W[place[j]]
        for k in range(len(columns)):
            row[k] = weights[j, columns[k]]


@compile_kernel
def sum_squares(W: Any, sums: Any) -> None:
    """Write the sum of the squared weights of each lane in float64."""
    total = load(sums, 0)
    for j in range(len(W)):
        value = widen(load(W, j))
        total = fused_multiply_add(value, value, total)
    store(sums, 0, total)


@compile_kernel
def sum_lanes(values: Any, sums: Any, counts: Any) -> None:
    """Write the sum of each lane in float64, and how many of its values are not zero."""
    zero = splat(sums, 0.0)
    one = splat(sums, 1.0)
    total = zero
    used = zero
    for i in range(len(values)):
        value = widen(load(values, i))
        total = total + value
        used = used + choose_less(zero, lane_absolute(value), one, zero)
    store(sums, 0, total)
    store(counts, 0, used)


@compile_kernel
def _shuffle(values: Any, seed: int) -> None:
    """Bring the values into a random order."""
    state = np.uint64(seed)
    for i in range(len(values) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = ((state >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32)
        values[i], values[j] = values[j], values[i]


# Entries of a region, about 16 megabytes.
ENTRIES_PER_REGION = 2_000_000
# Size of a value in single precision with its position.
_BYTES_PER_ENTRY = 8


def fits_into_memory(entries: int) -> bool:
    """Return whether a matrix with so many entries takes less than half of the machine's memory."""
    return _BYTES_PER_ENTRY * entries <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2


def make_visiting_order(
    generator: np.random.Generator, documents: NDArray[np.int64], indptr: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the documents in a new random order, the same for matrices in memory and on disk."""
    shuffled = documents.copy()
    _shuffle(shuffled, int(generator.integers(1, 2**63)))
    if fits_into_memory(int(indptr[-1])):
        return shuffled
    regions = -(-int(indptr[-1]) // ENTRIES_PER_REGION)
    rank = generator.permutation(regions).astype(np.uint16 if regions < 2**16 else np.int64)
    keys = rank[np.minimum(indptr[shuffled] // ENTRIES_PER_REGION, regions - 1)]
    return np.asarray(shuffled[np.argsort(keys, kind="stable")])


Floats = NDArray[np.floating]


@dataclass(frozen=True)
class PackedRows:
    """Documents of positive weight; `spans` holds where each begins and ends in `indices` and `data`.

    Feature j of the caller is row `place[j]` of a block's weights, so that frequent features are adjacent.
    `single` holds data, squared norms and document weights in float32.
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
        """The number of documents."""
        return len(self.spans)

    @property
    def features(self) -> int:
        """The number of features, including those that do not occur."""
        return len(self.place)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The position where each document starts, and the end of the last."""
        return np.append(self.spans[:, 0], len(self.indices))

    def select_documents(self, documents: NDArray[np.int64]) -> PackedRows:
        """Return some of the documents, without copying their entries."""
        data, norms, importance = self.single
        return replace(
            self, spans=self.spans[documents], norms=self.norms[documents],
            importance=self.importance[documents], single=(data, norms[documents], importance[documents]),
        )  # fmt: skip

    def values(self, dtype: type[np.floating] | np.dtype[np.floating]) -> tuple[Floats, Floats, Floats]:
        """Return data, squared norms and document weights in an element type."""
        return self.single if dtype == np.float32 else (self.data, self.norms, self.importance)


@dataclass(frozen=True)
class CategoryBlock:
    """At most sixteen categories: their numbers, signs (documents x 16, float32) and C by lane.

    Spare lanes repeat the last category.
    """

    categories: NDArray[np.int64]
    signs: NDArray[np.float32]
    limits: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def lanes(self) -> NDArray[np.int64]:
        """The category of each lane."""
        return _assign_lanes(self.categories)


def pack_rows(X: sp.csr_matrix, importance: NDArray[np.float64]) -> PackedRows:
    """Keep the documents of positive weight and order the features by falling document frequency."""
    if not importance.all():
        X, importance = select_rows(X, np.flatnonzero(importance)), importance[importance > 0]
    data = X.data if X.dtype == np.float64 else convert_dtype(X.data, np.float64)
    place, indices = _order_by_frequency(X)
    norms = np.concatenate(
        [np.zeros(0)]
        + [_compute_square_norms(data, X.indptr[part.start : part.stop + 1]) for part in split_rows(X.indptr)]
    )
    single = (convert_dtype(data, np.float32), norms.astype(np.float32), importance.astype(np.float32))
    spans = np.stack((X.indptr[:-1], X.indptr[1:]), axis=1).astype(np.int64)
    return PackedRows(spans, indices, data, norms, importance, place, single)


def _order_by_frequency(X: sp.csr_matrix) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the place of each feature by falling document frequency, and the matrix's positions by place."""
    frequency = np.zeros(X.shape[1], np.int64)
    for piece in split_into_pieces(X.nnz):
        frequency += np.bincount(X.indices[piece], minlength=X.shape[1])
    place = np.empty(X.shape[1], np.int32)
    place[np.argsort(-frequency, kind="stable")] = np.arange(X.shape[1], dtype=np.int32)
    indices = allocate_like(X.indices, X.nnz, np.int32)
    for piece in split_into_pieces(X.nnz):
        indices[piece] = place[X.indices[piece]]
    return place, indices


def _compute_square_norms(data: NDArray[np.float64], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the squared norms of the rows between those pointers."""
    values = data[indptr[0] : indptr[-1]]
    return _sum_rows(values * values, indptr - indptr[0])


def _sum_rows(values: NDArray[np.float64], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the sums over rows; `reduceat` alone would be wrong for empty rows."""
    filled = np.flatnonzero(np.diff(indptr))
    sums = np.zeros(len(indptr) - 1)
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums


def group_categories(Y: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Group categories of similar size, sixteen at a time: the same documents matter to similar categories."""
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    return [order[start : start + WIDTH] for start in range(0, len(order), WIDTH)]


def _assign_lanes(categories: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((categories, np.repeat(categories[-1:], WIDTH - len(categories))))


def pack_block(Y: NDArray[np.bool_], C: NDArray[np.float64], categories: NDArray[np.int64]) -> CategoryBlock:
    """Return the signs and costs of a group of categories, one lane each."""
    lanes = _assign_lanes(categories)
    signs = np.where(np.take(Y, lanes, axis=1), np.float32(1), np.float32(-1))
    return CategoryBlock(categories, signs, C[lanes])
