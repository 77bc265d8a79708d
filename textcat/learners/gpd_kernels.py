"""The kernels of generalized probabilistic descent: products with thin matrices, losses, slopes, one split alone.

Products C = A B of a dense float32 matrix A that is multiplied again and again, where B has sixteen columns or a few
times sixteen: too few for a BLAS to fill the vector units. A is packed once: eight rows lie beside each other. Eight
rows by 48 columns of C are held in 24 vector registers while a block of the depth passes: a number of A serves three
multiplications, and a vector of B eight. The order of sums does not depend on threads or on the linear algebra library.

Between two products of a descent the columns are lanes of vector registers: values and signs are arrays of rows of
sixteen numbers, `blocks` rows per document. `run_alone` has the documents of one column as lanes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from textcat.compile import compile_kernel, compile_part
from textcat.linear.lane_math import exponential
from textcat.linear.simd import (
    WIDTH,
    any_differs,
    choose_less,
    entry,
    fused_multiply_add,
    intrinsic,
    load,
    splat,
    store,
)


@compile_part
def find_merit_slopes(
    is_f1: Any, lost_positives: Any, lost_negatives: Any, positives: Any, negatives: Any
) -> Any:
    """Return the objective of a column and its slopes in the loss of a positive and of a negative.

    -F1 is equation 4.3, whose denominator FP + FN + 2 TP is FP + TP + the number of positives. The error is
    equation 4.10 with equal weights of the positive and the negative class (section 6.2.1).
    """
    if is_f1:
        true_positives = positives - lost_positives
        denominator = positives + true_positives + lost_negatives
        denominator = denominator if positives > 0 else denominator * 0 + 1
        square = denominator * denominator
        return (
            -2 * true_positives / denominator,
            2 * (denominator - true_positives) / square,
            2 * true_positives / square,
        )
    positive, negative = 0.5 / max(positives, 1), 0.5 / max(negatives, 1)
    return positive * lost_positives + negative * lost_negatives, positive, negative


@compile_kernel
def fill_merit_slopes(
    is_f1: Any, lost_positives: Any, lost_negatives: Any, positives: Any, negatives: Any, out: Any
) -> None:
    """Compute `find_merit_slopes` of each column."""
    for k in range(len(lost_positives)):
        out[0, k], out[1, k], out[2, k] = find_merit_slopes(
            is_f1, lost_positives[k], lost_negatives[k], positives[k], negatives[k]
        )


@compile_kernel
def fill_measures(values: Any, signs: Any, offsets: Any, sums: Any) -> None:
    """Replace w.x by the measure of equation 4.8 and add it up in each column."""
    blocks = len(offsets)
    for block in range(blocks):
        offset, total = load(offsets, block), splat(values, 0.0)
        for row in range(block, len(values), blocks):
            measure = load(signs, row) * (load(values, row) - offset)
            store(values, row, measure)
            total = total + measure
        store(sums, block, total)


@compile_kernel
def fill_losses(values: Any, signs: Any, alpha: Any, beta: Any, positives: Any, negatives: Any) -> None:
    """Replace measures by their losses (equation 4.7) and add these up over positives and over negatives."""
    blocks = len(beta)
    zero, one, slope = splat(values, 0.0), splat(values, 1.0), splat(values, -alpha)
    for block in range(blocks):
        offset, of_positives, of_negatives = load(beta, block), zero, zero
        for row in range(block, len(values), blocks):
            side = load(signs, row)
            loss = one / (one + exponential(slope * (load(values, row) + offset)))
            store(values, row, loss)
            of_positives = of_positives + choose_less(side, zero, loss, zero)
            of_negatives = of_negatives + choose_less(zero, side, loss, zero)
        store(positives, block, of_positives)
        store(negatives, block, of_negatives)


@compile_kernel
def fill_slopes(values: Any, signs: Any, alpha: Any, positive: Any, negative: Any, sums: Any) -> None:
    """Replace losses by the slopes in w.x: alpha l (1 - l) times the slope of the merit in the loss; add them up."""
    blocks = len(sums)
    zero, one, factor = splat(values, 0.0), splat(values, 1.0), splat(values, alpha)
    for block in range(blocks):
        pull, push, total = zero - load(positive, block), load(negative, block), zero
        for row in range(block, len(values), blocks):
            side, loss = load(signs, row), load(values, row)
            weight = choose_less(zero, side, push, choose_less(side, zero, pull, zero))
            slope = factor * loss * (one - loss) * weight
            store(values, row, slope)
            total = total + slope
        store(sums, block, total)


@compile_kernel
def run_alone(
    gram: Any, values: Any, signs: Any, moves: Any, steps: Any, alpha: Any, mean_factor: Any, is_f1: Any
) -> None:
    """Run equation 5.3 for one column whose documents are lanes, until nothing changes.

    A step of size s by slopes g changes the values w.x - w0 by -s (X X' g + sum of g); `moves` adds up s g.
    """
    slopes, products = np.empty_like(values), np.empty_like(values)
    lanes = np.empty((5, WIDTH), values.dtype)
    flat, blocks = slopes.reshape(-1), len(values)
    positives, negatives = (signs < 0).sum(), (signs > 0).sum()
    none, beta, first, second, sums = lanes[:1], lanes[1:2], lanes[2:3], lanes[3:4], lanes[4:]
    for step in steps:
        slopes[:], none[:], products[:] = values, 0, 0
        fill_measures(slopes, signs, none, sums)
        beta[:] = mean_factor * sums.sum() / (positives + negatives)
        fill_losses(slopes, signs, alpha, beta, first, second)
        merit = find_merit_slopes(is_f1, first.sum(), second.sum(), positives, negatives)
        first[:], second[:] = merit[1], merit[2]
        fill_slopes(slopes, signs, alpha, first, second, sums)
        for j in range(len(flat)):
            slope = splat(values, entry(flat, j))
            for block in range(blocks):
                row = j * blocks + block
                store(products, block, fused_multiply_add(slope, load(gram, row), load(products, block)))
        size, shift, moved = splat(values, step), splat(values, step * sums.sum()), False
        for block in range(blocks):
            old = load(values, block)
            new = old - size * load(products, block) - shift
            store(values, block, new)
            store(moves, block, load(moves, block) + size * load(slopes, block))
            moved = moved or any_differs(old, new)
        if not moved:
            return


Floats = npt.NDArray[np.float32]
ROWS = 8
DEPTH = 2048
"""Rows of 48 columns of B that fit in the second-level cache."""


class PackedMatrix:
    """A dense matrix, packed for products with thin ones."""

    def __init__(self, matrix: Floats) -> None:
        self.rows, self.depth = matrix.shape
        self.packed = np.zeros((-(-self.rows // ROWS), self.depth, ROWS), np.float32)
        for first in range(0, self.rows, ROWS):
            part = matrix[first : first + ROWS]
            self.packed[first // ROWS, :, : len(part)] = part.T

    def multiply(self, thin: Floats, out: Floats, team: ThreadPoolExecutor | None = None) -> None:
        """Write the product with a thin matrix, whose columns are a multiple of sixteen, to `out`.

        This thread and one of the team compute half of the rows each.
        """
        tiles = len(self.packed)
        middle = tiles if team is None else tiles // 2
        rest = team.submit(self._multiply_tiles, thin, out, middle, tiles) if team else None
        self._multiply_tiles(thin, out, 0, middle)
        if rest:
            rest.result()

    def _multiply_tiles(self, thin: Floats, out: Floats, first: int, last: int) -> None:
        packed, rows = self.packed[first:last], out[first * ROWS : last * ROWS]
        multiply_packed(
            packed.reshape(-1), thin.reshape(-1), rows.reshape(-1), self.depth, thin.shape[1] // WIDTH
        )


@cache
def can_multiply_packed() -> bool:
    """Return whether the processor has registers for the 24 vectors of a tile; without them a BLAS is faster."""
    import llvmlite.binding  # type: ignore[import-untyped]  # noqa: PLC0415

    return bool(llvmlite.binding.get_host_cpu_features().get("avx512f", False))


def _make_tile(vectors: int) -> Any:
    """Return the product of a block of eight rows and some vectors of columns, added to C."""
    index, long = ir.IntType(32), ir.IntType(64)
    vector = ir.VectorType(ir.FloatType(), WIDTH)
    pointer = ir.PointerType(vector)

    @intrinsic
    def add_tile(
        typingctx: Any, packed: Any, first: Any, thin: Any, start: Any, step: Any, depth: Any, out: Any, target: Any
    ) -> Any:  # fmt: skip
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            left, right, result = (
                context.make_array(signature.args[k])(context, builder, args[k]).data for k in (0, 2, 6)
            )
            kind = ir.FunctionType(vector, [vector] * 3)
            fma: Any = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32")  # type: ignore[no-untyped-call]

            def find_vector(data: Any, vectors_before: Any, number: int) -> Any:
                numbers_before = builder.mul(builder.add(vectors_before, long(number)), long(WIDTH))
                return builder.bitcast(builder.gep(data, [numbers_before]), pointer)

            rows = [builder.add(args[7], builder.mul(args[4], long(row))) for row in range(ROWS)]
            places = [find_vector(result, row, k) for row in rows for k in range(vectors)]
            sums: list[Any] = [cgutils.alloca_once(builder, vector) for _ in places]  # type: ignore[no-untyped-call]
            for place, total in zip(places, sums, strict=True):
                builder.store(builder.load(place, align=4), total)
            undefined = ir.Constant(vector, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(index, WIDTH), [0] * WIDTH)
            with cgutils.for_range(builder, args[5]) as loop:
                column = builder.add(args[3], builder.mul(loop.index, args[4]))
                values = [builder.load(find_vector(right, column, k), align=4) for k in range(vectors)]
                tile = builder.gep(left, [builder.add(args[1], builder.mul(loop.index, long(ROWS)))])
                for row in range(ROWS):
                    scalar = builder.load(builder.gep(tile, [long(row)]))
                    one = builder.insert_element(undefined, scalar, index(0))
                    factor = builder.shuffle_vector(one, undefined, zeros)
                    for k, value in enumerate(values):
                        total = sums[row * vectors + k]
                        builder.store(builder.call(fma, [factor, value, builder.load(total)]), total)
            for place, total in zip(places, sums, strict=True):
                builder.store(builder.load(total), place, align=4)
            return context.get_dummy_value()

        count = types.int64
        return types.void(packed, count, thin, count, count, count, out, count), codegen

    return add_tile


_add_one, _add_two, _add_three = (_make_tile(vectors) for vectors in (1, 2, 3))


@compile_kernel
def multiply_packed(packed: Floats, thin: Floats, out: Floats, depth: int, blocks: int) -> None:
    """Compute the product, 48 columns at a time; `blocks` is the number of sixteens of columns.

    `first` is the place of a tile's numbers in `packed`; places in `thin` and `out` are counted in vectors.
    """
    tiles, rows = len(packed) // (depth * ROWS), len(out) // (blocks * WIDTH)
    last = np.zeros(ROWS * blocks * WIDTH, np.float32)
    out[:] = 0
    for column in range(0, blocks, 3):
        for start in range(0, depth, DEPTH):
            number = min(DEPTH, depth - start)
            for tile in range(tiles):
                first, place = (tile * depth + start) * ROWS, start * blocks + column
                whole = (tile + 1) * ROWS <= rows
                result = out if whole else last
                target = tile * ROWS * blocks + column if whole else column
                if blocks - column >= 3:
                    _add_three(packed, first, thin, place, blocks, number, result, target)
                elif blocks - column == 2:
                    _add_two(packed, first, thin, place, blocks, number, result, target)
                else:
                    _add_one(packed, first, thin, place, blocks, number, result, target)
    left = rows % ROWS
    out[len(out) - left * blocks * WIDTH :] = last[: left * blocks * WIDTH]
