"""The dual on a working set of documents, one category at a time: coordinate steps on a Gram matrix, and
Newton on the free part.

Problem:  max_s  g's - s'Qs/2,  low <= s <= high,  Q_ij = y_i y_j x_i'x_j + ridge [i = j], over the documents of
the working set: s is the change of their dual variables, g the gradient before it
In:   Q, s = 0, the bounds of the change, the gradient (changed in place), in one element type
Out:  the change, its gradient
A coordinate step costs one pass over a row of Q, whatever the length of the documents. Between rounds of such
steps the variables strictly inside their bounds take a Newton step. Where C is large, coordinate steps alone
take thousands of passes. That the change is sought, not the dual variables, lets float32 refine what it cannot
hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from textcat.compile import compiled
from textcat.linear.lanes.newton import Newton

Values = NDArray[np.floating]

# Sweeps between two looks at the gap, and the factor by which it falls while they are worth it.
_SWEEPS = 10
_FAST = 0.5
# A round that raises the dual by less than this part of the gap is lost in rounding.
_LEAST_GAIN = 1e-5
# A Newton step that gains less than this part of the gap is held against another.
_POOR = 0.1
_MOST_ROUNDS = 60


@dataclass
class Change:
    """The change of the dual variables of a working set, its bounds, and the gradient there."""

    Q: Values
    low: Values
    high: Values
    ridges: Values
    gradient: Values
    change: Values = field(init=False)
    first: Values = field(init=False)

    def __post_init__(self) -> None:
        self.change = np.zeros_like(self.gradient)
        self.first = self.gradient.copy()

    @property
    def gap(self) -> float:
        """The duality gap of the problem on the working set."""
        rise = np.clip(
            self.gradient / np.maximum(self.ridges, 1e-30), self.low - self.change, self.high - self.change
        )
        return float((rise * (self.gradient - 0.5 * self.ridges * rise)).sum(dtype=np.float64))

    @property
    def gain(self) -> float:
        """By how much the dual has risen."""
        return 0.5 * float((self.change * (self.first + self.gradient)).sum(dtype=np.float64))

    @property
    def free(self) -> NDArray[np.int64]:
        """The variables strictly inside their bounds."""
        return np.flatnonzero((self.change > self.low) & (self.change < self.high))


@compiled
def coordinate_steps(
    Q: Any, change: Any, gradient: Any, low: Any, high: Any, sweeps: int, negligible: float
) -> None:
    """Exact steps of one variable after the other, those that gain next to nothing passed over."""
    n = len(change)
    for _ in range(sweeps):
        for i in range(n):
            old = change[i]
            new = min(max(old + gradient[i] / max(Q[i, i], np.float32(1e-30)), low[i]), high[i])
            step = new - old
            if step * gradient[i] > negligible or (step != 0.0 and (new == low[i] or new == high[i])):
                change[i] = new
                row = Q[i]
                for k in range(n):
                    gradient[k] -= step * row[k]


@compiled
def _product(Q: Any, rows: Any, vector: Any, out: Any) -> None:
    """Q times a vector that is zero outside `rows`; Q is symmetric."""
    out[:] = 0.0
    for k in range(len(rows)):
        row = Q[rows[k]]
        value = vector[k]
        if value != 0.0:
            for j in range(len(out)):
                out[j] += value * row[j]


def newton_step(part: Change, newton: Newton, gap: float) -> None:
    """Move the variables inside their bounds by a Newton step that respects the bounds, as far as it gains.

    Where documents are more than their features such a step can be anything: if it gains little of the gap, the
    plain step up to the first bound, which takes a variable out each time, is tried too.
    """
    left = (part.low - part.change, part.high - part.change)
    moved, bounded, plain = newton.step(part.Q, part.free, part.gradient, *left)
    trial = _trial(part, moved, bounded)
    if trial.gain < _POOR * gap:
        other = _trial(part, moved, plain)
        trial = other if other.gain > trial.gain else trial
    if trial.gain > 0:
        there = part.change[moved] + trial.step
        part.change[moved] = np.clip(there, part.low[moved], part.high[moved])
        part.gradient -= trial.effect


@dataclass(frozen=True)
class _Trial:
    """A step of some variables, its effect on all gradients, and by how much the dual would rise."""

    step: Values
    effect: Values
    gain: float


def _trial(part: Change, moved: NDArray[np.int64], step: Values) -> _Trial:
    """As much of a step as gains most."""
    effect = np.empty_like(part.gradient)
    _product(part.Q, moved, step, effect)
    slope, bend = float(part.gradient[moved] @ step), float(step @ effect[moved])
    if not slope > 0:
        return _Trial(step, effect, 0.0)
    length = part.Q.dtype.type(min(1.0, slope / bend) if bend > 0 else 1.0)
    return _Trial(length * step, length * effect, float(length * (slope - 0.5 * length * bend)))


def ascend(part: Change, newton: Newton, target: float) -> bool:
    """Coordinate steps and, where these slow down, Newton steps, until the gap on the working set is at most
    `target`; False when rounding keeps it from getting there.
    """
    negligible = 1e-3 * target / len(part.change)
    bounds = (part.low, part.high)
    gain, gap = -np.inf, np.inf
    for _ in range(_MOST_ROUNDS):
        coordinate_steps(part.Q, part.change, part.gradient, *bounds, _SWEEPS, negligible)
        before, gap = gap, part.gap
        if gap <= target:
            return True
        if gap > _FAST * before:
            last, gain = gain, part.gain
            if gain - last < _LEAST_GAIN * gap or not len(part.free):
                return False
            try:
                newton_step(part, newton, gap)
            except LinAlgError:
                return False
            gap = np.inf
    return False
