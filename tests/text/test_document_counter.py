"""The reader of new documents against counting them, and words against where they stand."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as patient
from hypothesis import strategies as st

from tests.loops import for_each
from tests.text.documents import SmallDocument
from textcat.serving.explain import find_spans
from textcat.text import TextSettings, count_terms
from textcat.text import counting as reader_module
from textcat.text.counting import DocumentCounter
from textcat.text.tokenizers import TOKENIZERS

SETTINGS = [
    TextSettings(),
    TextSettings(tokenizer="words", stem="porter_martin", stop_list="smart"),
    TextSettings(tokenizer="trec", stem="porter_lemur", stop_list="smart", stop_when="after_stemming"),
    TextSettings(tokenizer="unicode", lowercase=False, separate_fields=("title",)),
    TextSettings(tokenizer="whitespace", separate_fields=("title",), doubled_fields=("title",)),
    TextSettings(tokenizer="alphanumeric", fields=("body",)),
]
WORDS = [
    "Wheat",
    "wheat",
    "the",
    "U.S.A.",
    "IBM's",
    "<IBM>",
    "semi-dry",
    "3rd",
    "été",
    "\n",
    "0",
    "İx",
    "a,b",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
DOCUMENTS = st.lists(
    st.fixed_dictionaries({"title": TEXTS, "body": TEXTS}).map(lambda f: SmallDocument("x", f)), max_size=8
)


def named(counts, terms: list[str]) -> list[dict[str, int]]:
    matrix = counts.toarray()
    return [{terms[j]: int(row[j]) for j in np.flatnonzero(row)} for row in matrix]


def assert_as_counted(reader: DocumentCounter, documents, settings: TextSettings) -> None:
    ours = reader.counts(documents)
    expected = count_terms(documents, settings, missing_fields=True)
    terms = [*reader.terms, *reader._others]
    assert ours.shape == (len(documents), len(terms))
    assert ours.dtype == np.int32
    assert ours.has_canonical_format
    assert named(ours, terms) == named(expected.counts, expected.terms)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s.tokenizer)
@patient(deadline=None, max_examples=30)
@given(known=DOCUMENTS, batches=st.lists(DOCUMENTS, max_size=3))
def test_counts_are_those_of_counting(settings, known, batches):
    terms = count_terms(known, settings, missing_fields=True).terms
    reader = DocumentCounter(settings, terms)
    for documents in [*batches, known]:
        assert_as_counted(reader, documents, settings)


def test_a_long_stream_is_forgotten_now_and_then(monkeypatch):
    monkeypatch.setattr(reader_module, "MAX_CACHED_PIECES", 3)
    settings = TextSettings(fields=("body",))
    reader = DocumentCounter(settings, ["wheat"])
    for body in ("wheat corn oats", "barley wheat", "oats oats", "rye"):
        assert_as_counted(reader, [SmallDocument("1", {"body": body})], settings)
    assert len(reader._others) <= 3


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s.tokenizer)
@patient(deadline=None, max_examples=30)
@given(documents=DOCUMENTS)
def test_words_stand_where_they_are_counted(settings, documents):
    for document in documents:
        found: Counter[str] = Counter()
        for field in settings.fields:
            text, end = document.fields[field], 0
            for span in find_spans(text, field, settings):
                assert end <= span.start + 1 <= span.end <= len(text)
                end = span.start + 1
                found.update(span.terms)
        counted = count_terms([document], settings, missing_fields=True)
        assert dict(found) == named(counted.counts, counted.terms)[0]


@for_each("tokenizer", list(TOKENIZERS))
def test_real_stories_are_counted_and_found_alike(mirror: Path, tokenizer: str) -> None:
    from tests.learners.reuters_words import raw_stories

    settings = TextSettings(tokenizer=tokenizer, stem="porter_martin", fields=("body",))
    stories = [
        SmallDocument(str(n), {"body": text}) for n, text in enumerate(islice(raw_stories(mirror), 300))
    ]
    terms = count_terms(stories[:150], settings).terms
    reader = DocumentCounter(settings, terms)
    for start in range(0, 300, 77):
        assert_as_counted(reader, stories[start : start + 77], settings)
    for story in stories[:40]:
        found = Counter(
            term for span in find_spans(story.fields["body"], "body", settings) for term in span.terms
        )
        counted = count_terms([story], settings)
        assert dict(found) == named(counted.counts, counted.terms)[0]
