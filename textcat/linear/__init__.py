"""Linear learners: a loss, a prior and an algorithm, for all categories in one go."""

from textcat.linear.certificate import Certificate
from textcat.linear.combinations import learner, named_learners
from textcat.linear.fit import fit, fit_path
from textcat.linear.losses import Loss
from textcat.linear.model import LinearModel
from textcat.linear.options import Options
from textcat.linear.priors import Prior
from textcat.linear.problem import PenaltyShape
from textcat.linear.stopping import BlockResult, Progress
from textcat.linear.training import Algorithm

__all__ = [
    "Algorithm",
    "BlockResult",
    "Certificate",
    "LinearModel",
    "Loss",
    "Options",
    "PenaltyShape",
    "Prior",
    "Progress",
    "fit",
    "fit_path",
    "learner",
    "named_learners",
]
