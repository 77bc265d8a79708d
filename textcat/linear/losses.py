"""Losses as functions of the margin r = y w.x: value, derivative, curvature bound and conjugate.

The conjugate is the Legendre transform k(v) = sup_u (u v - f(u)) of zhang_oles_2001, equation 14; dual
variables are v = f'(r), never positive for the classification losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from textcat.errors import UsageError
from textcat.extensions import check_numbers, claim_name, guard_function

Values = NDArray[np.float64]
LossFunction = Callable[[Values], Values]


@dataclass(frozen=True)
class Loss:
    """A loss with its derivative and conjugate.

    `curvature` bounds f'' (None where f' jumps); `target` is m in the state w.x - m y of the kernels. Without
    a conjugate there is no duality gap, and optimality is judged by the gradient.
    """

    name: str
    value: LossFunction
    derivative: LossFunction
    conjugate: LossFunction | None
    curvature: float | None
    target: float
    gamma: float = 1.0

    @property
    def smooth(self) -> bool:
        """Whether the derivative is continuous everywhere."""
        return self.curvature is not None


def _softplus(z: Values) -> Values:
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))


def _entropy(a: Values) -> Values:
    a = np.clip(a, 0.0, 1.0)
    return np.asarray(xlogy(a, a) + xlogy(1.0 - a, 1.0 - a))


def squared() -> Loss:
    """f(r) = (r - 1)^2: least squares, equation 4 of zhang_oles_2001."""
    return Loss("squared", lambda r: (r - 1) ** 2, lambda r: 2 * (r - 1), lambda v: v * v / 4 + v, 2.0, 1.0)


def squared_hinge() -> Loss:
    """f(r) = max(0, 1 - r)^2: modified least squares, equations 10 and 11 of zhang_oles_2001."""
    return Loss(
        "squared_hinge",
        lambda r: np.minimum(r - 1, 0) ** 2,
        lambda r: 2 * np.minimum(r - 1, 0),
        lambda v: v * v / 4 + v,
        2.0,
        1.0,
    )


def hinge() -> Loss:
    """f(r) = max(0, 1 - r): the support vector machine's loss, equation 9 of zhang_oles_2001."""
    return Loss(
        "hinge", lambda r: np.maximum(1 - r, 0), lambda r: np.where(r < 1, -1.0, 0.0), lambda v: v, None, 1.0
    )


def logistic() -> Loss:
    """f(r) = ln(1 + exp(-r)): equation 5 of zhang_oles_2001."""
    return Loss(
        "logistic",
        lambda r: _softplus(-r),
        lambda r: -np.asarray(expit(-r)),
        lambda v: _entropy(-v),
        0.25,
        0.0,
    )


def modified_logistic(gamma: float = 10.0) -> Loss:
    """f(r) = ln(1 + exp(-gamma (r - 1))) / gamma: equation 1 of zhang_jin_2003, which tends to the hinge."""
    if not gamma > 0:
        raise UsageError(
            f"gamma must be above 0, not {gamma}",
            where="loss modified_logistic",
            hint="Give a number such as 1.",
        )
    return Loss(
        "modified_logistic",
        lambda r: _softplus(-gamma * (r - 1)) / gamma,
        lambda r: -np.asarray(expit(-gamma * (r - 1))),
        lambda v: v + _entropy(-v) / gamma,
        gamma / 4,
        1.0,
        gamma,
    )


# Codes by which compiled kernels choose a loss.
SQUARED, SQUARED_HINGE, LOGISTIC, HINGE = 0, 1, 2, 3
LOSS_CODES = {
    "squared": SQUARED,
    "squared_hinge": SQUARED_HINGE,
    "logistic": LOGISTIC,
    "modified_logistic": LOGISTIC,
    "hinge": HINGE,
}

LOSSES: dict[str, Callable[[], Loss]] = {
    "squared": squared,
    "squared_hinge": squared_hinge,
    "hinge": hinge,
    "logistic": logistic,
}
# The losses that compiled kernels have; registered ones need the algorithm conjugate_gradient.
LOSS_NAMES = (*LOSSES, "modified_logistic")


def list_losses() -> list[str]:
    """Return the names of all losses."""
    return [*LOSS_NAMES, *(name for name in LOSSES if name not in LOSS_NAMES)]


def register_loss(loss: Loss) -> None:
    """Add a convex loss, which must be smooth; only conjugate gradient takes it."""
    claim_name("loss", loss.name, LOSS_NAMES)

    def guard(function: LossFunction) -> LossFunction:
        return guard_function("loss", loss.name, function, lambda found, r: check_numbers(r.shape, found))

    guarded = replace(
        loss,
        value=guard(loss.value),
        derivative=guard(loss.derivative),
        conjugate=None if loss.conjugate is None else guard(loss.conjugate),
    )
    LOSSES[loss.name] = lambda: guarded


def find_loss(name: str, gamma: float = 10.0) -> Loss:
    """Return a loss by name; `gamma` is the sharpness of the modified logistic loss."""
    if name == "modified_logistic":
        return modified_logistic(gamma)
    if name not in LOSSES:
        raise UsageError(f"there is no loss {name!r}", hint="Losses: " + ", ".join(list_losses()))
    return LOSSES[name]()
