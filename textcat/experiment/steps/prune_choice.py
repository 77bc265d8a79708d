"""Choose the threshold below which weights are dropped, on held-out training documents (`prune: auto`).

One fold of five is held out. Up to MAX_CATEGORIES categories, evenly spaced by size, are trained on the other
documents. The threshold is the largest at which no measure of the held-out documents loses more than MAX_LOSS.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.contingency import count_contingency
from textcat.evaluation.curves import find_break_even
from textcat.evaluation.measures import micro_f1, sort_by_size
from textcat.evaluation.ranking import find_top_labels, measure_ranking, split_labels
from textcat.experiment.steps.learner import LearningProblem, ParameterChoice
from textcat.linear.model import LinearModel, make_dense
from textcat.splits import assign_folds

FOLDS = 5
MAX_CATEGORIES = 512
MAX_RANK = 5
# In percentage points: about one standard error of the difference of P@1 with 5,000 held-out documents. Less would
# be decided by single documents.
MAX_LOSS = 0.15
# Shares of the nonzero weights that the thresholds of the grid drop.
DROPPED_SHARES = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995)


def choose_prune_threshold(
    problem: LearningProblem, train: Callable[[LearningProblem], LinearModel]
) -> ParameterChoice:
    """Return the largest threshold that costs no more than MAX_LOSS; `train` returns a model without pruning."""
    numbers = assign_folds(problem.X.shape[0], FOLDS, seed=problem.seed)
    part = problem.restricted(_sample_categories(problem.labels))
    model = train(part.rows(np.flatnonzero(numbers != 0)))
    held = part.rows(np.flatnonzero(numbers == 0))
    weights = np.array(make_dense(model.coef))
    thresholds = _list_thresholds(weights)
    if not thresholds or not len(held.labels):
        return ParameterChoice(0.0, [])
    grid = []
    for share, threshold in zip(DROPPED_SHARES, thresholds, strict=True):
        # Thresholds rise: what one drops, all later ones drop too.
        weights[np.abs(weights) < threshold] = 0.0
        scores = np.asarray(held.X @ weights + model.intercept, dtype=np.float64)
        grid.append({"threshold": threshold, "dropped": share, **_measure(scores, held.labels)})
    return ParameterChoice(_find_largest(grid), grid)


def _list_thresholds(weights: NDArray[np.float64]) -> list[float]:
    """Return the threshold that drops each share of the nonzero weights, with three digits; none without weights."""
    sizes = np.abs(weights[weights != 0.0])
    if not sizes.size:
        return []
    found = np.quantile(sizes, DROPPED_SHARES, overwrite_input=True)
    return [
        float(f"{value:.3g}") if share else 0.0 for share, value in zip(DROPPED_SHARES, found, strict=True)
    ]


def _sample_categories(labels: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return categories with training documents, evenly spaced by their number of documents."""
    counts = np.count_nonzero(labels, axis=0)
    order = sort_by_size(counts)[: np.count_nonzero(counts)]
    places = np.linspace(0, len(order) - 1, min(len(order), MAX_CATEGORIES))
    return np.sort(order[np.round(places).astype(np.int64)])


def _measure(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> dict[str, float]:
    """Return the measures that must not drop: micro F1 at score 0, break-even point, P@1 and P@5."""
    ks = sorted({1, min(MAX_RANK, labels.shape[1])})
    top = find_top_labels(split_labels(scores), len(scores), ks[-1])
    ranking = measure_ranking(top, labels, ks, np.count_nonzero(labels, axis=0), len(labels))
    return {
        "micro.f1": micro_f1(count_contingency(scores >= 0.0, labels)),
        "micro.bep": find_break_even(scores, labels).micro(),
        **{f"precision@{k}": ranking[f"precision@{k}"] for k in ks},
    }


def _find_largest(grid: list[dict[str, float]]) -> float:
    """Return the last threshold before the first that loses; measures that are undefined do not count."""
    whole, chosen = grid[0], 0.0
    for entry in grid[1:]:
        names = (name for name in entry if name not in ("threshold", "dropped"))
        if any(entry[name] < whole[name] - MAX_LOSS for name in names):
            break
        chosen = entry["threshold"]
    return chosen
