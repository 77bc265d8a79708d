"""Arrays, matrices and masks in files: every type and shape comes back, and any damage is one documented error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from tests.loops import for_each
from textcat.errors import BadDataError
from textcat.store import arrays
from textcat.store.arrays import (
    is_large,
    read_array,
    read_mask,
    read_matrix,
    write_array,
    write_mask,
    write_matrix,
)

dtypes = st.sampled_from([np.bool_, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64])


@given(st.data(), dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.booleans())
@settings(max_examples=80, deadline=None)
def test_arrays_of_any_type_and_shape_come_back(tmp_path_factory, data, dtype, shape, fortran: bool) -> None:
    """In C order, whatever order they were in; mapped arrays are the same."""
    folder = tmp_path_factory.mktemp("arrays")
    values = data.draw(hnp.arrays(dtype, shape))
    write_array(folder, "a", np.asarray(values, order="F" if fortran else "C"))
    found = read_array(folder, "a")
    np.testing.assert_array_equal(found, values, strict=True)
    assert found.flags.c_contiguous
    if values.size and values.ndim:
        mapped = read_array(folder, "a", mapped=True)
        assert isinstance(mapped, np.memmap)
        np.testing.assert_array_equal(np.asarray(mapped), values, strict=True)


@for_each("mapped", [False, True])
def test_a_file_cut_anywhere_or_too_long_is_refused(mapped: bool, tmp_path: Path) -> None:
    write_array(tmp_path, "a", np.arange(6, dtype=np.int32))
    path = tmp_path / "a.npy"
    whole = path.read_bytes()
    for content in (*(whole[:length] for length in range(0, len(whole), 3)), whole + b"\0"):
        path.write_bytes(content)
        with pytest.raises(BadDataError) as caught:
            read_array(tmp_path, "a", mapped=mapped)
        assert caught.value.where.endswith("a.npy")
        assert caught.value.hint


@given(st.integers(0, 127), st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_any_changed_byte_of_a_header_is_an_array_or_one_error(
    tmp_path_factory, place: int, value: int
) -> None:
    folder = tmp_path_factory.mktemp("header")
    write_array(folder, "a", np.arange(6, dtype=np.int32))
    path = folder / "a.npy"
    content = bytearray(path.read_bytes())
    content[place] = value
    path.write_bytes(bytes(content))
    try:
        assert read_array(folder, "a").nbytes == 24
    except BadDataError as error:
        assert str(path) in str(error)


@for_each("kind", ["absent", "folder", "pickle"])
def test_what_is_no_array_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    if kind == "folder":
        path.mkdir()
    elif kind == "pickle":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(BadDataError):
        read_array(tmp_path, "a")


@given(
    st.integers(0, 999),
    st.integers(0, 6),
    st.integers(1, 6),
    st.sampled_from([np.int32, np.float32, np.float64]),
)
@settings(max_examples=40, deadline=None)
def test_matrices_come_back_bit_by_bit(tmp_path_factory, seed: int, rows: int, columns: int, dtype) -> None:
    folder = tmp_path_factory.mktemp("matrix")
    rng = np.random.default_rng(seed)
    dense = (rng.integers(1, 9, (rows, columns)) * (rng.random((rows, columns)) < 0.4)).astype(dtype)
    matrix = sparse.csr_array(dense)
    write_matrix(folder, "X", matrix)
    for mapped in (False, True):
        found = read_matrix(folder, "X", mapped=mapped)
        assert found.shape == matrix.shape
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, part), getattr(matrix, part), strict=True)


@for_each(
    ("part", "values"),
    [
        ("shape", np.array([2])),
        ("shape", np.array([2, -3])),
        ("shape", np.array([3, 3])),
        ("indices", np.array([0, 9, 1])),
        ("indices", np.array([0, -1, 1])),
        ("indices", np.array([0.0, 2.0, 1.0])),
        ("indices", np.array([0, 2])),
        ("indptr", np.array([0, 2])),
        ("indptr", np.array([1, 2, 3])),
        ("indptr", np.array([0, 4, 3])),
        ("indptr", np.array([0, 2, 4])),
        ("data", np.array([1.0])),
        ("data", np.array(["a", "b", "c"])),
        ("data", np.ones((3, 1))),
    ],
)
def test_parts_that_form_no_matrix_are_refused(part: str, values: np.ndarray, tmp_path: Path) -> None:
    """Compiled kernels do not check positions, so that the reader must."""
    write_matrix(tmp_path, "X", sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]])))
    write_array(tmp_path, f"X.{part}", values)
    with pytest.raises(BadDataError, match="a sparse matrix"):
        read_matrix(tmp_path, "X")


@given(hnp.arrays(np.bool_, st.tuples(st.integers(0, 20), st.integers(0, 4))))
@settings(max_examples=40, deadline=None)
def test_masks_take_one_bit_per_entry(tmp_path_factory, mask: np.ndarray) -> None:
    folder = tmp_path_factory.mktemp("mask")
    write_mask(folder, "m", mask)
    np.testing.assert_array_equal(read_mask(folder, "m"), mask, strict=True)
    assert read_array(folder, "m.bits").nbytes == -(-mask.shape[0] // 8) * mask.shape[1]


@for_each(
    ("name", "values"),
    [
        ("m.shape", np.array([99, 2])),
        ("m.shape", np.array([9])),
        ("m.shape", np.array([-1, 2])),
        ("m.bits", np.zeros((1, 2), dtype=np.uint8)),
        ("m.bits", np.zeros((2, 2))),
    ],
)
def test_a_damaged_mask_is_refused(name: str, values: np.ndarray, tmp_path: Path) -> None:
    write_mask(tmp_path, "m", np.ones((9, 2), dtype=bool))
    write_array(tmp_path, name, values)
    with pytest.raises(BadDataError):
        read_mask(tmp_path, "m")


def test_matrices_above_the_limit_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_matrix(tmp_path, "X", sparse.csr_array(np.ones((4, 4))))
    size = (tmp_path / "X.data.npy").stat().st_size
    for limit, large in ((size - 1, True), (size, False)):
        monkeypatch.setattr(arrays, "LARGE_MATRIX_BYTES", limit)
        assert is_large(tmp_path, "X") == large
    assert not is_large(tmp_path, "absent")
