"""A numba type for sixteen lanes, one per category: one vector instruction per nonzero serves all of them.

A `Lanes` value is held in vector registers. Kernels use the arithmetic operators on it and the functions
below. The same source serves float32 (fast) and float64 (refinement, certificates), because the element type
is that of the array that is loaded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model

WIDTH = 16


def intrinsic(codegen: Callable[..., Any]) -> Any:
    """Register a function of compiled code by its instructions, as numba's decorator of this name does."""
    return extending.intrinsic(codegen)


class Lanes(types.Type):
    """The numba type of sixteen numbers of one element type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Lanes) -> None:
        super().__init__(manager, frontend_type, _make_vector_type(frontend_type.dtype))  # type: ignore[no-untyped-call]


def _make_element_type(dtype: Any) -> ir.Type:
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def _make_vector_type(dtype: Any) -> ir.VectorType:
    return ir.VectorType(_make_element_type(dtype), WIDTH)


def _build_pointer(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    start = builder.mul(row, ir.Constant(row.type, WIDTH))
    first = builder.gep(data, [start])
    return builder.bitcast(first, ir.PointerType(_make_vector_type(kind.dtype)))


@intrinsic
def entry(typingctx: Any, array: Any, place: Any) -> Any:
    """Return array[place] of a contiguous array of one dimension, whose place is 0 or more.

    An ordinary index may be negative, which costs three instructions for each number that a loop reads.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return array.dtype(array, types.int64), codegen


@intrinsic
def load(typingctx: Any, array: Any, row: Any) -> Any:
    """Load the sixteen numbers of a row of a C-contiguous rows x 16 array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _build_pointer(context, builder, signature.args[0], args[0], args[1])
        return builder.load(pointer, align=signature.args[0].dtype.bitwidth // 8)

    return Lanes(array.dtype)(array, types.int64), codegen


@intrinsic
def store(typingctx: Any, array: Any, row: Any, value: Any) -> Any:
    """Write sixteen numbers into a row of a C-contiguous rows x 16 array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _build_pointer(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], pointer, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), codegen


@intrinsic
def prefetch(typingctx: Any, array: Any, place: Any) -> Any:
    """Prefetch the cache line where array[place] begins, without waiting for it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, byte = ir.IntType(32), ir.PointerType(ir.IntType(8))
        found = context.make_array(signature.args[0])(context, builder, args[0])
        step: Any = cgutils.unpack_tuple(builder, found.strides)[0]  # type: ignore[no-untyped-call]
        pointer = builder.gep(builder.bitcast(found.data, byte), [builder.mul(args[1], step)])
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, "llvm.prefetch.p0"
        )
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def splat(typingctx: Any, like: Any, number: Any) -> Any:
    """Return the same number in all lanes, in the element type of `like` (a Lanes value or an array)."""
    kind = Lanes(like.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[1], signature.args[1], like.dtype)
        return _build_splat(builder, scalar, like.dtype)

    return kind(like, number), codegen


def _build_splat(builder: Any, scalar: Any, dtype: Any) -> Any:
    undefined = ir.Constant(_make_vector_type(dtype), ir.Undefined)
    index = ir.IntType(32)
    one = builder.insert_element(undefined, scalar, index(0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(index, WIDTH), [0] * WIDTH))


def _call_library(name: str, *operands: Any) -> Any:
    """Return signature and code of the function of LLVM with this name, lane by lane; operands have one type."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dtype = operands[0].dtype
        vector = _make_vector_type(dtype)
        kind = ir.FunctionType(vector, [vector] * len(operands))
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, f"llvm.{name}.v{WIDTH}f{dtype.bitwidth}"
        )
        return builder.call(function, args)

    return operands[0](*operands), codegen


# a * b + c with one rounding.
fused_multiply_add = intrinsic(lambda typingctx, a, b, c: _call_library("fma", a, b, c))
lane_minimum = intrinsic(lambda typingctx, a, b: _call_library("minnum", a, b))
lane_maximum = intrinsic(lambda typingctx, a, b: _call_library("maxnum", a, b))
lane_absolute = intrinsic(lambda typingctx, a: _call_library("fabs", a))
round_to_nearest = intrinsic(lambda typingctx, a: _call_library("rint", a))
round_down = intrinsic(lambda typingctx, a: _call_library("floor", a))
# The same numbers, never merged with the operation that follows into one with a single rounding.
rounded = intrinsic(lambda typingctx, a: _call_library("arithmetic.fence", a))


@intrinsic
def any_differs(typingctx: Any, a: Any, b: Any) -> Any:
    """Return whether any lane of `a` differs from `b`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        flags = builder.fcmp_unordered("!=", args[0], args[1])
        packed = builder.bitcast(flags, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", packed, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(a, b), codegen


@intrinsic
def choose_less(typingctx: Any, a: Any, b: Any, if_less: Any, otherwise: Any) -> Any:
    """Return `if_less` in the lanes where a < b, else `otherwise`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return a(a, b, if_less, otherwise), codegen


@intrinsic
def choose_marked(typingctx: Any, marks: Any, if_marked: Any, otherwise: Any) -> Any:
    """Return `if_marked` in the lanes whose bit is set in `marks`, an uint16, else `otherwise`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        flags = builder.bitcast(args[0], ir.VectorType(ir.IntType(1), WIDTH))
        return builder.select(flags, args[1], args[2])

    return if_marked(types.uint16, if_marked, otherwise), codegen


@intrinsic
def widen(typingctx: Any, a: Any) -> Any:
    """Convert to double precision."""
    kind = Lanes(types.float64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0] if a.dtype == types.float64 else builder.fpext(args[0], _make_vector_type(kind.dtype))

    return kind(a), codegen


@intrinsic
def narrow(typingctx: Any, a: Any, like: Any) -> Any:
    """Convert from double precision to the element type of `like` (a Lanes value or an array)."""
    kind = Lanes(like.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        same = like.dtype == types.float64
        return args[0] if same else builder.fptrunc(args[0], _make_vector_type(like.dtype))

    return kind(a, like), codegen


@intrinsic
def power_of_two(typingctx: Any, exponent: Any) -> Any:
    """Return two to an integral exponent within the normal range, by writing the exponent bits."""
    bits, fraction, offset = (32, 23, 127) if exponent.dtype == types.float32 else (64, 52, 1023)
    whole = ir.VectorType(ir.IntType(bits), WIDTH)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer = builder.fptosi(args[0], whole)
        biased = builder.add(integer, ir.Constant(whole, [offset] * WIDTH))
        shifted = builder.shl(biased, ir.Constant(whole, [fraction] * WIDTH))
        return builder.bitcast(shifted, _make_vector_type(exponent.dtype))

    return exponent(exponent), codegen


def _register_binary(operation: Any, instruction: str) -> None:
    """Make an operator of two `Lanes` one instruction, with no function around it that would be compiled."""

    @extending.type_callable(operation)
    def choose_type(context: Any) -> Any:
        return lambda a, b: a if isinstance(a, Lanes) and a == b else None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(args[0], args[1])

    register: Any = extending.lower_builtin
    register(operation, Lanes, Lanes)(generate)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register_binary(_operation, _instruction)
