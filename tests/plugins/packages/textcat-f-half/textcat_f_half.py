"""Thresholds with the best F for beta = 1/2, which weights precision more than recall."""

import numpy as np


def best_f_half(scores, labels, settings):
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    hits = np.cumsum(np.take_along_axis(labels, order, axis=0), axis=0)
    accepted = np.arange(1, len(scores) + 1)[:, np.newaxis]
    quality = 1.25 * hits / (accepted + 0.25 * labels.sum(axis=0))
    # Equal scores are accepted together: a threshold is possible only where the next score is lower.
    quality[:-1][ranked[:-1] == ranked[1:]] = -1.0
    best = quality.argmax(axis=0)
    return np.take_along_axis(ranked, best[np.newaxis, :], axis=0)[0]
