"""The dual on a working set of documents: coordinate steps and Newton steps on a Gram matrix.

Problem:  max_s  g's - s'Qs/2,  low <= s <= high,  Q_ij = y_i y_j x_i'x_j + ridge [i = j], over the documents of
the working set: s is the change of their dual variables, g the gradient before it
In:   Q, s = 0, the bounds of the change, the gradient (changed in place), in one element type
Out:  the change, its gradient
A coordinate step costs one pass over a row of Q, whatever the length of the documents. Where C is large,
coordinate steps alone take thousands of passes, so the variables strictly inside their bounds take a Newton
step in between. Solving for the change, not for the dual variables, lets float32 refine values that it cannot
hold precisely.

Newton step:  Q step = gradient over the free variables; those that would leave their bounds are held there.
The Cholesky factor is reused: a variable that is no longer free is held where it is, and a new one is bordered.
Each costs a column of the inverse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from textcat.compile import compile_kernel

Values = NDArray[np.floating]
Numbers = NDArray[np.int64]

# As shares of the number of free variables: changes after which a factor is still reused, variables held in a step.
_REUSE_SHARE = 0.1
_HELD_SHARE = 0.2
_MIN_CHANGES = 10
_MAX_BOUND_CHANGES = 8
_MAX_DAMPINGS = 6


@compile_kernel
def _copy_free_triangle(Q: Any, free: Any, raised: float, block: Any) -> None:
    """Copy the lower triangle of Q over the free variables, with its diagonal raised by a factor."""
    for j in range(len(free)):
        row = Q[free[j]]
        for k in range(j + 1):
            block[j, k] = row[free[k]]
        block[j, j] *= raised


def _factorize_free_part(Q: Values, free: Numbers) -> Values:
    """Return the Cholesky factor of Q over the free variables, damped where rounding makes Q singular."""
    block = np.empty((len(free), len(free)), Q.dtype)
    factorize: Any = get_lapack_funcs("potrf", (block,))
    damping = _compute_damping(Q)
    for _ in range(_MAX_DAMPINGS):
        _copy_free_triangle(Q, free, 1.0 + damping, block)
        factor, info = factorize(block.T, lower=0, overwrite_a=1, clean=0)
        if info == 0:
            return np.asarray(factor)
        damping *= 10.0
    raise LinAlgError("the Gram matrix of the free variables is not positive")


def _compute_damping(Q: Values) -> float:
    return float(np.sqrt(np.finfo(Q.dtype).eps))


def _shorten_to_first_bound(step: Values, low: Values, high: Values) -> Values:
    """Shorten the step of the variables that can move to where the first one meets its bound."""
    able = np.where(step > 0, high > 0, low < 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(step > 0, high / step, low / step)[able & (step != 0)]
    return np.asarray(np.where(able, min(1.0, float(room.min(initial=1.0))) * step, 0.0), step.dtype)


@dataclass
class BoundedNewton:
    """Newton steps within bounds, with a factor of Q over `base`, bordered by the variables `added` since."""

    base: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    added: Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def step(
        self, Q: Values, free: Numbers, gradient: Values, low: Values, high: Values
    ) -> tuple[Numbers, Values, Values]:
        """Return the variables that move, their step within bounds, and their step up to the first bound.

        `low` and `high` are the distances of all variables to their bounds.
        """
        gone = self._update_factor(Q, free)
        moved = np.concatenate((self.base, self.added))
        low, high = low[moved], high[moved]
        low[gone] = high[gone] = 0.0
        start = self._solve(gradient[moved][:, None])[:, 0]
        return moved, self._bound_step(start, low, high, gone), _shorten_to_first_bound(start, low, high)

    def _update_factor(self, Q: Values, free: Numbers) -> Numbers:
        """Border or replace the factor for these free variables; return the places in `base` that are not free."""
        gone = np.flatnonzero(~np.isin(self.base, free, assume_unique=True))
        self.added = np.setdiff1d(free, self.base, assume_unique=True)
        if not len(self.base) or len(gone) + len(self.added) > _MIN_CHANGES + _REUSE_SHARE * len(free):
            self._factor = _factorize_free_part(Q, free)
            self.base, self.added, gone = free, free[:0], gone[:0]
        if len(self.added):
            self._border = np.asfortranarray(Q[np.ix_(self.base, self.added)])
            self._bordered = self._solve_base(self._border)
            self._rest = Q[np.ix_(self.added, self.added)]
            self._rest[np.diag_indices(len(self.added))] *= 1.0 + _compute_damping(Q)
            self._rest -= self._border.T @ self._bordered
        return gone

    def _solve_base(self, right: Values) -> Values:
        resolve: Any = get_lapack_funcs("potrs", (self._factor,))
        return np.asarray(resolve(self._factor, right, lower=0)[0])

    def _solve(self, right: Values) -> Values:
        """Return the inverse over `base` and `added` times the columns of `right`."""
        size = len(self.base)
        first = self._solve_base(right[:size])
        if not len(self.added):
            return first
        second = np.linalg.solve(self._rest, right[size:] - self._border.T @ first)
        return np.concatenate((first - self._bordered @ second, second))

    def _bound_step(self, start: Values, low: Values, high: Values, gone: Numbers) -> Values:
        """Turn the step without bounds into one within them.

        Variables that leave their bounds are held there and those that pull inwards are released, until
        nothing changes.
        """
        step, held, side = start, gone, np.zeros(len(gone), start.dtype)
        columns, most = self._columns(gone), _MIN_CHANGES + _HELD_SHARE * len(start)
        for _ in range(_MAX_BOUND_CHANGES):
            released = 0
            if len(held):
                ends = np.where(side > 0, high[held], low[held])
                try:
                    forces = np.linalg.solve(columns[held], ends - start[held])
                except LinAlgError:
                    break
                step = start + columns @ forces
                step[held] = ends
                stay = forces * side <= 0
                released = len(held) - int(stay.sum())
                held, side, columns = held[stay], side[stay], columns[:, stay]
            leaving = (step < low) | (step > high)
            leaving[held] = False
            out = np.flatnonzero(leaving)
            if not len(out) + released or len(held) + len(out) > most:
                break
            held, side = np.concatenate((held, out)), np.concatenate((side, np.sign(step[out])))
            columns = np.hstack((columns, self._columns(out)))
        return np.clip(step, low, high)

    def _columns(self, places: Numbers) -> Values:
        """Return columns of the inverse."""
        size = len(self.base) + len(self.added)
        units = np.zeros((size, len(places)), self._factor.dtype, order="F")
        units[places, np.arange(len(places))] = 1.0
        return self._solve(units) if len(places) else units


# Sweeps between two computations of the gap, and the ratio of gaps above which sweeps are too slow.
_SWEEPS = 3
_SLOW_GAP_RATIO = 0.5
# The part of the target that skipped variables may hold.
_NEGLIGIBLE_SHARE = 0.1
# A round that raises the dual by less than this share of the gap is lost in rounding.
_MIN_GAIN = {np.float32: 1e-5, np.float64: 1e-12}
# A Newton step that gains less than this share of the gap is compared with the plain step.
_POOR_GAIN_SHARE = 0.1
_MAX_ROUNDS = 60


@dataclass
class DualChange:
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
        """The increase of the dual objective."""
        return 0.5 * float((self.change * (self.first + self.gradient)).sum(dtype=np.float64))

    @property
    def free(self) -> NDArray[np.int64]:
        """The variables strictly inside their bounds."""
        return np.flatnonzero((self.change > self.low) & (self.change < self.high))


@compile_kernel
def take_coordinate_steps(
    Q: Any, change: Any, gradient: Any, low: Any, high: Any, ridges: Any, sweeps: int, negligible: float
) -> None:
    """Take exact steps of one variable after the other; skip those whose part of the gap is negligible."""
    n = len(change)
    for _ in range(sweeps):
        for i in range(n):
            old = change[i]
            new = min(max(old + gradient[i] / max(Q[i, i], np.float32(1e-30)), low[i]), high[i])
            step = new - old
            rise = min(max(gradient[i] / max(ridges[i], np.float32(1e-30)), low[i] - old), high[i] - old)
            part = rise * (gradient[i] - np.float32(0.5) * ridges[i] * rise)
            if part > negligible or (step != 0.0 and (new == low[i] or new == high[i])):
                change[i] = new
                row = Q[i]
                for k in range(n):
                    gradient[k] -= step * row[k]


@compile_kernel
def _multiply_symmetric(Q: Any, rows: Any, vector: Any, out: Any) -> None:
    """Multiply Q, which is symmetric, by a vector that is zero outside `rows`."""
    out[:] = 0.0
    for k in range(len(rows)):
        row = Q[rows[k]]
        value = vector[k]
        if value != 0.0:
            for j in range(len(out)):
                out[j] += value * row[j]


def take_newton_step(part: DualChange, newton: BoundedNewton, gap: float) -> None:
    """Move the variables strictly inside their bounds by a Newton step within the bounds, if it gains anything.

    Where there are more documents than features such a step can be arbitrary. If it gains little, the plain
    step up to the first bound, which removes a variable each time, is tried too.
    """
    left = (part.low - part.change, part.high - part.change)
    moved, bounded, plain = newton.step(part.Q, part.free, part.gradient, *left)
    trial = _try_step(part, moved, bounded)
    if trial.gain < _POOR_GAIN_SHARE * gap:
        other = _try_step(part, moved, plain)
        trial = other if other.gain > trial.gain else trial
    if trial.gain > 0:
        there = part.change[moved] + trial.step
        part.change[moved] = np.clip(there, part.low[moved], part.high[moved])
        part.gradient -= trial.effect


@dataclass(frozen=True)
class _TrialStep:
    """A step of some variables, its effect on all gradients, and the increase of the dual."""

    step: Values
    effect: Values
    gain: float


def _try_step(part: DualChange, moved: NDArray[np.int64], step: Values) -> _TrialStep:
    """Return the step, shortened to where it gains most."""
    effect = np.empty_like(part.gradient)
    _multiply_symmetric(part.Q, moved, step, effect)
    slope, bend = float(part.gradient[moved] @ step), float(step @ effect[moved])
    if not slope > 0:
        return _TrialStep(step, effect, 0.0)
    length = part.Q.dtype.type(min(1.0, slope / bend) if bend > 0 else 1.0)
    return _TrialStep(length * step, length * effect, float(length * (slope - 0.5 * length * bend)))


def maximise_on_working_set(part: DualChange, newton: BoundedNewton, target: float) -> bool:
    """Take coordinate steps and, where these are slow, Newton steps until the gap is at most `target`.

    Return False if rounding makes the target unreachable.
    """
    negligible = _NEGLIGIBLE_SHARE * target / len(part.change)
    bounds = (part.low, part.high, part.ridges)
    gain, gap = -np.inf, np.inf
    for _ in range(_MAX_ROUNDS):
        take_coordinate_steps(part.Q, part.change, part.gradient, *bounds, _SWEEPS, negligible)
        before, gap = gap, part.gap
        if gap <= target:
            return True
        if gap > _SLOW_GAP_RATIO * before:
            last, gain = gain, part.gain
            if gain - last < _MIN_GAIN[part.Q.dtype.type] * gap or not len(part.free):
                return False
            try:
                take_newton_step(part, newton, gap)
            except LinAlgError:
                return False
            gap = np.inf
    return False
