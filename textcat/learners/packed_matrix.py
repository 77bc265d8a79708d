"""Products of a dense float32 matrix with thin matrices of sixteen columns or a few times sixteen.

Problem:  C = A B, where A is multiplied again and again and B has too few columns for a BLAS to fill the vector units.
Inputs:   A (rows x depth), packed once: eight rows lie beside each other; B (depth x columns), C-contiguous.
Outputs:  C (rows x columns). The order of sums does not depend on threads or on the linear algebra library.

Eight rows by 48 columns of C are held in 24 vector registers while a block of the depth passes: a number of A serves
three multiplications, and a vector of B eight.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from textcat.compile import compile_kernel
from textcat.linear.simd import WIDTH, intrinsic

Floats = npt.NDArray[np.float32]
ROWS = 8
DEPTH = 2048
"""So many rows of 48 columns of B fit in the second cache."""


class PackedMatrix:
    """A dense matrix, packed for products with thin ones."""

    def __init__(self, matrix: Floats) -> None:
        self.rows, self.depth = matrix.shape
        self.packed = np.zeros((-(-self.rows // ROWS), self.depth, ROWS), np.float32)
        for first in range(0, self.rows, ROWS):
            part = matrix[first : first + ROWS]
            self.packed[first // ROWS, :, : len(part)] = part.T

    def multiply(self, thin: Floats, out: Floats) -> None:
        """Write the product with a thin matrix, whose columns are a multiple of sixteen, to `out`."""
        multiply_packed(
            self.packed.reshape(-1), thin.reshape(-1), out.reshape(-1), self.depth, thin.shape[1] // WIDTH
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
