"""The micro-averaged precision-recall curve over the ten largest categories: figure 1 of zhang_2000."""

from __future__ import annotations

import numpy as np

from textcat.evaluation.curves import area, micro_curve
from textcat.evaluation.measures import by_size
from textcat.experiment.studies.study import Findings, Subject, rounded

LARGEST = 10


def precision_recall(subject: Subject) -> Findings:
    """curve.area in percent, and the curve itself."""
    largest = np.sort(by_size(subject.vectors.train_counts)[:LARGEST])
    curve = micro_curve(subject.test_scores[:, largest], subject.vectors.test_labels[:, largest])
    return Findings(
        {"curve.area": area(curve)},
        {"curve.recall": rounded(curve.recall), "curve.precision": rounded(curve.precision)},
    )
