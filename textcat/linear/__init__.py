"""Linear learners: a loss, a prior and an algorithm, for all categories in one go."""

from textcat.linear.certificate import Certificate
from textcat.linear.combinations import learner, named_learners
from textcat.linear.fit import fit, fit_path
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior

__all__ = ["Certificate", "LinearModel", "Prior", "fit", "fit_path", "learner", "named_learners"]
