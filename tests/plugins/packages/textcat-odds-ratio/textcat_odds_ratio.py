"""The log odds ratio of a term: its odds inside a category divided by those outside."""

import numpy as np

from textcat.selection import Contingency, of_contingency


@of_contingency
def odds_ratio(t: Contingency):
    # Add half a document to each count, so that no odds are 0 or infinite.
    inside = (t.a + 0.5) / (t.b + 0.5)
    outside = (t.c + 0.5) / (t.d + 0.5)
    return np.log(inside / outside)
