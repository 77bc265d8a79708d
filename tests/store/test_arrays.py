"""Arrays, matrices and masks come back as they went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.errors import BadDataError
from textcat.store.arrays import (
    read_array,
    read_json,
    write_array,
    write_json,
)


def test_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        write_array(tmp_path, "x", np.array([object()]))


@for_each("mapped", [False, True])
@for_each(
    "values",
    [
        np.zeros((0, 3), np.float32),
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        np.array([[True, False]]),
        np.array(["a", "bcd"]),
        np.arange(4, dtype=">i8"),
    ],
)
def test_arrays_of_numpy_are_read_as_they_are(
    tmp_path: Path, values: np.ndarray[Any, Any], mapped: bool
) -> None:
    np.save(tmp_path / "values.npy", values)
    # No array without elements can be mapped.
    read = read_array(tmp_path, "values", mapped=mapped and values.size > 0)
    assert (read.dtype, read.shape) == (values.dtype, values.shape)
    assert np.array_equal(read, values)


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
