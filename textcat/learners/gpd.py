"""Generalized probabilistic descent (GPD): linear splits that maximise a smooth figure of merit.

Problem:  minimise -F1 (or the balanced error) of each column's documents, smoothed by a sigmoid; not convex.
Inputs:   features, the positives and members of each column, the settings of the descent.
Outputs:  one linear split per column at each requested iteration, and the objective before each step.
Paper:    gao_2003 equations 4.3-4.10 and 5.3, starting point of section 5.3, constants of section 6.2.

The loss l is near 0 for a right decision and near 1 for a wrong one, so TP = sum over positives of 1 - l,
FN = sum over positives of l, FP = sum over negatives of l. (Equation 4.5 has 1 - l because there l is the loss
of a positive; with equation 4.8's measure for negatives the two agree.)

All columns descend together: an iteration is two products of the feature matrix with a thin matrix, whose columns
are lanes of vector registers between the products. A node of few documents descends alone in terms of their values
w.x - w0, which need only the products of its documents with each other: one kernel runs all its iterations.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.special

from textcat.errors import UsageError
from textcat.learners.binary_tree import FeatureMatrix, LinearNodes, find_distinct_columns
from textcat.learners.checks import Bools, require_positive
from textcat.learners.gpd_kernels import (
    PackedMatrix,
    can_multiply_packed,
    fill_losses,
    fill_measures,
    fill_merit_slopes,
    fill_slopes,
    run_alone,
)
from textcat.learners.perceptron_tree import PerceptronSettings, make_initial_nodes, run_batch_perceptron
from textcat.linear.simd import WIDTH
from textcat.matrices import check_matrix

Merit = Literal["f1", "mce"]
Offset = Literal["zero", "mean", "centred"]
Start = Literal["mean", "perceptron"]
Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

MEAN_FACTORS: dict[Offset, int] = {"zero": 0, "mean": 1, "centred": -1}
"""Beta of equation 4.7 in mean measures: section 6.2 sets it to the mean; less the mean puts the window around it."""

FEW_DOCUMENTS = 1024
"""Below this number the products of documents with each other fit in the processor's cache."""


@dataclass(frozen=True)
class GpdSettings:
    """Objective, number of iterations, sigmoid and step size of the descent (section 6.2 of the paper).

    The step size falls linearly from `kappa` to 0 at iteration `horizon`, by default the last. The descent
    starts from the means of section 5.3, or from a batch perceptron that starts from them.
    """

    merit: Merit = "f1"
    iterations: int = 2000
    alpha: float = 20.0
    offset: Offset = "zero"
    kappa: float = 0.05
    horizon: int | None = None
    start: Start = "mean"
    perceptron: PerceptronSettings = field(default_factory=lambda: PerceptronSettings(iterations=100))

    def __post_init__(self) -> None:
        require_positive(iterations=self.iterations, alpha=self.alpha, kappa=self.kappa)
        if self.horizon is not None and self.horizon < self.iterations:
            raise UsageError(
                f"horizon {self.horizon} is below iterations {self.iterations}",
                where="mfom",
                hint="Give a horizon of at least as many iterations.",
            )

    def step(self, iteration: int) -> float:
        """Return the step size of an iteration, counted from 0."""
        return self.kappa * (1 - iteration / (self.horizon or self.iterations))


class MeritSlopes(NamedTuple):
    """The objective of each column and its slope in the loss of any positive and of any negative."""

    objective: Array
    positive: Array
    negative: Array


class ColumnSides(NamedTuple):
    """The side of each document in each column, with columns of zeros up to a multiple of sixteen.

    `signs` is 1 for a negative, -1 for a positive and 0 outside the node; `positives` and `negatives` are counts.
    """

    signs: Array
    positives: Array
    negatives: Array

    @classmethod
    def from_masks(cls, positive: Bools, member: Bools, kind: npt.DTypeLike = np.float32) -> ColumnSides:
        """Convert bool arrays, documents x columns; positives are members."""
        documents, columns = positive.shape
        signs = np.zeros((documents, -(-columns // WIDTH) * WIDTH), kind)
        signs[:, :columns] = member
        signs[:, :columns] -= 2 * positive.astype(kind)
        return cls(signs, (signs < 0).sum(axis=0).astype(kind), (signs > 0).sum(axis=0).astype(kind))

    def keep_columns(self, columns: int) -> ColumnSides:
        """Return the leading columns."""
        return ColumnSides(*(np.ascontiguousarray(part[..., :columns]) for part in self))


@dataclass(frozen=True)
class GpdDescent:
    """Splits at each requested iteration (0 is the start), and objective and F1 with a row per step.

    `objective` is the smoothed figure of merit, `f1` the true F1 of the training documents (figure 3).
    """

    nodes: dict[int, LinearNodes]
    objective: npt.NDArray[np.float64]
    f1: npt.NDArray[np.float64]


def compute_sigmoid_loss(measure: Array, alpha: float, beta: Array | float) -> Array:
    """Return equation 4.7: 1 / (1 + exp(-alpha (d + beta)))."""
    return np.asarray(scipy.special.expit(alpha * (measure + beta)))


def compute_window_offset(sums: Array, members: Array | int, offset: Offset) -> Array:
    """Return beta of equation 4.7 for each column, from the sums of the measures of its documents."""
    return np.asarray(sums / members * MEAN_FACTORS[offset])


def compute_merit_slopes(
    merit: Merit, lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """Return the objective of each column from summed losses and numbers of positives and negatives."""
    slopes = np.empty((3, lost_positives.size), lost_positives.dtype)
    fill_merit_slopes(merit == "f1", lost_positives, lost_negatives, positives, negatives, slopes)
    return MeritSlopes(*slopes)


def descend(
    X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings, *, keep: Iterable[int] = ()
) -> GpdDescent:
    """Run equation 5.3 for all columns at once; `keep` lists iterations to return besides the last."""
    check_matrix(X)
    columns, wanted = positive.shape[1], {*keep, settings.iterations}
    moving = _MovingNodes(X, positive, member, settings)
    objective, f1 = np.empty((2, settings.iterations, columns))
    nodes = {0: moving.copy_nodes(columns)} if 0 in wanted else {}
    for iteration in range(settings.iterations):
        f1[iteration] = _compute_true_f1(moving.copy_nodes(columns).values(X), positive, member)
        objective[iteration] = moving.step(iteration)[:columns]
        if iteration + 1 in wanted:
            nodes[iteration + 1] = moving.copy_nodes(columns)
    return GpdDescent(nodes, objective, f1)


def descend_to(
    X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings, ends: Integers, jobs: int = 1
) -> LinearNodes:
    """Run equation 5.3 to each column's own last iteration; equal columns are one descent.

    With more than one job, two threads share each product of a packed matrix.
    """
    firsts, problem = find_distinct_columns(positive, member)
    columns = (positive[:, firsts], member[:, firsts])
    if X.shape[0] < FEW_DOCUMENTS:
        return _descend_alone(X, *columns, settings, problem, ends)
    with ThreadPoolExecutor(1) if jobs > 1 else nullcontext() as team:
        return _descend_together(X, *columns, settings, problem, ends, team)


def _descend_together(
    X: FeatureMatrix,
    positive: Bools,
    member: Bools,
    settings: GpdSettings,
    problem: Integers,
    ends: Integers,
    team: ThreadPoolExecutor | None,
) -> LinearNodes:
    """Run all problems at once; those that have reached their last end leave."""
    last = np.zeros(positive.shape[1], dtype=np.int64)
    np.maximum.at(last, problem, ends)
    order = np.argsort(-last, kind="stable")
    place, last = np.argsort(order)[problem], last[order]
    moving = _MovingNodes(X, positive[:, order], member[:, order], settings, team)
    weights, offsets = np.empty((X.shape[1], ends.size), np.float32), np.empty(ends.size, np.float32)
    done = 0
    for end in np.unique(ends):
        moving.keep_columns(int((last >= end).sum()))
        for iteration in range(done, end):
            moving.step(iteration)
        reached = np.flatnonzero(ends == end)
        weights[:, reached], offsets[reached] = (
            moving.weights[:, place[reached]],
            moving.offsets[place[reached]],
        )
        done = end
    return LinearNodes(weights, offsets)


class _MovingNodes:
    """Splits in the course of a descent; a step changes them in place."""

    def __init__(
        self,
        X: FeatureMatrix,
        positive: Bools,
        member: Bools,
        settings: GpdSettings,
        team: ThreadPoolExecutor | None = None,
    ) -> None:
        start = _make_start(X, positive, member, settings)
        self.settings, self.team = settings, team
        self.documents, self.features = _prepare_products(X)
        self.sides = ColumnSides.from_masks(positive, member, np.result_type(X.dtype, np.float32))
        lanes, columns = self.sides.signs.shape[1], positive.shape[1]
        self.weights = np.zeros((X.shape[1], lanes), np.float32)
        self.offsets = np.zeros(lanes, np.float32)
        self.weights[:, :columns], self.offsets[:columns] = start.weights, start.offsets
        self._make_buffers()

    def _make_buffers(self) -> None:
        self.values = np.empty_like(self.sides.signs)
        self.gradient = np.empty(self.weights.shape, self.values.dtype)

    def keep_columns(self, columns: int) -> None:
        """Drop the columns after the leading ones, in sixteens."""
        lanes = -(-columns // WIDTH) * WIDTH
        if lanes < self.offsets.size:
            self.weights, self.offsets = self.weights[:, :lanes].copy(), self.offsets[:lanes].copy()
            self.sides = self.sides.keep_columns(lanes)
            self._make_buffers()

    def copy_nodes(self, columns: int) -> LinearNodes:
        """Return the leading columns."""
        return LinearNodes(self.weights[:, :columns].copy(), self.offsets[:columns].copy())

    def step(self, iteration: int) -> Array:
        """Move every split and return the objective of each column before the step."""
        _multiply(self.documents, self.weights, self.values, self.team)
        objective, sums = replace_values_by_slopes(self.values, self.offsets, self.sides, self.settings)
        _multiply(self.features, self.values, self.gradient, self.team)
        step = np.float32(self.settings.step(iteration))
        self.gradient *= step
        self.weights -= self.gradient
        self.offsets += step * sums
        return objective


def packs_products(X: FeatureMatrix) -> TypeGuard[npt.NDArray[np.float32]]:
    """Return whether products of this matrix are those of packed matrices, which threads can share."""
    return isinstance(X, np.ndarray) and X.dtype == np.float32 and can_multiply_packed()


def _prepare_products(X: FeatureMatrix) -> tuple[Any, Any]:
    """Return X and its transpose in the form in which they are multiplied."""
    if packs_products(X):
        return PackedMatrix(X), PackedMatrix(X.T)
    return X, X.T if isinstance(X, np.ndarray) else X.T.tocsr()


def _multiply(matrix: Any, thin: Array, out: Array, team: ThreadPoolExecutor | None) -> None:
    if isinstance(matrix, PackedMatrix):
        matrix.multiply(thin, out, team)
    elif isinstance(matrix, np.ndarray):
        np.matmul(matrix, thin, out=out)
    else:
        out[...] = matrix @ thin


def _make_start(X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings) -> LinearNodes:
    if settings.start == "mean":
        return make_initial_nodes(X, positive, member)
    return run_batch_perceptron(X, positive, member, settings.perceptron)


def _compute_true_f1(values: npt.NDArray[Any], positive: Bools, member: Bools) -> npt.NDArray[np.float64]:
    """Return equation 4.3 from counts; 1 where there are no positives and none was accepted."""
    accepted = (values > 0) & member
    found, whole = (accepted & positive).sum(axis=0), accepted.sum(axis=0) + positive.sum(axis=0)
    return np.where(whole > 0, 2 * found / np.maximum(whole, 1), 1.0)


def replace_values_by_slopes(
    values: Array, offsets: Array, sides: ColumnSides, settings: GpdSettings
) -> tuple[Array, Array]:
    """Replace each w.x by the slope of its column's objective in it; return the objectives and the sums of slopes.

    The slope is that for fixed beta, as printed. The measure d of equation 4.8 is -(w.x - w0) for a positive and
    w.x - w0 for a negative.
    """
    kind, lanes = values.dtype.type, values.shape[1]
    rows, signs = values.reshape(-1, WIDTH), sides.signs.reshape(-1, WIDTH)
    sums, lost = np.empty(lanes, kind), np.empty((2, lanes), kind)
    fill_measures(rows, signs, _as_lanes(offsets.astype(kind, copy=False)), _as_lanes(sums))
    beta = compute_window_offset(sums, np.maximum(sides.positives + sides.negatives, 1), settings.offset)
    fill_losses(rows, signs, kind(settings.alpha), _as_lanes(beta), _as_lanes(lost[0]), _as_lanes(lost[1]))
    merit = compute_merit_slopes(settings.merit, lost[0], lost[1], sides.positives, sides.negatives)
    fill_slopes(
        rows,
        signs,
        kind(settings.alpha),
        _as_lanes(merit.positive),
        _as_lanes(merit.negative),
        _as_lanes(sums),
    )
    return merit.objective, sums


def _as_lanes(numbers: Array) -> Array:
    return numbers.reshape(-1, WIDTH)


def _descend_alone(
    X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings, problem: Integers, ends: Integers
) -> LinearNodes:
    """Run one problem after the other by the values of its documents; weights are the start less X' x the moves."""
    start, documents = _make_start(X, positive, member, settings), X.shape[0]
    padded = -(-documents // WIDTH) * WIDTH
    gram, rows = np.zeros((padded, padded), np.float32), np.zeros((3, padded), np.float32)
    products = X @ X.T
    gram[:documents, :documents] = products if isinstance(products, np.ndarray) else products.toarray()
    first, alpha = start.values(X), np.float32(settings.alpha)
    steps = np.array([settings.step(iteration) for iteration in range(ends.max())], np.float32)
    weights, offsets = start.weights[:, problem], start.offsets[problem]
    for number in range(positive.shape[1]):
        values, signs, moves = rows
        values[:documents], moves[:] = first[:, number], 0
        signs[:documents] = member[:, number] * np.where(positive[:, number], -1, 1)
        done = 0
        for end in np.unique(ends[problem == number]):
            run_alone(
                _as_lanes(gram), _as_lanes(values), _as_lanes(signs), _as_lanes(moves), steps[done:end], alpha,
                MEAN_FACTORS[settings.offset], settings.merit == "f1",
            )  # fmt: skip
            reached, done = np.flatnonzero((problem == number) & (ends == end)), end
            weights[:, reached] -= (X.T @ moves[:documents])[:, None]
            offsets[reached] += moves.sum()
    return LinearNodes(weights, offsets)
