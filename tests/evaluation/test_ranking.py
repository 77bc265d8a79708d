"""Measures of rankings against a plain reference and scikit-learn, and however scores come in blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from tests.evaluation.problems import problems
from textcat.errors import UsageError
from textcat.evaluation.ranking import (
    TopLabels,
    compute_inverse_propensities,
    find_top_labels,
    measure_ranking,
)
from textcat.evaluation.run_measures import EvaluationSettings, measure_all

KINDS = ("precision", "recall", "ndcg", "r_precision", "psp", "coverage")

COUNTS = np.array([60, 51, 50, 1, 0])


def measure_document(scores, labels, k, inverse):
    """The definitions, a document at a time: P, R, nDCG, R-precision, gain and best gain."""
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))[:k]
    hits = [bool(labels[j]) for j in order]
    number = sum(map(bool, labels))
    dcg = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
    ideal = sum(1 / math.log2(place + 2) for place in range(min(k, number)))
    gain = sum(inverse[j] for j in order if labels[j]) / k
    best = sum(sorted((inverse[j] for j in range(len(labels)) if labels[j]), reverse=True)[:k]) / k
    return sum(hits) / k, sum(hits) / number, dcg / ideal, sum(hits) / min(k, number), gain, best


@given(problems(), st.integers(1, 6), st.integers(1, 5))
def test_every_measure_is_the_mean_of_its_definition(problem, k, width) -> None:
    scores, labels = problem
    counts = np.arange(labels.shape[1]) * 7
    # Measures at other k on the way do not change it.
    found = measure_ranking(find_top_labels(scores, 7, width), labels, [2, k, 7], counts, 100)
    inverse = compute_inverse_propensities(counts, 100)
    each = [measure_document(s, y, k, inverse) for s, y in zip(scores, labels, strict=True) if y.any()]
    assert found["ranking.documents"] == len(each)
    assert found["ranking.skipped"] == len(labels) - len(each)
    if not each:
        assert all(math.isnan(found[f"{kind}@{k}"]) for kind in KINDS)
        return
    *means, gain, best = np.mean(each, axis=0)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    reached = {j for row, own in zip(order, labels, strict=True) for j in row if own[j]}
    covered = len(reached) / np.count_nonzero(labels.any(axis=0))
    values = [*(100 * m for m in means), 100 * gain / best, 100 * covered]
    expected = dict(zip([f"{kind}@{k}" for kind in KINDS], values, strict=True))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_ndcg_is_that_of_scikit_learn(k: int) -> None:
    generator = np.random.default_rng(3)
    labels = generator.random((3000, 30)) < 0.1
    scores = generator.normal(size=labels.shape) + labels
    top = find_top_labels(scores, k)
    found = measure_ranking(top, labels, [k], np.ones(30, dtype=np.int64), 100)
    some = labels.any(axis=1)
    assert found["ndcg@" + str(k)] == pytest.approx(100 * ndcg_score(labels[some], scores[some], k=k))
    assert found["ranking.skipped"] == np.count_nonzero(~some) > 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40))
def test_blocks_give_the_ranking_of_all_labels(seed: int, k: int, width: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 4, size=(20, 33)) * 0.5
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(find_top_labels(scores, k, width).labels, expected)


def test_a_place_without_a_label_is_a_miss() -> None:
    top = find_top_labels(np.array([[-np.inf, 1.0]]), 3)
    assert top.labels.tolist() == [[1, 0, -1]]
    labels = np.array([[True, True]])
    found = measure_ranking(top, labels, [3], np.array([1, 1]), 10)
    assert found["precision@3"] == pytest.approx(200 / 3)
    assert found["r_precision@3"] == found["recall@3"] == found["psp@3"] == pytest.approx(100)
    with pytest.raises(UsageError, match="that many ranked labels"):
        measure_ranking(TopLabels.make_empty(1, 2), labels, [3], np.array([1, 1]), 10)


def test_rare_labels_weigh_more() -> None:
    inverse = compute_inverse_propensities(COUNTS, 1000)
    assert (np.diff(inverse) > 0).all()
    assert inverse[4] == pytest.approx(1 + (math.log(1000) - 1) * (2.5 / 1.5) ** 0.55)


def test_frequency_groups_are_averages_over_their_labels() -> None:
    generator = np.random.default_rng(8)
    labels = generator.random((50, 5)) < 0.4
    decisions = labels ^ (generator.random(labels.shape) < 0.2)
    names = list("abcde")
    settings = EvaluationSettings(frequency_groups=True)
    found = measure_all(None, decisions, labels, names, COUNTS, settings)
    f1 = [found[f"category.{name}.f1"] for name in names]
    assert found["macro.f1.frequent"] == pytest.approx(np.mean(f1[:2]))
    assert found["macro.f1.few"] == pytest.approx(np.mean(f1[2:4]))
    assert found["micro.f1.unseen"] == pytest.approx(f1[4])
    assert [found[f"labels.{group}"] for group in ("frequent", "few", "unseen")] == [2, 2, 1]
    assert "macro.f1.few" not in measure_all(None, decisions, labels, names, COUNTS)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sparse_labels_and_merged_parts_give_the_same(seed: int) -> None:
    """Rankings of parts, found on workers and merged in order, are those of all labels, with many ties."""
    random = np.random.default_rng(seed)
    labels, scores = random.random((1500, 40)) < 0.06, random.integers(0, 9, (1500, 40)) / 4
    whole, merged = TopLabels.find(scores, 0, 5), TopLabels.make_empty(1500, 5)
    for first in range(0, 40, 11):
        merged.merge(TopLabels.find(scores[:, first : first + 11], first, 5))
    assert np.array_equal(whole.labels, merged.labels) and np.array_equal(whole.scores, merged.scores)
    counts = random.integers(0, 50, 40)
    dense = measure_ranking(whole, labels, [1, 5], counts, 1500)
    assert measure_ranking(merged, sp.csr_array(labels), [1, 5], counts, 1500) == dense
