"""The weights of one category's features, for the paths of figures 2 and 3 of genkin_2004."""

from __future__ import annotations

import numpy as np

from textcat.errors import UsageError
from textcat.experiment.studies.study import Findings, Subject, rounded

MOST = 100


def weights(subject: Subject) -> Findings:
    """The features of the studied category that have a weight, by falling size, and their weights."""
    if subject.weights is None:
        raise UsageError(
            "only linear models have weights",
            where="evaluation.studies",
            hint="Leave `weights` out of the run's studies, or choose a linear learner.",
        )
    column = subject.weights[:, subject.columns[0]]
    largest = np.argsort(-np.abs(column), kind="stable")[:MOST]
    used = largest[column[largest] != 0]
    terms = [subject.vectors.terms[feature] for feature in used]
    return Findings({}, {"weights.terms": list(terms), "weights.values": rounded(column[used])})
