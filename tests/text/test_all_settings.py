"""The product of text settings: counting, spans and counting of new documents against a plain pipeline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from tests.loops import for_each
from tests.text.documents import SmallDocument
from textcat.serving.explain import find_spans
from textcat.text import TextSettings, count_terms
from textcat.text.counting import DocumentCounter
from textcat.text.terms import load_stop_list

# The definitions, independent of the fast splitters.
PATTERNS = {"alphabetic": "[a-zA-Z]+", "unicode": r"[^\W_]+", "whitespace": r"\S+"}
FIELDS = [
    {"fields": ("title", "body")},
    {"fields": ("body",)},
    {"fields": ("title", "body"), "separate_fields": ("title",)},
    {"fields": ("title", "body"), "separate_fields": ("title",), "doubled_fields": ("title",)},
    {"fields": ("title", "body"), "separate_fields": ("title", "body")},
]
WORDS = ["Being", "THE", "doings", "bees", "traders", "Été", "x9", "U.S.", "is", "computer's"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
news = st.lists(st.fixed_dictionaries({"title": texts, "body": texts}), min_size=1, max_size=4).map(
    lambda all_fields: [SmallDocument(str(n), fields) for n, fields in enumerate(all_fields)]
)


def list_terms(text: str, chosen: TextSettings) -> Iterator[str]:
    """The terms of a text, word by word."""
    mode = {"porter_martin": "MARTIN_EXTENSIONS", "porter_original": "ORIGINAL_ALGORITHM"}.get(chosen.stem)
    porter = PorterStemmer(mode=mode) if mode else None

    def stem(word: str) -> str:
        return porter.stem(word, to_lowercase=False) if porter else word

    stop_words = load_stop_list(chosen.stop_list).words
    stop_stems = {stem(word) for word in stop_words}
    for word in re.findall(PATTERNS[chosen.tokenizer], text.lower() if chosen.lowercase else text):
        before = chosen.stop_when == "before_stemming" and word.lower() in stop_words
        after = chosen.stop_when == "after_stemming" and stem(word).lower() in stop_stems
        if not (before or after):
            yield stem(word)


def count_by_hand(document: SmallDocument, chosen: TextSettings) -> Counter[str]:
    counts: Counter[str] = Counter()
    for field in chosen.fields:
        terms = list(list_terms(document.fields[field], chosen))
        if field not in chosen.separate_fields or field in chosen.doubled_fields:
            counts.update(terms)
        if field in chosen.separate_fields:
            counts.update(f"{field}:{term}" for term in terms)
    return counts


PRODUCT = [
    TextSettings(
        tokenizer=tokenizer, lowercase=lowercase, stem=stem, stop_list=stop_list, stop_when=when, **fields
    )
    for tokenizer in PATTERNS
    for lowercase in (True, False)
    for stem, stop_list, when in (
        ("none", "none", "before_stemming"),
        ("none", "smart", "before_stemming"),
        ("porter_martin", "glasgow_319", "before_stemming"),
        ("porter_martin", "glasgow_319", "after_stemming"),
        ("porter_original", "none", "after_stemming"),
    )
    for fields in FIELDS
]


@pytest.mark.parametrize("part", range(10))
@given(documents=news, data=st.data())
@settings(max_examples=25, deadline=None)
def test_terms_are_those_of_a_plain_pipeline(part: int, documents: list[SmallDocument], data) -> None:
    """The counts of a corpus, of new documents and of the spans of a text are the same, whatever the settings."""
    chosen = data.draw(st.sampled_from(PRODUCT[part::10]))
    expected = [count_by_hand(document, chosen) for document in documents]
    counted = count_terms(documents, chosen)
    assert counted.terms == sorted(set().union(*expected))
    assert counted.counts.toarray().tolist() == [[row[term] for term in counted.terms] for row in expected]
    half = counted.terms[::2]
    counter = DocumentCounter(chosen, half)
    found = counter.counts(documents).toarray()
    assert found[:, : len(half)].tolist() == [[row[term] for term in half] for row in expected]
    assert found.sum(axis=1).tolist() == [row.total() for row in expected]
    for document, row in zip(documents, expected, strict=True):
        located = [
            (span, document.fields[field])
            for field in chosen.fields
            for span in find_spans(document.fields[field], field, chosen)
        ]
        assert Counter(term for span, _ in located for term in span.terms) == row
        if chosen.stem == "none":
            for span, text in located:
                word = text[span.start : span.end]
                plain = {term.rpartition(":")[2] for term in span.terms}
                assert plain == {word.lower() if chosen.lowercase else word}


@for_each(
    ("groups", "expected"),
    [
        ([{"ngrams": [2, 3]}], ["a b", "b c", "b a b", "a b c"]),
        ([{"ngrams": [1, 1]}, {"ngrams": [4, 4]}], ["b", "a b a b", "b a b c"]),
        ([{"ngrams": [5, 5]}], ["a b a b c"]),
    ],
)
def test_a_span_names_each_n_gram_around_it_once(groups, expected) -> None:
    """The fourth word of `a b a b c`, and no n-gram that it is not part of."""
    chosen = TextSettings.model_validate({"fields": ["body"], "tokenizer": "whitespace", "groups": groups})
    spans = list(find_spans("a b a b c", "body", chosen))
    assert len(spans) == 5
    assert list(spans[3].terms) == expected


@given(
    text=st.text("aB \n.é", max_size=20),
    lowercase=st.booleans(),
    shortest=st.integers(1, 4),
    more=st.integers(0, 3),
)
@settings(max_examples=100, deadline=None)
def test_character_n_grams_of_spans_are_those_that_are_counted(text, lowercase, shortest, more) -> None:
    """The spans of a text name together exactly the n-grams within words that counting finds."""
    chosen = TextSettings.model_validate(
        {
            "fields": ["body"],
            "lowercase": lowercase,
            "groups": [{"analyzer": "char_wb", "ngrams": [shortest, shortest + more]}],
        }
    )
    spans = list(find_spans(text, "body", chosen))
    counted = count_terms([SmallDocument("1", {"body": text})], chosen)
    assert {term for span in spans for term in span.terms} == set(counted.terms)
    assert [text[span.start : span.end] for span in spans] == text.split()
