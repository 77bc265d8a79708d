"""Counting against a plain dictionary, and independence of chunks and processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.loops import for_each
from tests.text.documents import SmallDocument, documents
from textcat.errors import UsageError
from textcat.text import CountedDocuments, TextSettings, count_terms

BODY = TextSettings(fields=("body",))


def as_dictionaries(counted: CountedDocuments) -> list[dict[str, int]]:
    dense = counted.counts.toarray()
    return [{counted.terms[j]: int(row[j]) for j in np.flatnonzero(row)} for row in dense]


def assert_same(left: CountedDocuments, right: CountedDocuments) -> None:
    assert (left.terms, left.ids, left.labels, left.split) == (
        right.terms,
        right.ids,
        right.labels,
        right.split,
    )
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(left.counts, part), getattr(right.counts, part), strict=True)


def assert_canonical(counted: CountedDocuments) -> None:
    counts = counted.counts
    assert counts.shape == (len(counted.ids), len(counted.terms))
    assert counts.dtype == np.int32
    assert counts.indices.dtype == np.int32
    assert counted.terms == sorted(set(counted.terms))
    assert (counts.data > 0).all()
    for row in range(counts.shape[0]):
        assert (np.diff(counts.indices[counts.indptr[row] : counts.indptr[row + 1]]) > 0).all()


def test_words_do_not_run_together_across_fields() -> None:
    news = [SmallDocument("1", {"title": "corn", "body": "wheat"})]
    assert count_terms(news, TextSettings(tokenizer="whitespace")).terms == ["corn", "wheat"]


def test_case_variants_of_a_word_are_one_term_where_the_tokenizer_looks_at_capitals() -> None:
    trec = TextSettings(fields=("body",), tokenizer="trec")
    assert as_dictionaries(count_terms(documents("IBM ibm Ibm IBM's I.B.M."), trec)) == [{"ibm": 5}]


words = st.sampled_from(
    ["grain", "Grains", "the", "trading", "traded", "U.S.", "IBM's", "don't", "x-ray", "42", "\u00e9t\u00e9"]
)
texts = st.lists(st.lists(words, max_size=8).map(" ".join), max_size=9)
some_settings = st.builds(
    TextSettings,
    tokenizer=st.sampled_from(["alphabetic", "alphanumeric", "words", "unicode", "whitespace", "trec"]),
    lowercase=st.booleans(),
    stem=st.sampled_from(["none", "porter_martin", "porter_lemur"]),
    stop_list=st.sampled_from(["none", "smart"]),
    stop_when=st.sampled_from(["before_stemming", "after_stemming"]),
    separate_fields=st.sampled_from([(), ("title",), ("title", "body")]),
)


def news_of(bodies: list[str]) -> list[SmallDocument]:
    return [SmallDocument(str(n), {"title": body[:7], "body": body}) for n, body in enumerate(bodies)]


@given(bodies=texts, chosen=some_settings, chunk_size=st.integers(1, 10))
@settings(max_examples=60, deadline=None)
def test_result_does_not_depend_on_chunks(bodies: list[str], chosen: TextSettings, chunk_size: int) -> None:
    whole = count_terms(news_of(bodies), chosen)
    assert_canonical(whole)
    assert_same(count_terms(news_of(bodies), chosen, chunk_size=chunk_size), whole)


@given(bodies=texts, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_order_of_documents_moves_only_the_rows(bodies: list[str], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(bodies))
    straight = count_terms(news_of(bodies), TextSettings())
    moved = count_terms([news_of(bodies)[index] for index in order], TextSettings())
    assert moved.terms == straight.terms
    np.testing.assert_array_equal(moved.counts.toarray(), straight.counts.toarray()[order])


@for_each(
    "chosen",
    [TextSettings(), TextSettings(tokenizer="trec", stem="porter_lemur", separate_fields=("title",))],
)
def test_result_does_not_depend_on_processes(chosen: TextSettings) -> None:
    random = np.random.default_rng(1)
    pool = ["grain", "Trade", "IBM's", "rates", "x1", "U.S."]
    news = news_of([" ".join(random.choice(pool, 30)) for _ in range(70)])
    done: list[int] = []
    alone = count_terms(news, chosen)
    assert_same(count_terms(iter(news), chosen, n_jobs=2, chunk_size=1, progress=done.append), alone)
    assert_same(count_terms(iter(news), chosen, n_jobs=2, chunk_size=16), alone)
    assert done == [1] * 70


def test_documents_are_taken_chunk_by_chunk() -> None:
    taken: list[int] = []
    seen_at_progress: list[int] = []

    def stream() -> Iterator[SmallDocument]:
        for number in range(10):
            taken.append(number)
            yield SmallDocument(str(number), {"body": "corn"})

    count_terms(stream(), BODY, chunk_size=4, progress=lambda _: seen_at_progress.append(len(taken)))
    assert seen_at_progress == [4, 8, 10]


@for_each("n_jobs", [1, 2])
def test_an_error_in_the_corpus_comes_through(n_jobs: int) -> None:
    def stream() -> Iterator[SmallDocument]:
        yield from documents("corn")
        raise UsageError("broken corpus")

    with pytest.raises(UsageError, match="broken corpus"):
        count_terms(stream(), BODY, n_jobs=n_jobs, chunk_size=1)


def test_nothing_to_count() -> None:
    counted = count_terms([], TextSettings())
    assert counted.counts.shape == (0, 0)
    assert counted.make_sparse_labels(["earn"]).toarray().shape == (0, 1)
    assert count_terms(documents("", "123"), BODY).counts.shape == (2, 0)


def test_a_field_that_no_document_has_is_refused() -> None:
    with pytest.raises(UsageError, match=r"titel") as raised:
        count_terms(documents("corn"), TextSettings(fields=("titel", "body")))
    assert "body" in raised.value.hint
    assert count_terms(documents("corn"), TextSettings(), missing_fields=True).terms == ["corn"]


@for_each(
    "wrong",
    [
        {"tokenizer": "spacy"},
        {"stem": "lancaster"},
        {"fields": []},
        {"fields": ["body", "body"]},
        {"separate_fields": ["dateline"]},
        {"titel": "merged"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TextSettings.model_validate(wrong)
