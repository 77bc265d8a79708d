"""Every weighting, norm and choice of terms against one plain computation per document."""

from __future__ import annotations

import math
from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.text.documents import SmallDocument
from textcat.text import TextSettings, Vectorizer, VectorSettings, count_terms
from textcat.text.weighting import (
    NormName,
    WeightingName,
    compute_concentrations,
    compute_shares,
    document_frequencies,
    row_norms,
    scale_documents,
    weigh_counts,
)

BODY = TextSettings(fields=("body",), tokenizer="whitespace")
WORDS = ["corn", "oil", "zinc", "gold", "tin"]
bodies = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)


def weigh_by_hand(
    document: Counter[str], train: list[Counter[str]], features: set[str], chosen: VectorSettings
) -> dict[str, float]:
    """The vector of one document, computed from dictionaries of counts."""
    n = len(train)
    containing = {word: sum(word in other for other in train) for word in WORDS}

    def weigh(word: str) -> float:
        count = document[word]
        idf = math.log((n + 1) / (containing[word] + 1))
        if chosen.weighting == "entropy_share":
            total = sum(other[word] for other in train)
            shares = [other[word] / total for other in train if other[word]] if total else []
            entropy = -sum(p * math.log(p) for p in shares) / math.log(max(n, 2))
            length = sum(number for other, number in document.items() if other in features)
            return count / max(length, 1) * (1.0 - entropy)
        if chosen.weighting == "bm25":
            length = sum(number for other, number in document.items() if other in features)
            mean = sum(number for other in train for word, number in other.items() if word in features) / n
            relative = 0.25 + 0.75 * length / (mean or 1.0)
            inverse = math.log(1 + (n - containing[word] + 0.5) / (containing[word] + 0.5))
            return inverse * count * 2.2 / (count + 1.2 * relative)
        return {
            "binary": 1.0,
            "tf": count,
            "log_tf": 1 + math.log(count),
            "tf_idf": count * idf,
            "log_tf_idf": (1 + math.log(count)) * idf,
        }[chosen.weighting]

    weights = {word: weigh(word) for word in document}
    measured = [w for word, w in weights.items() if chosen.cosine_terms == "all" or word in features]
    size = {
        "none": 1.0,
        "l1": sum(map(abs, measured)),
        "l2": math.sqrt(sum(w * w for w in measured)),
    }[chosen.divisor]
    return {word: w / (size or 1.0) for word, w in weights.items() if word in features}


@pytest.mark.parametrize("norm", [None, *get_args(NormName)])
@pytest.mark.parametrize("weighting", get_args(WeightingName))
@given(
    train=st.lists(bodies.filter(bool), min_size=1, max_size=5),
    test=st.lists(bodies, max_size=3),
    cosine=st.booleans(),
    cosine_terms=st.sampled_from(["all", "kept"]),
    vocabulary=st.sampled_from(["training", "all"]),
    minimum_documents=st.integers(1, 3),
    minimum_count=st.integers(1, 4),
)
@settings(max_examples=12, deadline=None)
def test_every_setting_gives_the_vector_computed_by_hand(weighting, norm, train, test, **chosen) -> None:
    vector_settings = VectorSettings(weighting=weighting, norm=norm, **chosen)
    news = [
        *(SmallDocument(f"a{n}", {"body": body}) for n, body in enumerate(train)),
        *(SmallDocument(f"b{n}", {"body": body}, (), "test") for n, body in enumerate(test)),
    ]
    fitted = Vectorizer.fit(count_terms(news, BODY), settings=vector_settings)
    of_train = [Counter(body.split()) for body in train]
    source = (
        of_train
        if vector_settings.vocabulary == "training"
        else [Counter(d.fields["body"].split()) for d in news]
    )
    features = {
        word
        for word in WORDS
        if sum(word in counts for counts in source) >= vector_settings.minimum_documents
        and sum(counts[word] for counts in source) >= vector_settings.minimum_count
    }
    assert fitted.terms == sorted(features)
    assert vector_settings.divisor == (norm or ("l2" if vector_settings.cosine else "none"))
    found = fitted.transform(count_terms(news, BODY)).toarray()
    expected = [
        [vector.get(term, 0.0) for term in fitted.terms]
        for vector in (
            weigh_by_hand(Counter(d.fields["body"].split()), of_train, features, vector_settings)
            for d in news
        )
    ]
    np.testing.assert_allclose(found, np.array(expected).reshape(found.shape), atol=1e-12)


@pytest.mark.parametrize("norm", ["none", "l1", "l2"])
@pytest.mark.parametrize("weighting", get_args(WeightingName))
@given(
    train=st.lists(bodies.filter(bool), min_size=1, max_size=4),
    new=st.lists(bodies, min_size=1, max_size=4),
    cosine_terms=st.sampled_from(["all", "kept"]),
)
@settings(max_examples=15, deadline=None)
def test_new_documents_are_weighted_as_test_documents_of_the_corpus(
    weighting, norm, train, new, cosine_terms
) -> None:
    """Words that no training document has count towards the length of a document in the same way."""
    chosen = VectorSettings(weighting=weighting, norm=norm, cosine_terms=cosine_terms)
    trained = [SmallDocument(f"a{n}", {"body": body}) for n, body in enumerate(train)]
    added = [SmallDocument(f"b{n}", {"body": body}, (), "test") for n, body in enumerate(new)]
    together = count_terms([*trained, *added], BODY)
    expected = Vectorizer.fit(together, settings=chosen).transform(together).toarray()[len(train) :]
    alone = Vectorizer.fit(count_terms(trained, BODY), settings=chosen)
    found = alone.transform(count_terms(added, BODY)).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-12)


counts_of_terms = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6).map(
    lambda rows: csr_array(np.array(rows, dtype=np.int32))
)


@given(counts_of_terms)
@settings(max_examples=60, deadline=None)
def test_a_document_divided_by_its_norm_has_norm_one(counts) -> None:
    weights = weigh_counts(counts, "log_tf", np.zeros(4))
    for norm, order in (("l1", 1), ("l2", 2)):
        scaled = scale_documents(weights, counts, weights, norm)
        rows = csr_array((scaled, counts.indices, counts.indptr), shape=counts.shape).toarray()
        found = np.linalg.norm(rows, ord=order, axis=1)
        assert found.tolist() == pytest.approx([1.0 if row.any() else 0.0 for row in counts.toarray()])
    assert scale_documents(weights, counts, weights, "none") is weights
    dense = csr_array((weights, counts.indices, counts.indptr), shape=counts.shape).toarray()
    assert row_norms(weights, counts).tolist() == pytest.approx(np.linalg.norm(dense, axis=1).tolist())


@given(counts_of_terms)
@settings(max_examples=60, deadline=None)
def test_statistics_of_terms_are_those_of_the_dense_counts(counts) -> None:
    dense = counts.toarray()
    assert document_frequencies(counts).tolist() == (dense > 0).sum(axis=0).tolist()
    concentrations = compute_concentrations(counts)
    assert ((concentrations >= -1e-12) & (concentrations <= 1 + 1e-12)).all()
    assert (concentrations[(dense > 0).sum(axis=0) <= 1] == 1.0).all()
    counted = np.array([True, True, False, True])
    shares = csr_array((compute_shares(counts, counted), counts.indices, counts.indptr), shape=counts.shape)
    lengths = np.maximum(dense[:, counted].sum(axis=1), 1)
    np.testing.assert_allclose(shares.toarray(), dense / lengths[:, None])


GROUPS = [
    {"analyzer": "word", "ngrams": [1, 1]},
    {"analyzer": "word", "ngrams": [2, 2]},
    {"analyzer": "char_wb", "ngrams": [2, 3]},
]
changes = st.fixed_dictionaries(
    {},
    optional={
        "weighting": st.sampled_from(get_args(WeightingName)),
        "norm": st.sampled_from(get_args(NormName)),
        "weight": st.sampled_from([0.5, 3.0]),
        "minimum_documents": st.integers(1, 3),
        "maximum_share": st.sampled_from([0.5, 0.8]),
    },
)


@given(
    train=st.lists(bodies.filter(bool), min_size=2, max_size=5),
    test=st.lists(bodies, max_size=2),
    chosen=st.tuples(changes, changes, changes),
    weighting=st.sampled_from(get_args(WeightingName)),
    norm=st.sampled_from(get_args(NormName)),
)
@settings(max_examples=60, deadline=None)
def test_groups_side_by_side_are_each_weighted_as_if_alone(train, test, chosen, weighting, norm) -> None:
    """A group's documents and lengths are those of its features; other groups do not matter."""
    groups = [{**group, **changed} for group, changed in zip(GROUPS, chosen, strict=True)]
    text = TextSettings.model_validate({"fields": ["body"], "tokenizer": "whitespace", "groups": groups})
    news = [
        *(SmallDocument(f"a{n}", {"body": body}) for n, body in enumerate(train)),
        *(SmallDocument(f"b{n}", {"body": body}, (), "test") for n, body in enumerate(test)),
    ]
    counted = count_terms(news, text)
    together = Vectorizer.fit(
        counted, settings=VectorSettings(weighting=weighting, norm=norm), groups=text.groups
    ).transform(counted)
    alone = []
    for group in text.groups:
        own = TextSettings(fields=("body",), tokenizer="whitespace", groups=(group,))
        counted_alone = count_terms(news, own)
        whole = VectorSettings(
            weighting=group.weighting or weighting, norm=group.norm or norm, cosine_terms="kept",
            minimum_documents=group.minimum_documents,
        )  # fmt: skip
        fitted = Vectorizer.fit(
            counted_alone, settings=whole, groups=(group.model_copy(update={"weight": 1.0}),)
        )
        containing = np.asarray((counted_alone.counts.toarray()[: len(train)] > 0).sum(axis=0))
        expected = [
            term
            for term, number in zip(counted_alone.terms, containing, strict=True)
            if max(group.minimum_documents, 1) <= number <= group.maximum_share * len(train)
        ]
        assert fitted.terms == expected
        alone.append(group.weight * fitted.transform(counted_alone).toarray())
    np.testing.assert_allclose(together.toarray(), np.hstack(alone), atol=1e-12)
