"""Priors: one strength for all weights, or a variance for each feature (and category).

genkin_2004, sections 3.1 and 3.2: a Gaussian or Laplace density around 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textcat.errors import make_fit_error
from textcat.linear.problem import Floats, Penalty
from textcat.linear.regularization import lam_from_variance

PRIORS = ("gaussian", "laplace", "none")
ALL_PRIORS = (*PRIORS, "jeffreys")


@dataclass(frozen=True)
class Prior:
    """A prior by name ("gaussian", "laplace", "none"), with variances of single weights.

    `variance` is a vector over features or an array, features x categories; it takes the place of lam (NaN keeps lam).
    """

    name: str
    variance: ArrayLike | None = None


def _expand_by_feature(given: ArrayLike, shape: tuple[int, int], constant: bool) -> Floats:
    """Return variances of all weights; the constant has NaN."""
    values = np.asarray(given, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.shape[0] != shape[0] - constant or values.shape[1] not in (1, shape[1]):
        wanted = (shape[0] - constant, shape[1])
        raise make_fit_error(
            f"the prior's variance has shape {np.shape(given)}, not {wanted[:1]} or {wanted}",
            "Give one number per feature, or one per feature and category.",
        )
    if constant:
        values = np.vstack([values, np.full((1, values.shape[1]), np.nan)])
    return np.broadcast_to(values, shape)


def _compute_strength(
    prior: Prior, lam: Any, shape: tuple[int, int], documents: int, constant: bool
) -> Floats:
    lams = np.asarray(lam, dtype=np.float64)
    if lams.ndim > 1 or (lams.ndim == 1 and lams.shape[0] != shape[1]):
        raise make_fit_error(
            f"lam has shape {lams.shape}; it must be a number, or one per category ({shape[1]})",
            "Give one of the two.",
        )
    if not np.isfinite(lams).all() or (lams < 0).any():
        raise make_fit_error(f"lam must be finite and 0 or more, not {lam}", "Give a number such as 1e-3.")
    if prior.name == "none":
        return np.zeros((1, 1)) + np.zeros(shape)
    strength = np.broadcast_to(lams, shape)
    if prior.variance is None:
        return strength
    variance = _expand_by_feature(prior.variance, shape, constant)
    if (variance <= 0).any():
        raise make_fit_error("a prior variance must be above 0", "To drop a feature, mask it.")
    return np.where(np.isnan(variance), strength, lam_from_variance(variance, documents, prior.name))


def make_penalty(
    prior: Prior, lam: Any, shape: tuple[int, int], documents: int, constant: bool, penalize_bias: bool
) -> Penalty:
    """Return the penalty on weights of the given shape; the last row is the constant if there is one."""
    strength = _compute_strength(prior, lam, shape, documents, constant)
    if constant and not penalize_bias:
        strength = strength.copy()
        strength[-1] = 0.0
    return Penalty("gaussian" if prior.name == "none" else prior.name, strength)
