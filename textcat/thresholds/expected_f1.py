"""The decisions of the highest expected F1 when probabilities are known (Lewis, SIGIR 1995).

The best threshold depends on all probabilities of the set being decided on, so none that is fixed beforehand
is optimal for every set; one that is best for held-out training documents decides new ones as they come.
Expected F1 is approximated by the ratio of expectations, 2 sum_{accepted} p / (accepted + sum of all p), which
is greatest when the k most probable documents are accepted, for some k. Accepting nothing is right where there
is nothing to accept, which counts 1: its expected F1 is the probability of that. Without it a category whose
documents are all equally improbable would accept them all.
"""

from __future__ import annotations

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.cuts import NEVER, Bools, Floats, make_cuts
from textcat.thresholds.tuning import BBR_RULE, TuningRule, interpolate_thresholds


def find_expected_f1_thresholds(probabilities: Floats) -> Floats:
    """One threshold a category for exactly these documents: the least accepted probability.

    The smallest of equally good divisions wins.
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
    """One threshold on the scores a category: the division of held-out documents with the highest expected F1.

    Probabilities never fall with the score. Labels only say which categories have documents to learn from;
    among equally good divisions the smallest is taken.
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
    thresholds = interpolate_thresholds(
        candidates.get_highest_refused(chosen), candidates.get_lowest_accepted(chosen), rule
    )
    thresholds[candidates.positives == 0] = rule.no_positives
    return thresholds


def _compute_expected_f1(ranked: Floats) -> Floats:
    """Of accepting the first 1, 2, ... documents, a column a category."""
    gathered = np.cumsum(ranked, axis=0)
    size = np.arange(1, len(ranked) + 1)[:, np.newaxis] + gathered[-1]
    return np.asarray(2.0 * gathered / size)


def _compute_probability_of_none(probabilities: Floats) -> Floats:
    """That a category has no document among these."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.log1p(-probabilities).sum(axis=0)))


def _check_probabilities(probabilities: Floats) -> None:
    # Written so that NaN is refused too.
    if not bool(np.all((probabilities >= 0) & (probabilities <= 1))):
        raise UsageError(
            "expected F1 is worked out from probabilities, and some scores are not between 0 and 1",
            hint="Use a learner that gives probabilities, such as logistic regression, or set `calibration`.",
        )
