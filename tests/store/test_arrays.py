"""Arrays, matrices and masks come back as they went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from textcat.errors import BadDataError
from textcat.store.arrays import (
    read_array,
    read_json,
    read_mask,
    read_matrix,
    write_array,
    write_json,
    write_mask,
    write_matrix,
)


@given(arrays(bool, st.tuples(st.integers(0, 20), st.integers(0, 9))))
def test_masks_round_trip(tmp_path_factory: pytest.TempPathFactory, mask: np.ndarray) -> None:
    folder = tmp_path_factory.mktemp("mask")
    write_mask(folder, "m", mask)
    assert np.array_equal(read_mask(folder, "m"), mask)


@pytest.mark.parametrize("mapped", [False, True])
def test_matrices_round_trip(tmp_path: Path, mapped: bool) -> None:
    matrix = sparse.csr_array(sparse.random(30, 17, density=0.2, format="csr", random_state=1))
    write_matrix(tmp_path, "x", matrix)
    back = read_matrix(tmp_path, "x", mapped=mapped)
    assert back.shape == matrix.shape
    assert (back != matrix).nnz == 0
    assert isinstance(back.data, np.memmap) == mapped


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(BadDataError, match="not readable as an array"):
        read_array(tmp_path, "x")


def test_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        write_array(tmp_path, "x", np.array([object()]))


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((0, 3), np.float32),
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        np.array([[True, False]]),
        np.array(["a", "bcd"]),
        np.arange(4, dtype=">i8"),
    ],
    ids=["empty", "rows", "columns", "bool", "text", "big-endian"],
)
def test_arrays_of_numpy_are_read_as_they_are(
    tmp_path: Path, values: np.ndarray[Any, Any], mapped: bool
) -> None:
    np.save(tmp_path / "values.npy", values)
    # No array without elements can be mapped.
    read = read_array(tmp_path, "values", mapped=mapped and values.size > 0)
    assert (read.dtype, read.shape) == (values.dtype, values.shape)
    assert np.array_equal(read, values)


def test_a_single_number_stays_one(tmp_path: Path) -> None:
    write_array(tmp_path, "n", np.array(7))
    assert read_array(tmp_path, "n").shape == ()


@given(st.lists(st.text()))
def test_lists_of_strings_are_written_as_json_writes_them(
    tmp_path_factory: pytest.TempPathFactory, strings: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("json")
    strings = [text.encode("utf-8", "ignore").decode() for text in strings]
    write_json(folder, "terms", strings)
    written = (folder / "terms.json").read_text(encoding="utf-8")
    assert written == json.dumps(strings, ensure_ascii=False, indent=1) + "\n"
    assert read_json(folder, "terms") == strings


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text('{"run": {"name": "svm", "seed": 1, "name": "logistic"}}')
    with pytest.raises(BadDataError, match="the key 'name' is given twice"):
        read_json(tmp_path, "facts")
