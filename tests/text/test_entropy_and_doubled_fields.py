"""Entropy weights against their definition, and fields whose words count twice."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.sparse import csr_array

from textcat.text.text_settings import TextSettings
from textcat.text.weighting import compute_concentrations, compute_shares


def test_a_term_of_one_document_is_concentrated_and_an_even_one_is_not() -> None:
    counts = csr_array(np.array([[3, 2, 0], [0, 2, 0], [0, 2, 0]], dtype=np.int32))
    np.testing.assert_allclose(compute_concentrations(counts), [1.0, 0.0, 1.0], atol=1e-12)


def test_concentration_is_one_less_the_normalised_entropy() -> None:
    counts = np.array([[5, 1], [1, 1], [2, 0], [0, 7]], dtype=np.int32)
    for term in range(2):
        p = counts[:, term] / counts[:, term].sum()
        entropy = -sum(x * log(x) for x in p if x > 0) / log(4)
        assert compute_concentrations(csr_array(counts))[term] == pytest.approx(1 - entropy)


def test_shares_of_the_counted_terms_sum_to_one() -> None:
    counts = csr_array(np.array([[3, 2, 5], [0, 2, 0]], dtype=np.int32))
    counted = np.array([True, True, False])
    found = csr_array(
        (compute_shares(counts, counted), counts.indices, counts.indptr), shape=counts.shape
    ).toarray()
    np.testing.assert_allclose(found[:, :2].sum(axis=1), [1.0, 1.0])


def test_a_doubled_field_is_apart_and_among_the_merged_ones() -> None:
    settings = TextSettings(fields=("title", "body"), separate_fields=("title",), doubled_fields=("title",))
    assert settings.field_groups == (("", ("title", "body")), ("title:", ("title",)))


def test_a_doubled_field_must_be_separate() -> None:
    with pytest.raises(ValueError, match="separate_fields does not"):
        TextSettings(fields=("title", "body"), doubled_fields=("title",))
