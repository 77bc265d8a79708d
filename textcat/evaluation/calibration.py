"""How far probabilities can be believed, over all document-category decisions."""

from __future__ import annotations

import numpy as np

from textcat.evaluation.contingency import Bools
from textcat.evaluation.measures import Floats

# A certain probability that is wrong has an infinite logarithm: none counts as more certain than this.
MOST_CERTAIN = 1e-7


def calibration_measures(probabilities: Floats, labels: Bools) -> dict[str, float]:
    """Means over all decisions: squared error (Brier, 1950) and negative log-likelihood, both better when low."""
    bounded = np.clip(probabilities, MOST_CERTAIN, 1.0 - MOST_CERTAIN)
    likelihood = np.where(labels, bounded, 1.0 - bounded)
    return {
        "probability.brier": float(np.square(probabilities - labels).mean()),
        "probability.log_loss": float(-np.log(likelihood).mean()),
    }
