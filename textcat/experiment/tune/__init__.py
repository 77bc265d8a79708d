"""Search the best representation, learner and threshold rule for given documents within a time."""
