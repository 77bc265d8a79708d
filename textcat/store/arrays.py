"""Arrays and sparse matrices as plain .npy files: no pickle, and they can be mapped instead of read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from textcat.errors import BadDataError


def write_array(folder: Path, name: str, values: np.ndarray[Any, Any]) -> None:
    """One array in `name.npy`."""
    np.save(folder / f"{name}.npy", np.asarray(values, order="C"), allow_pickle=False)


def read_array(folder: Path, name: str, *, mapped: bool = False) -> np.ndarray[Any, Any]:
    """The array of `name.npy`; mapped arrays stay on disk until they are touched."""
    path = folder / f"{name}.npy"
    try:
        values: np.ndarray[Any, Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadDataError(f"not a readable array: {error}", where=str(path)) from error
    return values


def write_matrix(folder: Path, name: str, matrix: sparse.csr_array[Any]) -> None:
    """A CSR matrix in four files named after it."""
    write_array(folder, f"{name}.data", matrix.data)
    write_array(folder, f"{name}.indices", matrix.indices)
    write_array(folder, f"{name}.indptr", matrix.indptr)
    write_array(folder, f"{name}.shape", np.asarray(matrix.shape, dtype=np.int64))


def read_matrix(folder: Path, name: str, *, mapped: bool = False) -> sparse.csr_array[Any]:
    """The CSR matrix that `write_matrix` left."""
    data, indices, indptr, shape = (
        read_array(folder, f"{name}.{part}", mapped=mapped and part != "shape")
        for part in ("data", "indices", "indptr", "shape")
    )
    matrix = sparse.csr_array((int(shape[0]), int(shape[1])), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


def write_mask(folder: Path, name: str, mask: np.ndarray[Any, Any]) -> None:
    """A bool matrix, a bit an entry."""
    write_array(folder, f"{name}.bits", np.packbits(mask, axis=0))
    write_array(folder, f"{name}.shape", np.asarray(mask.shape, dtype=np.int64))


def read_mask(folder: Path, name: str) -> np.ndarray[Any, Any]:
    """The bool matrix that `write_mask` left."""
    shape = read_array(folder, f"{name}.shape")
    return np.unpackbits(read_array(folder, f"{name}.bits"), axis=0, count=int(shape[0])).astype(bool)


def write_json(folder: Path, name: str, value: Any) -> None:
    """JSON-able data in `name.json`."""
    (folder / f"{name}.json").write_text(
        json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
    )


def read_json(folder: Path, name: str) -> Any:
    """The data of `name.json`."""
    return json.loads((folder / f"{name}.json").read_text())
