"""A prior between Laplace and Gauss: |w| with its corner rounded off within a hundredth of 0."""

import numpy as np

from textcat.linear import PenaltyShape

WIDTH = 0.01

SOFT_LAPLACE = PenaltyShape(
    value=lambda w: np.sqrt(w * w + WIDTH * WIDTH) - WIDTH,
    derivative=lambda w: w / np.sqrt(w * w + WIDTH * WIDTH),
)
