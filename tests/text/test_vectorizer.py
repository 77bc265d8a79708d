"""Weights and lengths against the equations, written out for one document at a time."""

from __future__ import annotations

from io import BytesIO
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.text.documents import SmallDocument, documents
from textcat.errors import UsageError
from textcat.text import TextSettings, Vectorizer, VectorSettings, count_terms

BODY = TextSettings(fields=("body",))
NEWS = [
    *documents("corn corn wheat", "wheat oil", "wheat wheat wheat"),
    *documents("corn tin tin", split="test"),
]
COUNTED = count_terms(NEWS, BODY)
GENKIN = VectorSettings(weighting="log_tf_idf", cosine=True)


def fitted(**chosen: Any) -> Vectorizer:
    return Vectorizer.fit(COUNTED, settings=VectorSettings(**chosen))


@pytest.mark.parametrize(
    ("weighting", "weight"),
    [
        ("binary", lambda n, idf: 1.0),
        ("tf", lambda n, idf: n),
        ("log_tf", lambda n, idf: 1 + log(n)),
        ("tf_idf", lambda n, idf: n * idf),
        ("log_tf_idf", lambda n, idf: (1 + log(n)) * idf),
    ],
)
def test_weights(weighting: str, weight: Any) -> None:
    vectors = fitted(weighting=weighting).transform(COUNTED).toarray()
    idf = {"corn": log(4 / 2), "oil": log(4 / 2), "wheat": log(4 / 4)}
    expected = [
        [weight(row[term], idf[term]) if term in row else 0.0 for term in ("corn", "oil", "wheat")]
        for row in ({"corn": 2, "wheat": 1}, {"wheat": 1, "oil": 1}, {"wheat": 3}, {"corn": 1})
    ]
    np.testing.assert_allclose(vectors, expected, atol=1e-15)


def test_length_counts_terms_of_the_test_documents_too() -> None:
    vectorizer = fitted(weighting="log_tf_idf", cosine=True)
    corn, tin = log(4 / 2), (1 + log(2)) * log(4 / 1)
    assert vectorizer.terms == ["corn", "oil", "wheat"]
    row = vectorizer.transform(COUNTED).toarray()[3]
    np.testing.assert_allclose(row, [corn / sqrt(corn**2 + tin**2), 0, 0])
    kept_only = fitted(weighting="log_tf_idf", cosine=True, cosine_terms="kept").transform(COUNTED)
    np.testing.assert_allclose(kept_only.toarray()[3], [1, 0, 0])


def test_a_document_without_weight_is_the_zero_vector() -> None:
    vectors = fitted(weighting="log_tf_idf", cosine=True).transform(COUNTED)
    assert vectors.toarray()[2].tolist() == [0.0, 0.0, 0.0]
    assert (vectors.data != 0).all()


@pytest.mark.parametrize(
    ("chosen", "terms"),
    [
        ({}, ["corn", "oil", "wheat"]),
        ({"vocabulary": "all"}, ["corn", "oil", "tin", "wheat"]),
        ({"minimum_documents": 2}, ["wheat"]),
        ({"minimum_documents": 2, "vocabulary": "all"}, ["corn", "wheat"]),
        ({"minimum_count": 2}, ["corn", "wheat"]),
        ({"minimum_count": 2, "vocabulary": "all"}, ["corn", "tin", "wheat"]),
        ({"minimum_count": 6}, []),
    ],
)
def test_which_terms_are_features(chosen: dict[str, Any], terms: list[str]) -> None:
    vectorizer = fitted(**chosen)
    assert vectorizer.terms == terms
    assert vectorizer.transform(COUNTED).shape == (4, len(terms))


def test_training_rows_can_be_given() -> None:
    vectorizer = Vectorizer.fit(COUNTED, np.array([False, True, False, True]), settings=VectorSettings())
    assert vectorizer.terms == ["corn", "oil", "tin", "wheat"]
    assert vectorizer.documents == 2


def test_no_training_document_is_refused() -> None:
    with pytest.raises(UsageError):
        Vectorizer.fit(COUNTED.take(COUNTED.in_split("test")), settings=VectorSettings())


@given(
    bodies=st.lists(
        st.lists(st.sampled_from(["corn", "oil", "zinc", "gold"]), max_size=6).map(" ".join), max_size=6
    )
)
@settings(max_examples=60, deadline=None)
def test_new_documents_are_weighted_as_if_they_had_been_there(bodies: list[str]) -> None:
    new = [SmallDocument(f"n{n}", {"body": body}, (), "test") for n, body in enumerate(bodies)]
    together = count_terms([*NEWS, *new], BODY)
    with_new = Vectorizer.fit(together, settings=GENKIN).transform(together).toarray()[len(NEWS) :]
    apart = (
        fitted(weighting="log_tf_idf", cosine=True)
        .transform(count_terms(new, BODY, missing_fields=True))
        .toarray()
    )
    np.testing.assert_allclose(apart, with_new, atol=1e-15)
    norms = np.sqrt((apart**2).sum(axis=1))
    assert (norms <= 1 + 1e-12).all()


def test_columns_are_sorted_and_without_zeros() -> None:
    vectors = fitted(weighting="tf_idf").transform(COUNTED)
    for row in range(4):
        assert (np.diff(vectors.indices[vectors.indptr[row] : vectors.indptr[row + 1]]) > 0).all()
    assert (vectors.data != 0).all()


def test_restored_vectorizer_gives_the_same_vectors() -> None:
    vectorizer = fitted(weighting="log_tf_idf", cosine=True, minimum_documents=1)
    file = BytesIO()
    np.savez(file, allow_pickle=False, **vectorizer.to_arrays())
    file.seek(0)
    restored = Vectorizer.from_arrays(dict(np.load(file, allow_pickle=False)), vectorizer.describe())
    assert restored.settings == vectorizer.settings
    assert restored.terms == vectorizer.terms
    np.testing.assert_array_equal(
        restored.transform(COUNTED).toarray(), vectorizer.transform(COUNTED).toarray()
    )


@pytest.mark.parametrize("wrong", [{"weighting": "bm26"}, {"minimum_documents": 0}, {"cosin": True}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        VectorSettings.model_validate(wrong)


def test_every_setting_is_described() -> None:
    assert all(field.description for field in VectorSettings.model_fields.values())
