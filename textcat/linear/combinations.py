"""Possible combinations of loss, prior and algorithm, and the named learners of the papers.

An impossible combination is refused before any work, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from textcat.errors import UsageError
from textcat.linear.losses import LOSS_NAMES, Loss
from textcat.linear.priors import ALL_PRIORS, PRIORS
from textcat.yaml_reader import read_packaged_yaml


@dataclass(frozen=True)
class SolveRequest:
    """The properties of a problem that decide which algorithms can solve it."""

    loss: Loss
    prior: str
    penalize_bias: bool = True
    bias: float = 1.0
    one_strength: bool = True
    class_weights: bool = False


RefusalRule = Callable[[SolveRequest], str | None]


def _refuse_without_kernels(request: SolveRequest) -> str | None:
    """Refuse registered losses, for algorithms with compiled kernels."""
    if request.loss.name not in LOSS_NAMES:
        return f"only conjugate gradient takes a registered loss, such as {request.loss.name}"
    return None


def _refuse_column(request: SolveRequest) -> str | None:
    if not request.loss.smooth:
        return (
            f"column relaxation needs a bound on the curvature, and the {request.loss.name} loss has a corner"
        )
    return _refuse_without_kernels(request)


def _refuse_row(request: SolveRequest) -> str | None:
    if request.prior != "gaussian":
        return f"row relaxation works on the dual of a Gaussian prior, not of prior {request.prior!r}"
    if not request.penalize_bias and request.bias != 0.0:
        return (
            "with an unpenalized constant the dual has an equality constraint that single steps cannot keep"
        )
    if not request.one_strength:
        return "row relaxation takes one lam for all features of a category"
    return _refuse_without_kernels(request)


def _refuse_conjugate_gradient(request: SolveRequest) -> str | None:
    if not request.loss.smooth:
        return f"conjugate gradient needs a derivative, and the {request.loss.name} loss has a corner"
    if request.prior == "laplace":
        return "conjugate gradient needs a derivative, and the Laplace prior has a corner at 0"
    return None


def _refuse_fast(request: SolveRequest) -> str | None:
    if request.loss.name not in ("logistic", "hinge", "squared_hinge"):
        return f"the fast algorithm has no {request.loss.name} loss"
    if request.prior == "laplace" and not request.loss.smooth:
        return "no single weight can be moved alone where both the loss and the Laplace prior have corners"
    if request.prior == "none" or (not request.penalize_bias and request.bias != 0.0):
        return "the fast algorithm needs a prior on every weight, the constant included"
    if not request.one_strength:
        return "the fast algorithm takes one lam for all features of a category"
    if request.class_weights:
        return "the fast algorithm takes weights of documents, not of classes"
    return None


REFUSAL_RULES: dict[str, RefusalRule] = {
    "column": _refuse_column,
    "row": _refuse_row,
    "conjugate_gradient": _refuse_conjugate_gradient,
    "fast": _refuse_fast,
}
QUICKEST_FIRST = ("fast", "column", "row", "conjugate_gradient")
# For small problems: a few dozen steps give all digits, also for features of different scales.
EXACTEST_FIRST = ("conjugate_gradient", "fast", "column", "row")


def check_combination(algorithm: str, request: SolveRequest) -> None:
    """Refuse an impossible combination with its reason."""
    if request.prior not in PRIORS:
        raise UsageError(f"there is no prior {request.prior!r}", hint="Priors: " + ", ".join(ALL_PRIORS))
    if algorithm not in REFUSAL_RULES:
        raise UsageError(
            f"there is no algorithm {algorithm!r}", hint="Algorithms: " + ", ".join(REFUSAL_RULES)
        )
    reason = REFUSAL_RULES[algorithm](request)
    if reason is not None:
        able = [name for name, rule in REFUSAL_RULES.items() if rule(request) is None]
        raise UsageError(
            reason,
            where=f"{request.loss.name} x {request.prior} x {algorithm}",
            hint="Algorithms that can: " + (", ".join(able) or "none"),
        )


def choose_algorithm(request: SolveRequest, order: Sequence[str] = QUICKEST_FIRST) -> str:
    """Return the first algorithm that can solve it; if none can, one whose refusal gives the reason."""
    return next((name for name in order if REFUSAL_RULES[name](request) is None), "column")


@cache
def load_named_learners() -> dict[str, dict[str, Any]]:
    """Return the combinations that have a name in a paper; their `settings` are keyword arguments of `fit`."""
    return dict(read_packaged_yaml("linear/learners.yaml"))
