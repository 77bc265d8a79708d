"""Conversions between lam and C, prior variance and the papers' variants: the only place with n and factors of 2.

The objective here is (1/n) sum f + lam w^2 (Gaussian) or (1/n) sum f + lam |w| (Laplace), over n documents.
Other forms are multiples of it:

- C:          C sum f + w^2 / 2       or  C sum f + |w|            (support vector machine programs)
- variance:   sum f + w^2 / (2 tau)   or  sum f + sqrt(2 / tau) |w|  (minus a log posterior; prior
  variance tau)
- bare variance: sum f + w^2 / tau, as equations 10 and 13 of genkin_2004 are printed: tau counts double.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError

FloatOrArray = TypeVar("FloatOrArray", float, NDArray[np.float64])

GAUSSIAN, LAPLACE = "gaussian", "laplace"


def _check_prior(prior: str) -> None:
    if prior not in (GAUSSIAN, LAPLACE):
        raise UsageError(
            f"prior {prior!r} has no strength to convert",
            hint="Choose a prior that has one: gaussian, laplace.",
        )


def lam_from_c(c: FloatOrArray, documents: float, prior: str = GAUSSIAN) -> FloatOrArray:
    """Return the lam of a cost C: 1 / (2 C n) for the Gaussian prior, 1 / (C n) for the Laplace prior."""
    _check_prior(prior)
    return 1.0 / ((2.0 if prior == GAUSSIAN else 1.0) * documents * c)


def c_from_lam(lam: FloatOrArray, documents: float, prior: str = GAUSSIAN) -> FloatOrArray:
    """Return the cost C of a lam; the conversion is its own inverse."""
    return lam_from_c(lam, documents, prior)


def lam_from_variance(
    variance: FloatOrArray, documents: int, prior: str = GAUSSIAN, bare: bool = False
) -> FloatOrArray:
    """Return the lam of a prior variance; `bare` takes 1 / tau in place of the Gaussian density's 1 / (2 tau)."""
    _check_prior(prior)
    if prior == GAUSSIAN:
        return 1.0 / ((1.0 if bare else 2.0) * documents * variance)
    rate: FloatOrArray = (2.0 / variance) ** 0.5
    return rate / documents


def lam_from_laplace_rate(rate: FloatOrArray, documents: int) -> FloatOrArray:
    """Return the lam of a rate of the Laplace density (lambda_j in equation 6 of genkin_2004; variance 2 / rate^2)."""
    return rate / documents
