"""Linear learners: any loss, prior and algorithm, for all categories at once."""

from textcat.linear.algorithm_options import Options
from textcat.linear.certificate import BlockResult, Certificate, Progress
from textcat.linear.combinations import load_named_learners
from textcat.linear.fit import fit, fit_path
from textcat.linear.losses import Loss
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior
from textcat.linear.training import Algorithm

__all__ = [
    "Algorithm",
    "BlockResult",
    "Certificate",
    "LinearModel",
    "Loss",
    "Options",
    "Prior",
    "Progress",
    "fit",
    "fit_path",
    "load_named_learners",
]
