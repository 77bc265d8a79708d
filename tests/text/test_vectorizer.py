"""Weights and lengths against the equations, written out for one document at a time."""

from __future__ import annotations

import json
from io import BytesIO
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.sparse import csr_array

from tests.text.documents import SmallDocument, documents
from textcat.errors import BadDataError, UsageError
from textcat.text import CountedDocuments, TextSettings, Vectorizer, VectorSettings, count_terms
from textcat.text.counting import pack_json

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


def of_groups() -> Vectorizer:
    chosen = TextSettings.model_validate(
        {
            "fields": ["body"],
            "tokenizer": "whitespace",
            "groups": [
                {"ngrams": [1, 1], "weighting": "bm25"},
                {"analyzer": "char", "ngrams": [2, 2], "norm": "l1"},
            ],
        }
    )
    return Vectorizer.fit(
        count_terms(NEWS, chosen), settings=VectorSettings(cosine=True), groups=chosen.groups
    )


def test_groups_lengths_and_settings_are_restored() -> None:
    whole = of_groups()
    assert len(whole.average_lengths) == 2
    again = Vectorizer.from_arrays(whole.to_arrays(), json.loads(json.dumps(whole.describe())))
    assert (again.groups, again.group_ends, again.average_lengths) == (
        whole.groups,
        whole.group_ends,
        whole.average_lengths,
    )
    assert [(part.start, part.end, part.weighting, part.norm) for part in again.parts] == [
        (0, whole.group_ends[0], "bm25", "l2"),
        (whole.group_ends[0], len(whole.seen), "binary", "l1"),
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seen": pack_json({"corn": 1})}, "not a list of words"),
        ({"seen": pack_json(["corn", 2, "wheat"])}, "not a list of words"),
        ({"seen": pack_json(["corn"])}, "do not fit its 1 terms"),
        ({"kept": np.ones(3)}, "do not fit"),
        ({"containing": np.ones(3)}, "do not fit"),
        ({"concentration": np.ones(3, dtype=np.int64)}, "do not fit"),
        ({"concentration": np.ones(4)}, "do not fit"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, Any], message: str) -> None:
    vectorizer = Vectorizer.fit(COUNTED.take(COUNTED.in_split("train")), settings=VectorSettings())
    arrays = vectorizer.to_arrays() | {"seen": pack_json(["corn", "oil", "wheat"])}
    short = {name: arrays[name][[0, 1, 3]] for name in ("containing", "concentration", "kept")}
    assert Vectorizer.from_arrays(arrays | short, vectorizer.describe()).documents == 3
    with pytest.raises(BadDataError, match=message):
        Vectorizer.from_arrays(arrays | short | changed, vectorizer.describe())


@pytest.mark.parametrize(
    "changed",
    [
        {"group_ends": [1]},
        {"group_ends": []},
        {"group_ends": [4, 3]},
        {"average_lengths": [1.0]},
        {"group_ends": [2, 99]},
    ],
)
def test_groups_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    whole = of_groups()
    with pytest.raises(BadDataError):
        Vectorizer.from_arrays(whole.to_arrays(), whole.describe() | changed)


def test_documents_counted_over_other_terms_need_the_counter_of_groups() -> None:
    with pytest.raises(UsageError, match="other terms than the model's"):
        of_groups().transform(COUNTED)


def test_mean_lengths_count_features_of_training_documents_only() -> None:
    """Five of the training documents' eight words are features; the test document does not count."""
    fitted_ = fitted(weighting="bm25", minimum_documents=2)
    assert fitted_.terms == ["wheat"]
    assert fitted_.average_lengths == (5 / 3,)
    assert fitted(weighting="tf").average_lengths == ()


@pytest.mark.parametrize("terms", [["tin", "corn"], ["zinc"], []])
def test_columns_of_counts_may_have_any_order(terms: list[str]) -> None:
    """The counts of a document are looked up by the names of terms."""
    counts = csr_array(np.array([[index + 1 for index in range(len(terms))]], dtype=np.int32))
    found = fitted(weighting="tf").transform(CountedDocuments(counts, terms, ["x"], [()], ["test"])).toarray()
    assert found.tolist() == [[float(terms.index("corn") + 1) if "corn" in terms else 0.0, 0.0, 0.0]]


def test_no_features_give_empty_vectors() -> None:
    assert fitted(minimum_documents=9).transform(COUNTED).shape == (4, 0)
    nothing = count_terms(documents("", ""), BODY, missing_fields=True)
    empty = Vectorizer.fit(nothing, settings=VectorSettings(weighting="log_tf_idf", cosine=True))
    assert empty.transform(COUNTED).shape == (4, 0)
