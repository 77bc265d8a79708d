"""Linear learners: a loss, a prior and an algorithm, for all categories in one go."""
