"""How matrices, labels, weights, blocks of categories and priors are made from what a caller gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear.priors import Prior, make_penalty
from textcat.linear.problem import (
    Penalty,
    compute_document_weights,
    labels_as_columns,
    make_matrix_with_bias,
)
from textcat.linear.regularization import lam_from_variance


@for_each("bias", [0.0, 1.0, -2.5])
@for_each("form", [np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_matrix, sp.lil_array])
def test_any_form_of_matrix_becomes_canonical_rows_with_the_constant_last(form: Any, bias: float) -> None:
    dense = np.array([[0.0, 2, 0], [1, 0, 3], [0, 0, 0]])
    found = make_matrix_with_bias(form(dense), bias)
    expected = np.column_stack([dense, np.full(3, bias)]) if bias else dense
    assert np.array_equal(found.toarray(), expected)
    assert found.has_canonical_format
    assert found.dtype == np.float64
    assert found.data.all()


def test_duplicates_are_summed_zeros_dropped_and_the_given_matrix_is_left_alone() -> None:
    given_ = sp.csr_matrix(
        (np.array([1.0, 2, 0, -1, 1]), np.array([1, 1, 0, 0, 0]), np.array([0, 3, 5])), shape=(2, 2)
    )
    before = given_.copy()
    found = make_matrix_with_bias(given_, 0.0)
    assert found.toarray().tolist() == [[0, 3], [0, 0]]
    assert found.nnz == 1
    assert np.array_equal(given_.data, before.data)
    assert np.array_equal(given_.indices, before.indices)


def test_a_canonical_matrix_is_not_copied() -> None:
    rows = sp.csr_matrix(np.array([[0.0, 2], [1, 0]]))
    assert np.shares_memory(make_matrix_with_bias(rows, 0.0).data, rows.data)
    assert make_matrix_with_bias(rows.astype(np.int32), 0.0).dtype == np.float64


@for_each(
    ("X", "message"),
    [
        (np.zeros((0, 3)), "no documents"),
        (np.zeros(3), "documents x features"),
        (np.array([[1.0, np.nan]]), "not finite"),
        (sp.csr_matrix(np.array([[1.0, np.inf]])), "not finite"),
    ],
)
def test_matrices_that_cannot_be_learned_from_are_refused(X: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_matrix_with_bias(X, 1.0)


@given(st.lists(st.lists(st.booleans(), min_size=2, max_size=2), min_size=1, max_size=8))
def test_labels_of_any_kind_of_zero_and_one_are_the_same(rows: list[list[bool]]) -> None:
    expected = np.array(rows)
    for kind in (bool, int, float, np.uint8):
        assert np.array_equal(labels_as_columns(expected.astype(kind), len(rows)), expected)
    flat = labels_as_columns(expected[:, 0], len(rows))
    assert flat.shape == (len(rows), 1)
    assert labels_as_columns(np.asfortranarray(expected), len(rows)).flags.c_contiguous


@for_each(
    ("Y", "message"),
    [
        (np.zeros((2, 2, 1)), "has shape"),
        (np.zeros((3, 1)), "has shape"),
        ([[2], [0]], "must be boolean"),
        ([[-1], [1]], "must be boolean"),
        ([[0.5], [1]], "must be boolean"),
    ],
)
def test_other_labels_are_refused(Y: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        labels_as_columns(Y, 2)


sides = st.lists(st.booleans(), min_size=1, max_size=12).map(lambda labels: np.array(labels)[:, None])


@given(sides)
@settings(deadline=None)
def test_balanced_weights_give_both_sides_half_of_the_documents(positive: np.ndarray) -> None:
    weights = compute_document_weights(positive, None, "balanced")
    assert weights is not None
    n = len(positive)
    for side in (positive, ~positive):
        if side.any():
            assert weights[side].sum() == pytest.approx(n / 2)
    doubled = compute_document_weights(positive, np.full(n, 2.0), "balanced")
    np.testing.assert_allclose(doubled, 2 * weights)


def test_weights_of_sides_and_of_documents_are_multiplied() -> None:
    positive = np.array([[True, False], [False, False]])
    given_ = np.array([3.0, 0.0])
    assert compute_document_weights(positive, None, None) is None
    assert compute_document_weights(positive, given_, {True: 5.0}).tolist() == [[15.0, 3.0], [0.0, 0.0]]
    assert compute_document_weights(positive, given_, {False: 2.0}).tolist() == [[3.0, 6.0], [0.0, 0.0]]
    by_category = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert compute_document_weights(positive, by_category, None).tolist() == by_category.tolist()


@for_each(
    "wrong", [[1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], 2.0, [[1.0, 1.0, 1.0]] * 2, [[1.0, 1.0]]]
)
def test_weights_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="one weight of 0 or more per document"):
        compute_document_weights(np.zeros((2, 1), dtype=bool), wrong, None)


SHAPE = (4, 2)


def penalty(name: str = "gaussian", lam: Any = 0.5, *, penalize_bias: bool = True, **prior: Any) -> Penalty:
    """The penalty of three features and a constant, in two categories and ten documents."""
    return make_penalty(Prior(name, **prior), lam, SHAPE, 10, True, penalize_bias)


@for_each("name", ["gaussian", "laplace"])
@for_each("by_category", [False, True])
def test_a_variance_takes_the_place_of_lam(name: str, by_category: bool) -> None:
    """NaN keeps lam; the constant always has lam."""
    variance = np.array([[2.0, 4.0], [np.nan, np.nan], [1.0, 8.0]])
    found = penalty(name, variance=variance if by_category else variance[:, 0]).strength
    chosen = variance if by_category else variance[:, [0, 0]]
    expected = np.where(np.isnan(chosen), 0.5, lam_from_variance(chosen, 10, name))
    assert np.array_equal(found, np.vstack([expected, [0.5, 0.5]]))


@for_each("name", ["gaussian", "laplace", "none"])
@for_each("lam", [0.25, [0.25, 4.0]])
@for_each("penalize_bias", [True, False])
def test_lam_is_one_number_or_one_per_category(name: str, lam: Any, penalize_bias: bool) -> None:
    found = penalty(name, lam, penalize_bias=penalize_bias)
    expected = np.zeros(SHAPE) if name == "none" else np.broadcast_to(np.asarray(lam), SHAPE).copy()
    if not penalize_bias:
        expected[-1] = 0.0
    assert np.array_equal(found.strength, expected)
    assert found.prior == ("gaussian" if name == "none" else name)
    weights = np.array([[1.0, -2], [0, 3], [0.5, 0], [4, 4]])
    size = np.abs(weights) if name == "laplace" else weights**2
    np.testing.assert_allclose(found.values(weights, slice(0, 2)), (expected * size).sum(axis=0))
    np.testing.assert_allclose(
        found.values(weights[:, 1:], slice(1, 2)), (expected[:, 1:] * size[:, 1:]).sum(axis=0)
    )


@for_each(
    ("given_", "message"),
    [
        ({"lam": [1.0, 2.0, 3.0]}, "one per category"),
        ({"lam": [[1.0, 2.0]]}, "one per category"),
        ({"lam": np.inf}, "finite and 0 or more"),
        ({"lam": [0.1, -0.1]}, "finite and 0 or more"),
        ({"variance": [1.0, 2.0]}, "variance has shape"),
        ({"variance": np.ones((3, 3))}, "variance has shape"),
        ({"variance": [1.0, 0.0, 1.0]}, "above 0"),
    ],
)
def test_priors_that_make_no_sense_are_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        penalty(**given_)


def test_without_a_constant_the_last_row_is_a_feature() -> None:
    found = make_penalty(Prior("gaussian", variance=[1.0, 2, 4, 8]), 0.5, SHAPE, 10, False, False)
    assert found.strength[-1].tolist() == [lam_from_variance(8.0, 10, "gaussian")] * 2
