"""How far documents lie from the hyperplane: figure 5 of zhang_oles_2001 and figure 4 of gao_2003."""

from __future__ import annotations

import numpy as np
from scipy import stats

from textcat.experiment.studies.study import Findings, Floats, Subject, rounded

BINS = 60
FAR = 2.0
DEVIATIONS = 3.0


def margins(subject: Subject) -> Findings:
    """Histograms of score times label, and of the scores of either side, over the training documents.

    margins.tail: percent of the documents whose score times label exceeds 2, twice what least squares aims at;
    margins.upper_tail: percent of them more than three standard deviations above its mean;
    margins.kurtosis: its excess kurtosis; margins.overlap: the area, in percent, that the histograms of both
    sides' scores share when each has area 1.
    """
    columns = subject.columns
    scores = subject.train_scores[:, columns].ravel()
    positive = subject.vectors.train_labels[:, columns].ravel()
    signed = np.where(positive, scores, -scores)
    edges = np.linspace(*_ends(signed), BINS + 1)
    sides = np.linspace(*_ends(scores), BINS + 1)
    inside, outside = (_shares(scores[mask], sides) for mask in (positive, ~positive))
    return Findings(
        {
            "margins.tail": float(100.0 * np.mean(signed > FAR)),
            "margins.upper_tail": float(100.0 * np.mean(signed > signed.mean() + DEVIATIONS * signed.std())),
            "margins.kurtosis": float(stats.kurtosis(signed)) if np.ptp(signed) > 0 else float("nan"),
            "margins.overlap": float(100.0 * np.minimum(inside, outside).sum()),
        },
        {
            "margins.edges": rounded(edges),
            "margins.counts": rounded(np.histogram(signed, edges)[0]),
            "scores.edges": rounded(sides),
            "scores.positive": rounded(np.histogram(scores[positive], sides)[0]),
            "scores.negative": rounded(np.histogram(scores[~positive], sides)[0]),
        },
    )


def _ends(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _shares(values: Floats, edges: Floats) -> Floats:
    return np.asarray(np.histogram(values, edges)[0] / max(len(values), 1))
