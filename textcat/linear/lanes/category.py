"""One category at its finish: dual variables, weights and margins in float64, and the bounds that spare documents.

A margin moves by at most |x_i| times the move of the weights, so a document that is far enough beyond its margin
keeps a loss of zero and needs no product: its lower bound is kept in place of its margin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compiled
from textcat.linear.lanes.blocks import Rows
from textcat.linear.lanes.losses import Loss

Array = NDArray[np.float64]

# Rounding of a bound, in units of |x_i| |w|.
_ROUNDING = 1e-9


@compiled
def _combine(spans: Any, indices: Any, data: Any, documents: Any, steps: Any, w: Any) -> None:
    """Add documents times `steps` to the weights."""
    for i in documents:
        for t in range(spans[i, 0], spans[i, 1]):
            w[indices[t]] += steps[i] * data[t]


@compiled
def _multiply(spans: Any, indices: Any, data: Any, documents: Any, signs: Any, w: Any, margins: Any) -> None:
    """Signed products of documents with the weights."""
    for i in documents:
        a = 0.0
        b = 0.0
        t = spans[i, 0]
        end = spans[i, 1]
        while t + 1 < end:
            a += data[t] * w[indices[t]]
            b += data[t + 1] * w[indices[t + 1]]
            t += 2
        if t < end:
            a += data[t] * w[indices[t]]
        margins[i] = signs[i] * (a + b)


@dataclass
class Category:
    """State and certificate. `margins` are exact where below `1`, and lower bounds elsewhere."""

    rows: Rows
    loss: Loss
    signs: Array
    limits: Array
    alpha: Array
    margins: Array
    w: Array
    lengths: Array
    objective: float = field(init=False)
    dual_objective: float = field(init=False)

    def __post_init__(self) -> None:
        self._judge()

    @property
    def gap(self) -> float:
        """The duality gap; zero bounds rounding."""
        return max(self.objective - self.dual_objective, 0.0)

    @property
    def ceilings(self) -> Array:
        """The largest value of each dual variable."""
        return self.limits if self.loss.name == "hinge" else np.full_like(self.limits, np.inf)

    @property
    def ridges(self) -> Array:
        """What the loss adds to the diagonal of the dual's matrix."""
        return np.zeros_like(self.limits) if self.loss.name == "hinge" else 1 / (2 * self.limits)

    def move(self, documents: NDArray[np.int64], values: Array) -> None:
        """Give some documents new dual variables and the others none: weights anew, the margins of these documents
        and of those whose bounds leave a doubt, objectives.
        """
        alpha = np.zeros_like(self.alpha)
        alpha[documents] = values
        matrix = (self.rows.spans, self.rows.indices, self.rows.data)
        w = np.zeros_like(self.w)
        _combine(*matrix, np.flatnonzero(alpha), self.signs * alpha, w)
        moved = float(np.linalg.norm(w - self.w)) + _ROUNDING * float(np.linalg.norm(w))
        self.margins -= moved * self.lengths
        unsure = self.margins < 1
        unsure[documents] = True
        _multiply(*matrix, np.flatnonzero(unsure), self.signs, w, self.margins)
        self.alpha, self.w = alpha, w
        self._judge()

    def _judge(self) -> None:
        penalty = 0.5 * float(self.w @ self.w)
        below, used = np.flatnonzero(self.margins < 1), np.flatnonzero(self.alpha)
        losses = self.loss.value(self.margins[below], self.limits[below])
        self.objective = penalty + float(losses.sum())
        self.dual_objective = float(self.loss.dual_value(self.alpha[used], self.limits[used]).sum()) - penalty
