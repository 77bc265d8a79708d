"""Which features are kept, against sorting in plain Python."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.sparse import csr_array

from tests.loops import for_each
from textcat.selection import (
    SelectionScope,
    SelectionSettings,
    pool_scores,
    score_features,
    select_best,
    select_features,
)

X = csr_array(np.array([[1, 1, 0, 0, 1], [1, 0, 1, 0, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]], dtype=float))
Y = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], dtype=bool)


@given(
    scores=st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=12),
    features=st.integers(1, 14),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_best_is_the_head_of_a_stable_sort(
    scores: list[list[int]], features: int, data: st.DataObject
) -> None:
    candidates = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    mask = select_best(np.array(scores, dtype=float), np.array(candidates), features)
    for category in range(3):
        rows = [row for row in range(len(scores)) if candidates[row]]
        head = sorted(rows, key=lambda row: (-scores[row][category], row))[:features]
        assert np.flatnonzero(mask[:, category]).tolist() == sorted(head)


@for_each("scope", ["category", "sum"])
def test_equal_scores_can_go_to_the_later_term(scope: SelectionScope) -> None:
    twice = csr_array(np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=float))
    settings = {"score": "chi_square", "features": 2, "scope": scope}
    labels = np.array([[1], [1], [1], [0]], dtype=bool)
    kept = [
        np.flatnonzero(
            select_features(twice, labels, SelectionSettings(**settings, ties=ties))[:, 0]
        ).tolist()
        for ties in ("first", "last")
    ]
    assert kept == [[0, 1], [2, 3]]


@for_each("wrong", [{"features": 0}, {"score": "gini"}, {"scope": "median"}, {"featurs": 3}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SelectionSettings.model_validate(wrong)


@for_each("scope", ["category", "common", "max", "sum"])
def test_a_dictionary_of_positive_documents_holds_no_other_term(scope: SelectionScope) -> None:
    own = (X.toarray().T @ Y) > 0
    for features in (1, 2, 3):
        chosen = SelectionSettings(features=features, scope=scope, candidates="positive")
        assert not select_features(X, Y, chosen)[~own].any()
    everything = SelectionSettings(features=5, scope=scope, candidates="positive")
    assert (select_features(X, Y, everything) == own).all()
    assert (select_features(X, Y, SelectionSettings(candidates="positive")) == own).all()


def test_a_dictionary_of_positive_documents_gives_a_category_its_best_own_terms() -> None:
    scores = score_features("gini_gain", X, Y)
    mask = select_features(X, Y, SelectionSettings(features=2, candidates="positive"))
    own = (X.toarray().T @ Y) > 0
    for category in range(2):
        best = sorted(np.flatnonzero(own[:, category]), key=lambda term: (-scores[term, category], term))[:2]
        assert np.flatnonzero(mask[:, category]).tolist() == sorted(best)
    # The term of index 3 tells category 0 from the rest by its absence.
    assert select_features(X, Y, SelectionSettings(features=5))[3, 0]


def choose_by_hand(dense, labels, settings: SelectionSettings) -> list[set[int]]:
    """The features of each category, by sorting lists of (score, term)."""
    scores = score_features(settings.score, csr_array(dense), labels)
    terms, categories = range(dense.shape[1]), range(labels.shape[1])
    frequent = {j for j in terms if (dense[:, j] != 0).sum() >= settings.minimum_documents}
    own = [
        {j for j in frequent if settings.candidates == "all" or (dense[labels[:, k], j] != 0).any()}
        for k in categories
    ]
    if settings.features == "all":
        return own
    wanted = int(settings.features)

    def best(score: dict[int, float]) -> set[int]:
        return set(sorted(score, key=lambda j: (-score[j], j))[:wanted])

    if settings.scope == "category":
        return [best({j: scores[j, k] for j in own[k]}) for k in categories]
    together = set().union(*own)
    if settings.scope == "common":
        highest = {j: max(scores[j, k] for k in categories if j in own[k]) for j in together}
        lowest = sorted(highest.values(), reverse=True)[wanted - 1] if wanted < len(highest) else -np.inf
        return [{j for j in own[k] if scores[j, k] >= lowest} for k in categories]
    sizes = labels.sum(axis=0) if settings.scope == "weighted_mean" else np.ones(labels.shape[1])
    pooled = {}
    for j in together:
        values = [scores[j, k] if j in own[k] else 0.0 for k in categories]
        pooled[j] = {"max": max, "sum": sum}.get(
            settings.scope, lambda values: sum(values * sizes) / max(sizes.sum(), 1)
        )(np.array(values))
    return [own[k] & best(pooled) for k in categories]


@pytest.mark.parametrize("candidates", ["all", "positive"])
@pytest.mark.parametrize("scope", get_args(SelectionScope))
@given(
    seed=st.integers(0, 10_000),
    features=st.one_of(st.just("all"), st.integers(1, 9)),
    minimum=st.integers(0, 3),
)
@settings(max_examples=30, deadline=None)
def test_every_combination_of_settings_chooses_as_by_hand(candidates, scope, seed, features, minimum) -> None:
    """Document frequencies are whole numbers, so that equal scores are common and compare exactly."""
    random = np.random.default_rng(seed)
    dense = (random.random((8, 7)) < 0.35).astype(float)
    # Sixteen labels in four categories: the weights of all means are exact in binary.
    labels = random.permutation(np.arange(32) < 16).reshape(8, 4)
    chosen = SelectionSettings(
        score="document_frequency",
        features=features,
        scope=scope,
        minimum_documents=minimum,
        candidates=candidates,
    )
    mask = select_features(csr_array(dense), labels, chosen)
    assert [set(np.flatnonzero(mask[:, k])) for k in range(4)] == choose_by_hand(dense, labels, chosen)


def test_weights_of_categories_without_documents_are_zero() -> None:
    scores = np.array([[1.0, 8.0], [2.0, 4.0]])
    assert pool_scores(scores, "weighted_mean", np.array([3.0, 0.0])).tolist() == [1.0, 2.0]
    assert pool_scores(scores, "weighted_mean", np.zeros(2)).tolist() == [0.0, 0.0]
    assert pool_scores(scores, "mean", np.array([3.0, 0.0])).tolist() == [4.5, 3.0]
