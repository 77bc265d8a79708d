"""Find the decisions of highest expected F1, given probabilities (Lewis, SIGIR 1995).

The best threshold depends on all probabilities of the documents that are decided on, so no fixed threshold is best
for every set. A threshold tuned on held-out training documents can decide new documents one by one.
Expected F1 is approximated by the ratio of expectations, 2 sum_{accepted} p / (accepted + sum of all p). It is
greatest when the k most probable documents are accepted, for some k. Accepting nothing has F1 1 if no document is
positive, so its expected F1 is the probability of that. Without this case a category whose documents are all
equally improbable would accept them all.
"""

from __future__ import annotations

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.cuts import NEVER, Bools, Floats, make_cuts
from textcat.thresholds.tuning import BBR_RULE, TuningRule, make_thresholds


def find_expected_f1_thresholds(probabilities: Floats) -> Floats:
    """Return the best threshold of each category for these documents: the lowest accepted probability.

    Of equally good cuts the smallest is taken.
    """
    _check_probabilities(probabilities)
    if not len(probabilities):
        return np.full(probabilities.shape[1], NEVER)
    ranked = -np.sort(-probabilities, axis=0)
    expected = _compute_expected_f1(ranked)
    best = expected.argmax(axis=0)
    thresholds: Floats = np.take_along_axis(ranked, best[np.newaxis, :], axis=0)[0]
    thresholds[_compute_probability_of_none(probabilities) >= expected.max(axis=0)] = NEVER
    return thresholds


def tune_expected_f1_thresholds(
    scores: Floats, probabilities: Floats, labels: Bools, rule: TuningRule = BBR_RULE
) -> Floats:
    """Return thresholds on scores, at the cuts of held-out documents with the highest expected F1.

    Probabilities must not decrease with the score. Labels only tell which categories have positive documents. Of
    equally good cuts the smallest is taken.
    """
    _check_probabilities(probabilities)
    if not len(scores):
        return np.full(scores.shape[1], rule.no_positives)
    candidates = make_cuts(scores, labels)
    order = np.argsort(-scores, axis=0, kind="stable")
    expected = np.empty(candidates.possible.shape)
    expected[0] = -np.inf if rule.accept_nothing is None else _compute_probability_of_none(probabilities)
    expected[1:] = _compute_expected_f1(np.take_along_axis(probabilities, order, axis=0))
    expected[~candidates.possible] = -np.inf
    chosen = expected.argmax(axis=0).astype(np.int64)
    return make_thresholds(candidates, chosen, rule)


def _compute_expected_f1(ranked: Floats) -> Floats:
    """Return the expected F1 of accepting the first 1, 2, ... documents of each category."""
    expected_hits = np.cumsum(ranked, axis=0)
    size = np.arange(1, len(ranked) + 1)[:, np.newaxis] + expected_hits[-1]
    return np.asarray(2.0 * expected_hits / size)


def _compute_probability_of_none(probabilities: Floats) -> Floats:
    """Return the probability that no document belongs to the category."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.log1p(-probabilities).sum(axis=0)))


def _check_probabilities(probabilities: Floats) -> None:
    # This form refuses NaN too.
    if not bool(np.all((probabilities >= 0) & (probabilities <= 1))):
        raise UsageError(
            "expected F1 needs probabilities, and some scores are not between 0 and 1",
            hint="Use a learner that gives probabilities, such as logistic regression, or set `calibration`.",
        )
