"""Write rows of numbers as JSON objects in compiled code, with the bytes of Python's %.6g.

A number of six digits is its product with a power of ten, rounded. Powers up to 10^22 are exact in double precision,
so the product has one rounding error of less than 1e-10. Where it is so near to a half that this could matter, and
for exponents beyond these powers, Python formats the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel

Array = Any

_DIGITS = 6
_EXACT_POWERS = 22
_NEAR_HALF = 1e-8
# The longest number is like -1.23456e-308.
_LONGEST = 13
# Numbers that are formatted together, so that the buffer stays small.
_NUMBERS_AT_A_TIME = 200_000
_POWERS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT, _CLOSE = b"0-+.e}"


@compile_kernel
def write_digits(number: int, digits: int, out: Array, at: int) -> int:
    """Write a whole number with leading zeros; return the place after it."""
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return at + digits


@compile_kernel
def write_scaled(whole: int, exponent: int, out: Array, at: int) -> int:
    """Write six digits d.ddddd times a power of ten as %.6g does; return the place after it."""
    used = _DIGITS
    while used > 1 and whole % 10 == 0:
        whole //= 10
        used -= 1
    if exponent < -4 or exponent >= _DIGITS:
        at = write_digits(whole // _POWERS[used - 1], 1, out, at)
        if used > 1:
            out[at] = _POINT
            at = write_digits(whole % _POWERS[used - 1], used - 1, out, at + 1)
        out[at] = _EXPONENT
        out[at + 1] = _MINUS if exponent < 0 else _PLUS
        size = abs(exponent)
        return write_digits(size, 3 if size >= 100 else 2, out, at + 2)
    if exponent < 0:
        out[at] = _ZERO
        out[at + 1] = _POINT
        return write_digits(whole, used - exponent - 1, out, at + 2)
    after = used - exponent - 1
    if after <= 0:
        return write_digits(whole * _POWERS[-after], exponent + 1, out, at)
    at = write_digits(whole // _POWERS[after], exponent + 1, out, at)
    out[at] = _POINT
    return write_digits(whole % _POWERS[after], after, out, at + 1)


@compile_kernel
def write_number(x: float, powers: Array, out: Array, at: int) -> int:
    """Write a finite number; return the place after it, or -1 if Python has to write it."""
    if x < 0.0 or (x == 0.0 and math.copysign(1.0, x) < 0.0):
        out[at] = _MINUS
        at += 1
        x = -x
    if x == 0.0:
        out[at] = _ZERO
        return at + 1
    # The binary exponent times log10(2): the decimal exponent or one less.
    exponent = int((((np.float64(x).view(np.int64) >> 52) - 1023) * 1233) >> 12)
    scaled = 0.0
    for _ in range(3):
        shift = _DIGITS - 1 - exponent
        if abs(shift) > _EXACT_POWERS:
            return -1
        scaled = x * powers[shift] if shift >= 0 else x / powers[-shift]
        if scaled >= 10.0**_DIGITS:
            exponent += 1
        elif scaled < 10.0 ** (_DIGITS - 1):
            exponent -= 1
        else:
            break
    whole = int(scaled)
    rest = scaled - whole
    if abs(rest - 0.5) < _NEAR_HALF:
        return -1
    if rest > 0.5:
        whole += 1
    if whole == 10**_DIGITS:
        whole //= 10
        exponent += 1
    return write_scaled(whole, exponent, out, at)


@compile_kernel
def write_objects(
    values: Array, prefixes: Array, starts: Array, powers: Array, out: Array, ends: Array
) -> None:
    """Write rows of numbers, each number after its prefix; the end of a row that Python has to write is -1."""
    at = 0
    for i in range(values.shape[0]):
        begin = at
        for k in range(values.shape[1]):
            for t in range(starts[k], starts[k + 1]):
                out[at] = prefixes[t]
                at += 1
            at = write_number(values[i, k], powers, out, at)
            if at < 0:
                break
        if at < 0:
            ends[i] = -1
            at = begin
        else:
            out[at] = _CLOSE
            at += 1
            ends[i] = at


class ObjectWriter:
    """Writes rows of finite numbers as JSON objects with the given names, which are JSON strings already."""

    def __init__(self, names: Sequence[str]) -> None:
        encoded = [f"{', ' if k else '{'}{name}: ".encode() for k, name in enumerate(names)]
        self._prefixes = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self._starts: NDArray[np.int64] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        self._powers = np.array([float(10**k) for k in range(_EXACT_POWERS + 1)])

    def write(self, values: NDArray[np.float64]) -> Iterator[str | None]:
        """Yield an object per row, or None where Python has to write it."""
        width = values.shape[1]
        longest = len(self._prefixes) + _LONGEST * width + 1
        rows = max(1, _NUMBERS_AT_A_TIME // width)
        for first in range(0, len(values), rows):
            part = np.ascontiguousarray(values[first : first + rows], dtype=np.float64)
            out, ends = np.empty(longest * len(part), np.uint8), np.empty(len(part), np.int64)
            write_objects(part, self._prefixes, self._starts, self._powers, out, ends)
            text, begin = out[: max(int(ends.max()), 0)].tobytes(), 0
            for end in ends.tolist():
                if end < 0:
                    yield None
                else:
                    yield text[begin:end].decode()
                    begin = end
