"""Accents and digits: as scikit-learn removes accents, the same in counting, prediction and explanation."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, strip_accents_unicode

from tests.loops import for_each
from textcat.serving.document_files import NewDocument
from textcat.serving.explain import find_spans
from textcat.text.counting import DocumentCounter, count_terms
from textcat.text.text_settings import TextSettings, clean_with_places, make_cleaner, remove_accents

TEXTS = ["Café crème 12 fois", "naïve façade, Ærø 2024!", "Ὀδυσσεύς ٣٤ x7", "plain ascii 99", "ﬁne ① Ǆ ẞ"]


@given(st.text())
def test_accents_are_removed_as_scikit_learn_does(text: str) -> None:
    assert remove_accents(text) == strip_accents_unicode(text)


@given(st.text())
def test_digits_of_any_script_are_replaced_in_place(text: str) -> None:
    for digits, sign in (("drop", " "), ("hash", "0")):
        clean = make_cleaner(strip_accents=False, digits=digits)  # type: ignore[arg-type]
        assert clean is not None
        assert clean(text) == "".join(sign if unicodedata.category(c) == "Nd" else c for c in text)
    assert make_cleaner(strip_accents=False, digits="keep") is None


@given(st.text())
def test_places_lead_back_to_the_text(text: str) -> None:
    clean = make_cleaner(strip_accents=True, digits="hash")
    assert clean is not None
    cleaned, places = clean_with_places(text, clean)
    assert len(cleaned) == len(places)
    assert list(places) == sorted(places)
    # Only removed marks may change their order, so that letters cleaned one by one give the cleaned text.
    assert cleaned == clean(text)


def settings(**more: Any) -> TextSettings:
    return TextSettings(tokenizer="unicode", fields=("text",), **more)


def test_counts_are_those_of_scikit_learn() -> None:
    documents = [
        NewDocument(str(k), {"text": text}, ("a",), "train") for k, text in enumerate(TEXTS[:2] + TEXTS[3:4])
    ]
    counted = count_terms(documents, settings(strip_accents=True, digits="hash"))
    theirs = CountVectorizer(
        preprocessor=lambda text: re.sub(r"\d", "0", strip_accents_unicode(text.lower())),
        token_pattern=r"[^\W_]+",
    )
    matrix = theirs.fit_transform([document.fields["text"] for document in documents])
    assert counted.terms == theirs.get_feature_names_out().tolist()
    assert np.array_equal(counted.counts.toarray(), matrix.toarray())
    assert {"cafe", "creme", "facade", "0000", "00"} <= set(counted.terms)


@for_each("groups", [(), ({"ngrams": (1, 2)}, {"analyzer": "char_wb", "ngrams": (2, 3)})])
def test_new_documents_are_cleaned_as_in_training(groups: Any) -> None:
    chosen = settings(strip_accents=True, digits="drop", groups=groups)
    documents = [NewDocument(str(k), {"text": text}, ("a",), "train") for k, text in enumerate(TEXTS)]
    counted = count_terms(documents, chosen)
    counts = DocumentCounter(chosen, counted.terms, counted.group_ends).counts(documents)
    assert np.array_equal(counts.toarray(), counted.counts.toarray())
    assert not any(re.search(r"\d", term) for term in counted.terms)


def test_words_are_found_where_they_are_in_the_text() -> None:
    text = "Le cafe\u0301 et la crème, 12 fois"
    spans = {
        span.terms[0]: text[span.start : span.end]
        for span in find_spans(text, "text", settings(strip_accents=True))
    }
    assert spans["creme"] == "crème"
    assert spans["cafe"].startswith("cafe")
    assert spans["12"] == "12"
