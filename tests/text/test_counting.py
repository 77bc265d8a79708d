"""Counting against a plain dictionary, and independence of chunks and processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from pydantic import ValidationError

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


def test_small_example() -> None:
    counted = count_terms(documents("Wheat, wheat and corn", "", "Corn."), BODY)
    assert counted.terms == ["and", "corn", "wheat"]
    assert counted.counts.toarray().tolist() == [[1, 1, 2], [0, 0, 0], [0, 1, 0]]
    assert_canonical(counted)


def test_documents_keep_what_they_are() -> None:
    documents_ = [
        SmallDocument("a", {"body": "x"}, ("earn", "acq"), "test"),
        SmallDocument("b", {"body": ""}),
    ]
    counted = count_terms(documents_, BODY)
    assert (counted.ids, counted.labels, counted.split) == (
        ["a", "b"],
        [("earn", "acq"), ()],
        ["test", "train"],
    )
    assert counted.make_sparse_labels(["acq", "corn", "earn"]).toarray().tolist() == [
        [True, False, True],
        [False, False, False],
    ]
    assert counted.in_split("test", "unused").tolist() == [True, False]
    assert counted.take(counted.in_split("train")).ids == ["b"]


def test_title_words_of_their_own_or_merged() -> None:
    news = [SmallDocument("1", {"title": "Corn up", "dateline": "CHICAGO", "body": "corn fell"})]
    merged = count_terms(news, TextSettings())
    apart = count_terms(news, TextSettings(separate_fields=("title",)))
    with_dateline = count_terms(news, TextSettings(fields=("dateline", "body")))
    only_apart = count_terms(news, TextSettings(fields=("title",), separate_fields=("title",)))
    assert as_dictionaries(merged) == [{"corn": 2, "up": 1, "fell": 1}]
    assert as_dictionaries(apart) == [{"corn": 1, "fell": 1, "title:corn": 1, "title:up": 1}]
    assert as_dictionaries(with_dateline) == [{"chicago": 1, "corn": 1, "fell": 1}]
    assert as_dictionaries(only_apart) == [{"title:corn": 1, "title:up": 1}]


def test_words_do_not_run_together_across_fields() -> None:
    news = [SmallDocument("1", {"title": "corn", "body": "wheat"})]
    assert count_terms(news, TextSettings(tokenizer="whitespace")).terms == ["corn", "wheat"]


def test_stop_words_before_and_after_stemming() -> None:
    # being is a stop word; doings is none, but has the stem of do, which is one; bees has neither.
    text = documents("being bees doings others")
    before = TextSettings(fields=("body",), stem="porter_martin", stop_list="glasgow_319")
    after = before.model_copy(update={"stop_when": "after_stemming"})
    assert count_terms(text, before).terms == ["bee", "do"]
    assert count_terms(text, after).terms == ["bee"]


def test_stop_words_go_whatever_their_case() -> None:
    kept = TextSettings(fields=("body",), lowercase=False, stop_list="smart")
    assert count_terms(documents("The Bank THE bank"), kept).terms == ["Bank", "bank"]


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


@given(bodies=texts)
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_a_plain_counter(bodies: list[str]) -> None:
    stemmer = PorterStemmer(mode="MARTIN_EXTENSIONS")
    chosen = TextSettings(fields=("body",), tokenizer="whitespace", stem="porter_martin")
    expected = [Counter(stemmer.stem(word) for word in body.lower().split()) for body in bodies]
    assert as_dictionaries(count_terms(news_of(bodies), chosen)) == expected


@given(bodies=texts, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_order_of_documents_moves_only_the_rows(bodies: list[str], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(bodies))
    straight = count_terms(news_of(bodies), TextSettings())
    moved = count_terms([news_of(bodies)[index] for index in order], TextSettings())
    assert moved.terms == straight.terms
    np.testing.assert_array_equal(moved.counts.toarray(), straight.counts.toarray()[order])


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("n_jobs", [1, 2])
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


@pytest.mark.parametrize(
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


def test_settings_survive_json() -> None:
    chosen = TextSettings(separate_fields=("title",), stem="porter_lemur")
    assert TextSettings.model_validate_json(chosen.model_dump_json()) == chosen


@pytest.mark.parametrize("entries", [1, 3, 1000])
def test_columns_are_sorted_in_parts_of_any_size(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    monkeypatch.setattr("textcat.text.counting._ENTRIES_PER_SORT", entries)
    found = count_terms(
        documents("d b a", "", "c d b b", "a", "", "e d c b a"), TextSettings(fields=("body",))
    )
    assert found.terms == ["a", "b", "c", "d", "e"]
    assert found.counts.indices.tolist() == [0, 1, 3, 1, 2, 3, 0, 0, 1, 2, 3, 4]
    assert found.counts.data.tolist() == [1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]
    assert found.counts.indptr.tolist() == [0, 3, 3, 6, 7, 7, 12]
