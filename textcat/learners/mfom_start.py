"""Where the descents start from: the mean of the smaller class, and a threshold that accepts all of it.

Paper: gao_2003 section 5.3, for the batch perceptron and for GPD alike.
"""

from __future__ import annotations

import numpy as np

from textcat.learners.binary_tree import Bools, FeatureMatrix, LinearNodes


def initial_nodes(X: FeatureMatrix, positive: Bools, member: Bools) -> LinearNodes:
    """Section 5.3: w is the mean of the class with fewer documents, w0 the least w.x of that class.

    Where the negatives are fewer the same is done with the sign turned: a split still says Yes above 0.
    """
    negative = member & ~positive
    turned = negative.sum(axis=0) < positive.sum(axis=0)
    fewer = np.where(turned, negative, positive)
    counts = np.maximum(fewer.sum(axis=0), 1).astype(np.float32)
    weights = np.asarray(X.T @ fewer.astype(np.float32)) / counts
    lowest = np.where(fewer, np.asarray(X @ weights), np.inf).min(axis=0, initial=np.inf)
    sign = np.where(turned, -1, 1).astype(np.float32)
    return LinearNodes(
        (weights * sign).astype(np.float32),
        (np.where(np.isfinite(lowest), lowest, 0) * sign).astype(np.float32),
    )
