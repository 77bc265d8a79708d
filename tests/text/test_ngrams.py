"""Groups of n-grams against a plain reference, and against scikit-learn's vectorizers."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import textcat.text.ngrams as ngrams_module
from tests.loops import for_each
from tests.text.documents import SmallDocument, documents
from textcat.serving.explain import find_spans
from textcat.text import CountedDocuments, TextSettings, Vectorizer, VectorSettings, count_terms
from textcat.text.counting import DocumentCounter
from textcat.text.terms import make_term_extractor
from textcat.text.tokenizers import TOKENIZERS

GROUPS = [
    {"analyzer": "word", "ngrams": [1, 3]},
    {"analyzer": "char_wb", "ngrams": [2, 5], "minimum_documents": 2},
    {"analyzer": "char", "ngrams": [3, 4]},
    {"analyzer": "word", "ngrams": [1, 2], "first_words": 2},
    {"analyzer": "char_wb", "ngrams": [3, 4], "first_words": 1},
    {"analyzer": "char", "ngrams": [1, 3], "first_words": 2, "minimum_documents": 2},
]
SENTENCES = [
    "Wheat prices rose, and wheat exports fell.",
    "",
    "Prices of corn rose in Ürümqi; corn and wheat",
    "a",
    "and wheat exports",
]


def make_settings(*groups: dict[str, Any], **more: Any) -> TextSettings:
    return TextSettings.model_validate({"tokenizer": "unicode", "fields": ["body"], "groups": groups, **more})


def list_reference(text: str, group: dict[str, Any], text_settings: TextSettings) -> list[str]:
    """All n-grams of a text, by slices of Python sequences."""
    shortest, longest = group["ngrams"]
    lengths = range(shortest, longest + 1)
    most = group.get("first_words")
    part = f"first {most}:" if most else ""
    if group["analyzer"] == "word":
        split = TOKENIZERS[text_settings.tokenizer].make_splitter(lowercase=text_settings.lowercase)
        make = make_term_extractor(text_settings)
        words = [term for piece in split(text) for term in make(piece)][:most]
        return [part + " ".join(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1)]
    text = text.lower() if text_settings.lowercase else text
    if group["analyzer"] == "char":
        flat = " ".join(text.split()[:most])
        return [f"{part}char:" + flat[i : i + n] for n in lengths for i in range(len(flat) - n + 1)]
    found = []
    for word in text.split()[:most]:
        padded = f" {word} "
        grams = [padded[i : i + n] for n in lengths for i in range(len(padded) - n + 1)]
        found += grams or [padded]
    return [f"{part}char_wb:" + gram for gram in found]


def check_against_reference(counted: CountedDocuments, texts: list[str], text_settings: TextSettings) -> None:
    starts = (0, *counted.group_ends[:-1])
    for start, end, group in zip(starts, counted.group_ends, text_settings.groups, strict=True):
        expected = [Counter(list_reference(text, group.model_dump(), text_settings)) for text in texts]
        containing = Counter(term for counts in expected for term in counts)
        kept = sorted(term for term, number in containing.items() if number >= group.minimum_documents)
        assert counted.terms[start:end] == kept
        dense = counted.counts[:, start:end].toarray()
        assert dense.tolist() == [[counts[term] for term in kept] for counts in expected]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.text(st.one_of(st.sampled_from("ab Bé\n.İ\U0001f600"), st.characters())), max_size=6),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["unicode", "alphabetic", "whitespace", "words"]),
)
def test_counts_are_those_of_slices(texts: list[str], size: int, lowercase: bool, tokenizer: str) -> None:
    chosen = make_settings(*GROUPS, lowercase=lowercase, tokenizer=tokenizer)
    counted = count_terms(documents(*texts), chosen, chunk_size=size)
    check_against_reference(counted, texts, chosen)
    assert counted.counts.has_canonical_format
    assert counted.counts.dtype == np.int32


@pytest.mark.parametrize("block", [16, 50, 1 << 20])
def test_tables_grow_and_long_texts_are_counted_in_blocks(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngrams_module, "_INITIAL_CAPACITY", 2)
    monkeypatch.setattr(ngrams_module, "BLOCK", block)
    draw = np.random.default_rng(3)
    texts = ["".join(draw.choice(list("abcdefgh  "), 300)) for _ in range(20)]
    chosen = make_settings(*GROUPS, stop_list="smart", stem="porter_martin")
    check_against_reference(count_terms(documents(*texts), chosen, chunk_size=7), texts, chosen)


def test_the_n_grams_of_a_long_document_are_never_all_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams_module, "BLOCK", 1 << 14)
    draw = np.random.default_rng(4)
    text = " ".join(draw.choice(["wheat", "corn", "prices", "rose", "fell", "of"], 60_000))
    chosen = make_settings({"ngrams": [1, 2]}, {"analyzer": "char_wb", "ngrams": [2, 5]})
    count_terms(documents(text[:100]), chosen)
    tracemalloc.start()
    counted = count_terms(documents(text), chosen)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counted.counts.sum() > 600_000
    assert most < 15 * len(text)


@for_each("jobs", [1, 2])
@for_each("chunk_size", [1, 3, 100])
def test_neither_jobs_nor_chunks_change_the_bytes(jobs: int, chunk_size: int) -> None:
    chosen = make_settings(*GROUPS)
    expected = count_terms(documents(*SENTENCES), chosen)
    counted = count_terms(documents(*SENTENCES), chosen, n_jobs=jobs, chunk_size=chunk_size)
    assert counted.terms == expected.terms
    for part in ("data", "indices", "indptr"):
        assert getattr(counted.counts, part).tobytes() == getattr(expected.counts, part).tobytes()


@for_each("analyzer", ["word", "char_wb", "char"])
def test_counts_are_those_of_scikit_learn(analyzer: str) -> None:
    chosen = make_settings({"analyzer": analyzer, "ngrams": [1, 4]})
    counted = count_terms(documents(*SENTENCES), chosen)
    peer = CountVectorizer(analyzer=analyzer, ngram_range=(1, 4), token_pattern=r"[^\W_]+")
    expected = peer.fit_transform(SENTENCES)
    prefix = "" if analyzer == "word" else f"{analyzer}:"
    assert counted.terms == [prefix + term for term in peer.get_feature_names_out()]
    assert (counted.counts != expected).nnz == 0


def test_a_group_counts_only_its_fields() -> None:
    """The body's words and the title's pairs are features; the title has a weight of its own."""
    news = [SmallDocument("1", {"title": "corn up", "body": "wheat up"})]
    chosen = make_settings(
        {"fields": ["merged"]},
        {"ngrams": [1, 2], "fields": ["title"], "weight": 0.5},
        fields=["title", "body"],
        separate_fields=["title"],
    )
    counted = count_terms(news, chosen)
    assert counted.terms == ["up", "wheat", "title:corn", "title:corn up", "title:up"]
    assert counted.counts.toarray().tolist() == [[1, 1, 1, 1, 1]]
    vectors = VectorSettings(weighting="tf", cosine=True)
    row = Vectorizer.fit(counted, settings=vectors, groups=chosen.groups).transform(counted).toarray()[0]
    np.testing.assert_allclose(row, [0.5**0.5] * 2 + [0.5 / 3**0.5] * 3)
    again = DocumentCounter(chosen, counted.terms, counted.group_ends).counts(news)
    assert (again != counted.counts).nnz == 0
    (word, _) = find_spans("corn up", "title", chosen)
    assert word.terms == ("title:corn", "title:corn up")
    assert "fields" not in make_settings({}).dump_for_counting()["groups"][0]
    assert chosen.dump_for_counting()["groups"][1]["fields"] == ["title"]


def test_each_group_is_weighted_and_scaled_on_its_own() -> None:
    chosen = make_settings(
        {"ngrams": [1, 2], "weight": 3.0}, {"analyzer": "char_wb", "ngrams": [2, 3], "minimum_documents": 2}
    )
    counted = count_terms(documents(*SENTENCES), chosen)
    fitted = Vectorizer.fit(
        counted, settings=VectorSettings(weighting="tf", cosine=True), groups=chosen.groups
    )
    expected = []
    for analyzer, least, lengths in (("word", 1, (1, 2)), ("char_wb", 2, (2, 3))):
        peer = TfidfVectorizer(
            analyzer=analyzer, ngram_range=lengths, min_df=least, use_idf=False, token_pattern=r"[^\W_]+"
        )
        expected.append(peer.fit_transform(SENTENCES).toarray())
    together = np.hstack([3.0 * expected[0], expected[1]])
    np.testing.assert_allclose(fitted.transform(counted).toarray(), together, atol=1e-12)


def test_documents_of_a_group_are_those_of_training() -> None:
    """A test document does not help a term over the minimum, and a share is one of training documents."""
    chosen = make_settings({"minimum_documents": 2, "maximum_share": 0.5})
    train = documents("all two", "all two", "all one", "all one more", "all")
    counted = count_terms([*train, *documents("more all", split="test")], chosen)
    assert counted.terms == ["all", "more", "one", "two"]
    fitted = Vectorizer.fit(counted, settings=VectorSettings(), groups=chosen.groups)
    assert fitted.terms == ["one", "two"]


@for_each("most", [0, 10**9])
def test_new_documents_are_counted_as_training_documents(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams_module, "MAX_KNOWN_NGRAMS", most)
    chosen = make_settings(*GROUPS)
    counted = count_terms(documents(*SENTENCES), chosen)
    counter = DocumentCounter(chosen, counted.terms, counted.group_ends)
    for row, sentence in enumerate(SENTENCES):
        found = counter.counts(documents(sentence, "wheat unseen words"))
        assert found.shape == (2, len(counted.terms))
        assert found[[0]].toarray().tolist() == counted.counts[[row]].toarray().tolist()


def test_spans_name_the_n_grams_of_a_word() -> None:
    chosen = make_settings({"ngrams": [1, 2]}, {"analyzer": "char", "ngrams": [2, 2]})
    spans = list(find_spans("Corn, wheat up", "body", chosen))
    assert [(span.start, span.end) for span in spans] == [(0, 4), (6, 11), (12, 14)]
    assert spans[1].terms == ("wheat", "corn wheat", "wheat up")
    (only,) = find_spans(" Up", "body", make_settings({"analyzer": "char_wb", "ngrams": [3, 9 - 1]}))
    assert (only.start, only.end) == (1, 3)
    assert only.terms == ("char_wb: up", "char_wb:up ", "char_wb: up ")


def test_first_words_go_on_from_field_to_field() -> None:
    """Merged fields are one text: what the title leaves of three words is taken from the body."""
    news = [SmallDocument("1", {"title": "corn up", "body": "corn up again and up"})]
    chosen = make_settings({"ngrams": [1, 2], "first_words": 3}, {}, fields=["title", "body"])
    counted = count_terms(news, chosen)
    end = counted.group_ends[0]
    assert counted.terms[:end] == [f"first 3:{term}" for term in ("corn", "corn up", "up", "up corn")]
    assert counted.counts.toarray()[0, :end].tolist() == [2, 1, 1, 1]
    in_title = find_spans("corn up", "title", chosen)
    assert [span.terms[:2] for span in in_title] == [
        ("first 3:corn", "first 3:corn up"),
        ("first 3:up", "first 3:corn up"),
    ]
    in_body = [span.terms for span in find_spans("corn up again", "body", chosen, {"": 2})]
    assert in_body == [("first 3:corn", "corn"), ("up",), ("again",)]


def test_each_separate_field_has_first_words() -> None:
    news = [SmallDocument("1", {"title": "corn up", "body": "wheat down"})]
    chosen = make_settings({"first_words": 1}, fields=["title", "body"], separate_fields=["title"])
    assert count_terms(news, chosen).terms == ["first 1:title:corn", "first 1:wheat"]


@for_each(
    ("groups", "message"),
    [
        ([{"ngrams": [1, 6]}], "from 1 to 5"),
        ([{"ngrams": [2, 1]}], "from 1 to 5"),
        ([{"analyzer": "char", "ngrams": [0, 2]}], "from 1 to 8"),
        ([{"ngrams": [1, 2]}, {"ngrams": [2, 3]}], "groups 1 and 2"),
        ([{"first_words": 9}, {"ngrams": [1, 2], "first_words": 9}], "groups 1 and 2"),
        ([{"first_words": 0}], "greater than or equal to 1"),
        ([{"fields": ["merged"]}, {"fields": ["body"]}], "a group counts body; it can count merged"),
        ([{}, {"fields": ["merged"]}], "groups 1 and 2"),
        ([{"fields": ["merged"], "bits": 9}, {"fields": ["title"]}], "groups 1 and 2"),
    ],
)
def test_wrong_groups_are_refused(groups: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_settings(*groups)


def test_equal_names_of_two_fields_are_one_term() -> None:
    news = [SmallDocument("1", {"title": "corn up", "body": "title:corn up title:corn up"})]
    chosen = make_settings(
        {"ngrams": [2, 2]}, fields=["title", "body"], separate_fields=["title"], tokenizer="whitespace"
    )
    counted = count_terms(news, chosen)
    assert counted.terms == ["title:corn up", "up title:corn"]
    assert counted.counts.toarray().tolist() == [[3, 1]]
