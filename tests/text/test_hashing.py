"""Hashed groups of n-grams against a direct computation, and the same features for new documents."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from tests.text.documents import SmallDocument, documents
from tests.text.test_ngrams import SENTENCES, list_reference, make_settings
from textcat.serving.explain import find_spans
from textcat.text import TextSettings, Vectorizer, VectorSettings, count_terms
from textcat.text.counting import DocumentCounter

GROUPS: list[dict[str, Any]] = [
    {"analyzer": "word", "ngrams": [1, 3], "bits": 8},
    {"analyzer": "char_wb", "ngrams": [2, 5], "bits": 9, "minimum_documents": 2},
    {"analyzer": "char", "ngrams": [3, 4], "bits": 12},
    {"analyzer": "word", "ngrams": [4, 4]},
]


def hash_by_hand(text: str, group: dict[str, Any], chosen: TextSettings) -> Counter[str]:
    """The counts of a document: each n-gram is counted for the feature with its CRC-32 modulo the features."""
    shortest, longest = group["ngrams"]
    digits = -(-group["bits"] // 4)
    return Counter(
        f"{group['analyzer']}{shortest}-{longest}"
        f"#{zlib.crc32(ngram.encode('utf-8', 'surrogatepass')) % 2 ** group['bits']:0{digits}x}"
        for ngram in list_reference(text, group, chosen)
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.one_of(st.sampled_from("ab B\u00e9\n."), st.characters())), max_size=5),
    st.integers(1, 4),
)
def test_counts_are_sums_over_the_n_grams_of_a_feature(texts: list[str], size: int) -> None:
    chosen = make_settings(*GROUPS[:3])
    counted = count_terms(documents(*texts), chosen, chunk_size=size)
    starts = (0, *counted.group_ends[:-1])
    for start, end, group in zip(starts, counted.group_ends, GROUPS[:3], strict=True):
        expected = [hash_by_hand(text, group, chosen) for text in texts]
        containing = Counter(feature for counts in expected for feature in counts)
        kept = sorted(
            name for name, number in containing.items() if number >= group.get("minimum_documents", 1)
        )
        assert counted.terms[start:end] == kept
        assert counted.counts[:, start:end].toarray().tolist() == [
            [c[name] for name in kept] for c in expected
        ]
    assert counted.counts.has_canonical_format and counted.counts.dtype == np.int32


def test_features_are_the_same_in_every_process() -> None:
    code = (
        "from textcat.text.text_settings import TermGroup\n"
        "print(TermGroup(bits=18).name_term('wheat prices'), TermGroup(bits=24).name_term('\\u00e9'))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True, capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    wheat, accent = zlib.crc32(b"wheat prices") % 2**18, zlib.crc32(b"\xc3\xa9") % 2**24
    assert found == {f"word1-1#{wheat:05x} word1-1#{accent:06x}\n"}


@for_each("chunk_size", [1, 3, 100])
def test_new_documents_have_the_features_of_training(chunk_size: int) -> None:
    news = [SmallDocument(str(n), {"title": text[:9], "body": text}) for n, text in enumerate(SENTENCES)]
    chosen = make_settings(*GROUPS, fields=["title", "body"], separate_fields=["title"])
    counted = count_terms(news, chosen, chunk_size=chunk_size)
    counter = DocumentCounter(chosen, counted.terms, counted.group_ends)
    assert (counter.counts(news) != counted.counts).nnz == 0
    vectorizer = Vectorizer.fit(
        counted,
        np.arange(5) < 3,
        settings=VectorSettings(weighting="log_tf_idf", cosine=True),
        groups=chosen.groups,
    )
    again = Vectorizer.from_arrays(vectorizer.to_arrays(), vectorizer.describe())
    weighted = again.weigh(counter.counts(news), np.arange(len(counted.terms)))
    assert (weighted != vectorizer.transform(counted)).nnz == 0


def test_an_unknown_n_gram_counts_for_its_feature() -> None:
    chosen = make_settings({"ngrams": [1, 1], "bits": 8})
    training = count_terms(documents(" ".join(f"w{number}" for number in range(3000))), chosen)
    counter = DocumentCounter(chosen, training.terms, training.group_ends)
    row = counter.counts(documents("never seen never")).toarray()[0]
    expected = hash_by_hand("never seen never", GROUPS[0] | {"ngrams": [1, 1]}, chosen)
    assert {training.terms[place]: row[place] for place in np.flatnonzero(row)} == expected


def test_words_are_located_by_their_features() -> None:
    chosen = make_settings({"ngrams": [1, 2], "bits": 12})
    group = chosen.groups[0]
    spans = list(find_spans("Wheat prices", "body", chosen))
    assert [(span.start, span.end) for span in spans] == [(0, 5), (6, 12)]
    assert spans[0].terms == (group.name_term("wheat"), group.name_term("wheat prices"))
    inside = make_settings({"analyzer": "char_wb", "ngrams": [4, 5], "bits": 12})
    (span,) = find_spans("Corn", "body", inside)
    assert set(span.terms) <= set(count_terms(documents("Corn"), inside).terms)
