"""The hinge with its corner rounded off between the margins 0 and 1."""

import numpy as np

from textcat.linear import Loss

SMOOTH_HINGE = Loss(
    name="smooth_hinge",
    value=lambda r: np.where(r < 0, 0.5 - r, np.maximum(1 - r, 0) ** 2 / 2),
    derivative=lambda r: -np.clip(1 - r, 0, 1),
    # The Legendre transform, for dual variables between -1 and 0. With None there are no duality gaps.
    conjugate=lambda v: v + v * v / 2,
    # A bound on the second derivative; None if the derivative jumps.
    curvature=1.0,
    target=1.0,
)
