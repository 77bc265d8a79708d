"""Checks of training data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.errors import BadDataError, UsageError
from textcat.learners.checks import (
    as_documents,
    as_labels,
    as_mask,
    check_one_category_each,
    require_positive,
)


def test_labels_are_bool_and_fit_the_documents() -> None:
    assert as_labels([0, 1], 2).tolist() == [[False], [True]]
    with pytest.raises(UsageError, match="must be bool"):
        as_labels(np.array([-1, 1]), 2)
    with pytest.raises(UsageError, match="shape"):
        as_labels(np.zeros((3, 1), dtype=bool), 2)
    with pytest.raises(UsageError, match="no documents"):
        as_labels(np.zeros((0, 1), dtype=bool), 0)


@pytest.mark.parametrize("wrong", [[[1, 1], [0, 1]], [[0, 0], [0, 1]], [[1], [1]]])
def test_every_document_has_exactly_one_of_at_least_two_categories(wrong: list[list[int]]) -> None:
    check_one_category_each([[1, 0], [0, 1]], 2)
    with pytest.raises(BadDataError, match="exactly one"):
        check_one_category_each(wrong, 2)


@pytest.mark.parametrize("row", [0, 2, 4])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_wrong_row_is_named_also_behind_empty_rows(row: int, value: float) -> None:
    dense = np.zeros((5, 3))
    dense[row:, 1] = value
    with pytest.raises(BadDataError) as caught:
        as_documents(sp.csr_matrix(dense))
    assert caught.value.where == f"document row {row}"


@pytest.mark.parametrize(
    "given", [np.array([[0, 2], [1, 0]]), sp.coo_array([[0, 2], [1, 0]]), [[0, 2], [1, 0]]]
)
def test_documents_of_any_form_are_canonical_rows_of_float64(given: Any) -> None:
    found = as_documents(given)
    assert found.toarray().tolist() == [[0.0, 2.0], [1.0, 0.0]]
    assert found.dtype == np.float64
    assert found.format == "csr"
    assert found.has_canonical_format


def test_a_mask_is_for_all_categories_or_for_each() -> None:
    assert as_mask(None, 2, 3).tolist() == [[True] * 3] * 2
    assert as_mask([1, 0], 2, 3).tolist() == [[True] * 3, [False] * 3]
    own = [[True, False], [False, True]]
    assert as_mask(own, 2, 2).tolist() == own
    for wrong in ([True], [[True]], np.ones((3, 2)), np.ones((2, 3))):
        with pytest.raises(UsageError, match="does not fit 2 features x 2 categories"):
            as_mask(wrong, 2, 2)


@pytest.mark.parametrize("value", [0, 0.0, -1, -1e-300, np.inf, -np.inf, np.nan])
def test_settings_are_positive_and_finite(value: float) -> None:
    require_positive(rate=1e-300, passes=1, C=1e300)
    with pytest.raises(UsageError, match="passes must be a positive number"):
        require_positive(rate=1.0, passes=value)
