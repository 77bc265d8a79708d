"""Intervals over resampled documents against drawing the documents and measuring them again."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.evaluation import intervals
from textcat.evaluation.intervals import INTERVAL_ENDS, EvaluatedDocuments, draw_resamples, find_intervals
from textcat.evaluation.run_measures import EvaluationSettings, measure_all

NAMES = ["large", "middle", "small", "rare", "absent", *(f"topic{number}" for number in range(7))]
COUNTS = np.arange(12, 0, -1)
WANTED = [
    "micro.precision", "micro.recall", "micro.f1", "micro.bep", "micro.error_rate", "macro.f1", "macro.bep",
    "macro.f1_of_means", "micro.f1.top5", "micro.bep.rest", "macro.f1_of_means.top5", "category.large.f1",
    "category.small.bep", "category.rare.bep", "category.rare.error_rate", "category.absent.f1",
]  # fmt: skip


def make_documents(seed: int, documents: int = 60, numbers=None) -> EvaluatedDocuments:
    """Documents with tied scores; one category has a single document, another none."""
    generator = np.random.default_rng(seed)
    labels = generator.random((documents, len(NAMES))) < np.linspace(0.6, 0.1, len(NAMES))
    labels[:, 3:5] = False
    labels[0, 3] = True
    scores = np.round(labels + generator.normal(size=labels.shape), 1)
    numbers = np.arange(documents) if numbers is None else np.asarray(numbers)
    return EvaluatedDocuments(numbers, sp.csr_array(scores >= 0.7), sp.csr_array(labels), scores)


def make_single_labels(correct, categories: int = 4, numbers=None) -> EvaluatedDocuments:
    """Documents of one category each, of which these are decided correctly."""
    rows = np.arange(len(correct))
    own = rows % categories
    labels = np.zeros((len(correct), categories), dtype=bool)
    labels[rows, own] = True
    given = np.zeros_like(labels)
    given[rows, np.where(correct, own, (own + 1) % categories)] = True
    numbers = rows if numbers is None else np.asarray(numbers)
    return EvaluatedDocuments(numbers, sp.csr_array(given), sp.csr_array(labels), None)


def find_accuracy(parts, *, names=("accuracy", "accuracy.mean"), **changes):
    counts = np.ones(4, dtype=np.int64)
    return find_intervals(parts, ["a", "b", "c", "d"], counts, EvaluationSettings(), names, **changes)


@pytest.mark.parametrize("zero_division", [1, 0, "skip"])
def test_ends_are_percentiles_of_documents_that_are_drawn_and_measured_again(zero_division) -> None:
    settings = EvaluationSettings(zero_division=zero_division, largest=[5])
    part, samples = make_documents(1), 120
    found = find_intervals([part], NAMES, COUNTS, settings, WANTED, samples=samples, seed=4)
    decisions, labels = part.decisions.toarray(), part.labels.toarray()

    def measure(rows):
        return measure_all(part.scores[rows], decisions[rows], labels[rows], NAMES, COUNTS, settings)

    times = np.hstack(list(draw_resamples(60, samples, len(NAMES), 4)))
    drawn = [measure(np.repeat(np.arange(60), column)) for column in times.T]
    measured = measure(np.arange(60))
    assert set(found) == {name for name in WANTED if np.isfinite(measured[name])}
    for name, ends in found.items():
        values = np.array([one[name] for one in drawn])
        moved = np.nanpercentile(values, INTERVAL_ENDS) + measured[name] - np.nanmean(values)
        assert ends == pytest.approx(np.clip(moved, 0, 100), abs=6e-4), name
        assert ends[0] <= measured[name] <= ends[1], name


def test_every_resample_has_as_many_documents_and_each_is_drawn_once_on_average() -> None:
    times = np.hstack(list(draw_resamples(50, 400, 10, 0)))
    assert times.shape == (50, 400)
    assert np.all(times.sum(axis=0) == 50)
    # The number of times that a document is drawn is binomial: mean 1, variance 0.98.
    assert times.var() == pytest.approx(0.98, rel=0.03)


@pytest.mark.parametrize(("share", "documents"), [(0.8, 2000), (0.95, 1000), (0.5, 400)])
def test_the_half_width_of_accuracy_is_the_normal_one_of_a_binomial_share(share, documents) -> None:
    correct = np.arange(documents) < share * documents
    low, high = find_accuracy([make_single_labels(correct)])["accuracy"]
    expected = 100 * 1.96 * np.sqrt(share * (1 - share) / documents)
    assert (high - low) / 2 == pytest.approx(expected, rel=0.07)


def test_the_same_seed_gives_the_same_ends_whatever_the_batches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ([make_documents(2)], NAMES, COUNTS, EvaluationSettings(), WANTED)
    first = find_intervals(*arguments, seed=3)
    assert find_intervals(*arguments, seed=4) != first
    monkeypatch.setattr(intervals, "MAX_BATCH", 60 * 7)
    assert find_intervals(*arguments, seed=3) == first


def test_splits_that_test_the_same_documents_are_not_taken_as_independent() -> None:
    generator = np.random.default_rng(5)
    correct = [generator.random(300) < 0.8 for _ in range(4)]
    width = {}
    for name, numbers in (
        ("same", [np.arange(300)] * 4),
        ("different", [np.arange(300) + 300 * k for k in range(4)]),
    ):
        parts = [
            make_single_labels(correct[0] if name == "same" else one, numbers=own)
            for one, own in zip(correct, numbers, strict=True)
        ]
        low, high = find_accuracy(parts)["accuracy.mean"]
        width[name] = high - low
    one = np.ptp(find_accuracy([make_single_labels(correct[0])])["accuracy"])
    assert width["same"] == pytest.approx(one)
    assert one / width["different"] == pytest.approx(2, rel=0.15)


def test_folds_are_also_measured_together() -> None:
    parts = [make_single_labels(np.arange(200) % 5 > k, numbers=np.arange(200) + 200 * k) for k in range(2)]
    found = find_accuracy(parts, pooled=True)
    assert set(found) == {"accuracy", "accuracy.mean"}
    assert found["accuracy"] == pytest.approx(found["accuracy.mean"], abs=0.5)
    assert set(find_accuracy(parts)) == {"accuracy.mean"}


def test_without_scores_there_are_no_intervals_of_break_even_points() -> None:
    part = make_documents(3)
    without = EvaluatedDocuments(part.numbers, part.decisions, part.labels, None)
    both = [find_intervals([p], NAMES, COUNTS, EvaluationSettings(), WANTED) for p in (part, without)]
    lost = both[0].keys() - both[1].keys()
    assert lost == {name for name in both[0] if ".bep" in name}
    assert {name: both[0][name] for name in both[1]} == both[1]


def test_without_documents_there_is_nothing() -> None:
    assert find_accuracy([make_single_labels(np.zeros(0, dtype=bool))]) == {}
