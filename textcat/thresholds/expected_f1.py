"""The decisions of the highest expected F1 when scores are probabilities (Lewis, SIGIR 1995).

No threshold fixed beforehand can do it: the best one depends on all probabilities of the set being decided
on. Expected F1 is approximated by the ratio of expectations, 2 sum_{accepted} p / (accepted + sum of all p),
which is greatest when the k most probable documents are accepted, for some k.
"""

from __future__ import annotations

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.apply import NEVER, Floats


def expected_f1_thresholds(probabilities: Floats) -> Floats:
    """One threshold a category for exactly these documents: the least accepted probability.

    A category with no probability above zero accepts nothing; the smallest of equally good divisions wins.
    """
    # Written so that NaN is refused too.
    if not bool(np.all((probabilities >= 0) & (probabilities <= 1))):
        raise UsageError(
            "expected F1 is worked out from probabilities, and some scores are not between 0 and 1",
            hint="Use a learner that gives probabilities, such as logistic regression.",
        )
    if not len(probabilities):
        return np.full(probabilities.shape[1], NEVER)
    ranked = -np.sort(-probabilities, axis=0)
    gathered = np.cumsum(ranked, axis=0)
    size = np.arange(1, len(ranked) + 1)[:, np.newaxis] + gathered[-1]
    expected = 2.0 * gathered / size
    best = expected.argmax(axis=0)
    thresholds: Floats = np.take_along_axis(ranked, best[np.newaxis, :], axis=0)[0]
    thresholds[gathered[-1] == 0] = NEVER
    return thresholds
