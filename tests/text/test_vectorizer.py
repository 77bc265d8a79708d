"""Weights and lengths against the equations, written out for one document at a time."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.sparse import csr_array

from tests.loops import for_each
from tests.text.documents import documents
from textcat.errors import BadDataError, UsageError
from textcat.text import CountedDocuments, TextSettings, Vectorizer, VectorSettings, count_terms
from textcat.text.counting import pack_json

BODY = TextSettings(fields=("body",))
NEWS = [
    *documents("corn corn wheat", "wheat oil", "wheat wheat wheat"),
    *documents("corn tin tin", split="test"),
]
COUNTED = count_terms(NEWS, BODY)


def fitted(**chosen: Any) -> Vectorizer:
    return Vectorizer.fit(COUNTED, settings=VectorSettings(**chosen))


def test_training_rows_can_be_given() -> None:
    vectorizer = Vectorizer.fit(COUNTED, np.array([False, True, False, True]), settings=VectorSettings())
    assert vectorizer.terms == ["corn", "oil", "tin", "wheat"]
    assert vectorizer.documents == 2


def test_no_training_document_is_refused() -> None:
    with pytest.raises(UsageError):
        Vectorizer.fit(COUNTED.take(COUNTED.in_split("test")), settings=VectorSettings())


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


@for_each("wrong", [{"weighting": "bm26"}, {"minimum_documents": 0}, {"cosin": True}])
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


@for_each(
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


@for_each(
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


@for_each("terms", [["tin", "corn"], ["zinc"], []])
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
