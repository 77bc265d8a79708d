"""The percentage of documents whose set of categories is exactly right."""

import numpy as np


def subset_accuracy(scores, decisions, labels):
    return 100.0 * np.mean(np.all(decisions == labels, axis=1))
