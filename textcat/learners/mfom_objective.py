"""Smooth figures of merit: error counts made differentiable by a sigmoid of the misclassification measure.

Paper: gao_2003 equations 4.1-4.10. The loss l lies near 0 for a right decision and near 1 for a wrong one,
so TP = sum over positives of 1 - l, FN = sum over positives of l, FP = sum over negatives of l. (Equation 4.5
has 1 - l as there l is the loss of a positive; with equation 4.8's measure for negatives the two are one.)
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

Merit = Literal["f1", "mce"]
Offset = Literal["zero", "mean"]
Array = npt.NDArray[np.float32] | npt.NDArray[np.float64]


class MeritSlopes(NamedTuple):
    """An objective to minimise, a column, and its slope in the loss of any positive and of any negative."""

    objective: Array
    positive: Array
    negative: Array


def sigmoid_loss(measure: Array, alpha: float, beta: Array | float) -> Array:
    """Equation 4.7: 1 / (1 + exp(-alpha (d + beta)))."""
    return np.asarray(scipy.special.expit(alpha * (measure + beta)))


def window_offset(measure: Array, members: Array | int, offset: Offset) -> Array | float:
    """beta of equation 4.7: 0, or the mean measure of the documents at hand, a constant at each iteration."""
    if offset == "zero":
        return 0.0
    return np.asarray(measure.sum(axis=0) / members)


def merit_slopes(
    merit: Merit, lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """The objective from the summed losses and the numbers of positives and negatives, a column each."""
    if merit == "f1":
        return _minus_f1(lost_positives, lost_negatives, positives)
    return _balanced_error(lost_positives, lost_negatives, positives, negatives)


def _minus_f1(lost_positives: Array, lost_negatives: Array, positives: Array) -> MeritSlopes:
    """-F1 by equation 4.3, whose denominator FP + FN + 2 TP is FP + TP + the number of positives."""
    true_positives = positives - lost_positives
    denominator = np.where(positives > 0, positives + true_positives + lost_negatives, 1)
    return MeritSlopes(
        objective=-2 * true_positives / denominator,
        positive=2 * (denominator - true_positives) / denominator**2,
        negative=2 * true_positives / denominator**2,
    )


def _balanced_error(
    lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """Equation 4.10 with equal weight for the positive and the negative class (section 6.2.1)."""
    positive = 0.5 / np.maximum(positives, 1)
    negative = 0.5 / np.maximum(negatives, 1)
    return MeritSlopes(
        objective=positive * lost_positives + negative * lost_negatives, positive=positive, negative=negative
    )
