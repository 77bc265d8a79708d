"""Options of each algorithm, checked before any work: the keys of `fit(..., options={...})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from textcat.errors import make_fit_error
from textcat.linear.losses import Loss
from textcat.linear.problem import BLOCK_LANES

STOPS = ("passes", "scores", "optimality")
ORDERS = ("constant_first", "constant_last", "reversed")
PRECISIONS = ("float32", "float64")
# Scores or weights are recomputed after this many passes, so that rounding errors do not add up.
REFRESH_PASSES = {"float32": 8, "float64": 64}


def _require(valid: bool, what: str, hint: str) -> None:
    if not valid:
        raise make_fit_error(what, hint)


def _check_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    _require(value in allowed, f"option {name} cannot be {value!r}", "Choose one of " + ", ".join(allowed))


@dataclass(frozen=True)
class Options:
    """Options of all algorithms: when to stop, and the precision of the lanes.

    stop "passes": exactly max_passes; "scores": sum |dr| <= tol (1 + sum |r|) over a pass, the rule of both
    zhang_oles_2001 and genkin_2004; "optimality": duality gap within tol of the objective (or, where there is
    no gap, violation within tol of that at 0), computed after growing numbers of passes.
    gamma is the sharpness of the modified logistic loss; jobs is the number of threads per block, and lanes
    the most categories of a block.
    """

    tol: float = 1e-6
    max_passes: int = 1000
    seed: int = 0
    jobs: int = 1
    stop: str = "optimality"
    precision: str = "float64"
    gamma: float = 10.0
    lanes: int = BLOCK_LANES

    def __post_init__(self) -> None:
        _check_one_of("stop", self.stop, STOPS)
        _check_one_of("precision", self.precision, PRECISIONS)
        _require(
            self.max_passes >= 1 and self.tol >= 0,
            f"max_passes {self.max_passes} or tol {self.tol} is out of range",
            "Give max_passes of 1 or more and a tol above 0.",
        )
        _require(self.lanes >= 1, f"option lanes cannot be {self.lanes}", "Give 1 or more.")


@dataclass(frozen=True)
class ColumnOptions(Options):
    """Column relaxation: trust region rule, curvature bound, continuation, order of the features.

    trust_region "epsilon": 2 |dw| + epsilon (zhang_oles_2001), "halving": max(2 |dw|, radius / 2)
    (genkin_2004). bound: the F(r, delta) of the logistic loss, from algorithm 4 of zhang_oles_2001 or
    equation 25 of genkin_2004. continuation: c_k = max(0, 1 - k / continuation) in algorithm 3; 0 for none.
    order: "constant_first", then the other features in the order of the matrix; "constant_last"; or
    "reversed". The optimum is the same, but the result of a fixed number of passes is not, because every
    score depends on the constant.
    """

    trust_region: str = "halving"
    epsilon: float = 0.1
    bound: str = "genkin_2004"
    continuation: int = 0
    order: str = "constant_first"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one_of("trust_region", self.trust_region, ("epsilon", "halving"))
        _check_one_of("order", self.order, ORDERS)
        _check_one_of("bound", self.bound, ("zhang_oles_2001", "genkin_2004"))
        _require(
            self.epsilon > 0 and self.continuation >= 0,
            "option epsilon must be above 0, continuation 0 or more",
            "Give numbers in these ranges, or leave the options out.",
        )

    def compute_continuation(self, k: int) -> float:
        """Return the continuation parameter c_k of pass k (the first is 1)."""
        return max(0.0, 1.0 - k / self.continuation) if self.continuation else 0.0

    def choose_first_radius(self, loss: Loss) -> float:
        """Return the first trust region, 1 in both papers; the squared loss, solved exactly, needs none."""
        return np.inf if loss.name == "squared" else 1.0


@dataclass(frozen=True)
class RowOptions(Options):
    """Dual row relaxation: eta scales each step (0.1 in zhang_oles_2001, equation 18); order of documents.

    order "given": as in the matrix; "random": one permutation drawn from the seed; "shuffled": a new
    permutation each pass; "grouped": the documents of the category first, then the others. All documents
    share the constant feature, and a fixed order can take a hundred times the passes of a new one each
    pass.
    """

    eta: float = 1.0
    order: str = "shuffled"
    keep_dual: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one_of("order", self.order, ("given", "random", "shuffled", "grouped"))
        what = f"option eta must lie between 0 and 2, not {self.eta}"
        _require(0 < self.eta < 2, what, "Give a number between 0 and 2, or leave the option out.")


@dataclass(frozen=True)
class GradientOptions(Options):
    """Conjugate gradient of zhang_jin_2003, algorithm 1: gamma grows by delta after every `steps` steps.

    With delta 0 gamma is constant and the direction restarts after every `steps` steps. direction: "HS"
    Hestenes-Stiefel, "FR" Fletcher-Reeves, "PR" Polak-Ribiere. line_search: "exact" minimizes along the
    direction, "newton" takes one Newton step (Minka 2001).
    """

    delta: float = 0.0
    steps: int = 10
    direction: str = "HS"
    line_search: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one_of("direction", self.direction, ("HS", "FR", "PR"))
        _check_one_of("line_search", self.line_search, ("exact", "newton"))
        _require(
            self.gamma > 0 and self.delta >= 0 and self.steps >= 1,
            "options gamma, delta or steps are out of range",
            "Give gamma above 0, delta of 0 or more and at least one step, or leave them out.",
        )
        what = "conjugate gradient works in float64 only"
        _require(self.precision == "float64", what, "Leave `precision` out.")
        _require(
            self.delta == 0 or self.stop == "passes",
            "with a growing gamma the problem changes at every restart and cannot converge",
            "Use options stop: passes with a number of steps, or delta: 0.",
        )


OptionsType = TypeVar("OptionsType", bound=Options)


@dataclass(frozen=True)
class FastOptions(Options):
    """The fast algorithm stops at the optimum: each category at a duality gap within tol of its objective."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(
            self.stop == "optimality",
            "the fast algorithm does not follow the passes of the papers, it goes to the optimum",
            "Choose the algorithm `column` or `row` for the papers' passes.",
        )
        what = f"tol must be above 0 for the fast algorithm, not {self.tol}"
        _require(self.tol > 0, what, "Give a number such as 1e-4.")


def read_options(kind: type[OptionsType], given: Mapping[str, Any], shared: Mapping[str, Any]) -> OptionsType:
    """Return the options of an algorithm; refuse unknown names."""
    known = [each.name for each in fields(kind) if each.name not in shared]
    for name in given:
        _require(name in known, f"this algorithm has no option {name!r}", "Options: " + ", ".join(known))
    return kind(**shared, **given)
