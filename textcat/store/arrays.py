"""Read and write arrays, sparse matrices, masks and JSON in a folder, without pickle; arrays may be mapped."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from textcat.errors import BadDataError
from textcat.matrices import find_fault
from textcat.store.files import parse_json


def write_array(folder: Path, name: str, values: np.ndarray[Any, Any]) -> None:
    """Write an array to `name.npy`."""
    np.save(folder / f"{name}.npy", np.asarray(values, order="C"), allow_pickle=False)


@dataclass(frozen=True)
class VerifiedFolder:
    """A folder with the sha256 of its files, which the bytes that are read must have.

    So files of another folder that takes its place while it is read are never taken for its own.
    """

    path: Path
    checksums: Mapping[str, str]

    def __truediv__(self, name: str) -> Path:
        """Return the path of a file."""
        return self.path / name

    def verify(self, name: str, content: np.ndarray[Any, Any]) -> None:
        """Raise ValueError if the bytes read from a file are not those that were written."""
        if self.checksums.get(name) != hashlib.sha256(content.data).hexdigest():
            raise ValueError("the file is damaged: its sha256 is not the one that was written with it")


Folder = Path | VerifiedFolder


def _read_content(folder: Folder, name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of a regular file, all that its size says."""
    path = folder / name
    if not path.is_file():
        raise ValueError("the file is missing")
    with path.open("rb") as stream:
        # Ctrl-C within np.load can become a TypeError.
        content = np.empty(os.fstat(stream.fileno()).st_size, np.uint8)
        if stream.readinto(content.data) != len(content):
            raise ValueError("the file has become shorter")
    if isinstance(folder, VerifiedFolder):
        folder.verify(name, content)
    return content


def read_array(folder: Folder, name: str, *, mapped: bool = False) -> np.ndarray[Any, Any]:
    """Read the array of `name.npy`; a mapped array stays on disk until it is accessed."""
    path = folder / f"{name}.npy"
    try:
        if mapped and path.is_file():
            with path.open("rb") as stream:
                _read_header(stream, os.fstat(stream.fileno()).st_size)
            values: np.ndarray[Any, Any] = np.load(path, "r", allow_pickle=False)
            return values
        content = _read_content(folder, path.name)
        head = io.BytesIO(content[:_MOST_HEADER_BYTES].tobytes())
        shape, is_fortran, dtype = _read_header(head, len(content))
        values = content[head.tell() :].view(dtype).reshape(shape, order="F" if is_fortran else "C")
    except _READ_ERRORS as error:
        raise _make_read_error("an array", path, error) from error
    return np.require(values, requirements="A")


# The errors that numpy's header parser raises for a damaged header.
_READ_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    SyntaxError,
    ArithmeticError,
    RecursionError,
    tokenize.TokenError,
)


# numpy refuses longer ones.
_MOST_HEADER_BYTES = 1 << 16


def _read_header(stream: BinaryIO, length: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and element type of an array; refuse a header that does not fit the file's length."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an unknown version {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("it holds objects")
    if math.prod(shape) * dtype.itemsize != length - stream.tell():
        raise ValueError(f"its size does not fit its shape {shape}")
    return shape, is_fortran, dtype


# Matrices with more bytes than this are mapped if the reader allows it.
LARGE_MATRIX_BYTES = 256_000_000


def is_large(folder: Path, name: str) -> bool:
    """Return whether a matrix should be mapped instead of read."""
    path = folder / f"{name}.data.npy"
    return path.is_file() and path.stat().st_size > LARGE_MATRIX_BYTES


def write_matrix(folder: Path, name: str, matrix: sparse.csr_array[Any]) -> None:
    """Write a CSR matrix to four files."""
    write_array(folder, f"{name}.data", matrix.data)
    write_array(folder, f"{name}.indices", matrix.indices)
    write_array(folder, f"{name}.indptr", matrix.indptr)
    write_array(folder, f"{name}.shape", np.asarray(matrix.shape, dtype=np.int64))


def read_matrix(folder: Path, name: str, *, mapped: bool = False) -> sparse.csr_array[Any]:
    """Read and check a CSR matrix of `write_matrix`; compiled kernels do not check its indices."""
    data, indices, indptr, shape = (
        read_array(folder, f"{name}.{part}", mapped=mapped and part != "shape")
        for part in ("data", "indices", "indptr", "shape")
    )
    try:
        rows, columns = (int(length) for length in shape)
        if fault := find_fault(data, indices, indptr, rows, columns):
            raise ValueError(fault)
    except (ValueError, TypeError, OverflowError) as error:
        raise _make_read_error("a sparse matrix", folder / name, error) from error
    matrix = sparse.csr_array((rows, columns), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


def write_mask(folder: Path, name: str, mask: np.ndarray[Any, Any]) -> None:
    """Write a bool matrix with one bit per entry."""
    write_array(folder, f"{name}.bits", np.packbits(mask, axis=0))
    write_array(folder, f"{name}.shape", np.asarray(mask.shape, dtype=np.int64))


def read_mask(folder: Path, name: str) -> np.ndarray[Any, Any]:
    """Read a bool matrix of `write_mask`."""
    shape, bits = read_array(folder, f"{name}.shape"), read_array(folder, f"{name}.bits")
    try:
        rows, columns = (int(length) for length in shape)
        if bits.dtype != np.uint8 or bits.shape != ((rows + 7) // 8, columns):
            raise ValueError("its size does not fit its shape")
    except (ValueError, TypeError, OverflowError) as error:
        raise _make_read_error("a mask", folder / name, error) from error
    # numpy's unpackbits takes eight times as long on this axis.
    mask = np.empty((len(bits), 8, columns), dtype=np.uint8)
    for bit in range(8):
        np.bitwise_and(bits >> (7 - bit), 1, out=mask[:, bit])
    return mask.reshape(8 * len(bits), columns)[:rows].view(np.bool_)


def write_json(folder: Path, name: str, value: Any) -> None:
    """Write JSON-able data to `name.json`."""
    if isinstance(value, list) and set(map(type, value)) == {str}:
        # The same text as with `indent`, for which json has no compiled code.
        text = json.dumps(value, ensure_ascii=False, separators=(",\n ", ": "))
        text = f"[\n {text[1:-1]}\n]"
    else:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def read_json(folder: Folder, name: str) -> Any:
    """Read the data of `name.json`."""
    path = folder / f"{name}.json"
    try:
        return parse_json(_read_content(folder, path.name).tobytes().decode())
    except (OSError, ValueError, RecursionError) as error:
        raise _make_read_error("JSON", path, error) from error


def _make_read_error(what: str, path: Path, error: Exception) -> BadDataError:
    return BadDataError(
        f"not readable as {what}: {error}",
        where=str(path),
        hint="Train the model again, or clear the cache below the data folder.",
    )
