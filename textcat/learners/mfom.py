"""MFoM: linear splits that maximise a smooth figure of merit by generalized probabilistic descent (GPD).

Problem:  minimise -F1 (or the balanced error) of each column's documents, smoothed by a sigmoid; not convex.
Inputs:   features, the positives and members of each column, the settings of the descent.
Outputs:  one linear split per column at each requested iteration, and the objective before each step.
Paper:    gao_2003 equations 4.1-4.10 and 5.3, starting point of section 5.3, constants of section 6.2.

The loss l is near 0 for a right decision and near 1 for a wrong one, so TP = sum over positives of 1 - l,
FN = sum over positives of l, FP = sum over negatives of l. (Equation 4.5 has 1 - l because there l is the loss
of a positive; with equation 4.8's measure for negatives the two agree.) All columns descend together: an
iteration is two products of the feature matrix with a thin float32 matrix.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

from textcat.compile import compile_kernel
from textcat.errors import UsageError
from textcat.learners.binary_tree import BinaryTrees, FeatureMatrix, LinearNodes, grow_trees
from textcat.learners.checks import Bools, require_positive
from textcat.learners.perceptron_tree import PerceptronSettings, make_initial_nodes, run_batch_perceptron

Merit = Literal["f1", "mce"]
Offset = Literal["zero", "mean"]
Start = Literal["mean", "perceptron"]
Array = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class MeritSlopes(NamedTuple):
    """The objective of each column and its slope in the loss of any positive and of any negative."""

    objective: Array
    positive: Array
    negative: Array


def compute_sigmoid_loss(measure: Array, alpha: float, beta: Array | float) -> Array:
    """Return equation 4.7: 1 / (1 + exp(-alpha (d + beta)))."""
    return np.asarray(scipy.special.expit(alpha * (measure + beta)))


def compute_window_offset(measure: Array, members: Array | int, offset: Offset) -> Array | float:
    """Return beta of equation 4.7: 0, or the mean measure of the documents."""
    if offset == "zero":
        return 0.0
    return np.asarray(measure.sum(axis=0) / members)


def compute_merit_slopes(
    merit: Merit, lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """Return the objective of each column from summed losses and numbers of positives and negatives."""
    if merit == "f1":
        return _compute_negative_f1(lost_positives, lost_negatives, positives)
    return _compute_balanced_error(lost_positives, lost_negatives, positives, negatives)


def _compute_negative_f1(lost_positives: Array, lost_negatives: Array, positives: Array) -> MeritSlopes:
    """Return -F1 by equation 4.3; its denominator FP + FN + 2 TP is FP + TP + the number of positives."""
    true_positives = positives - lost_positives
    denominator = np.where(positives > 0, positives + true_positives + lost_negatives, 1)
    return MeritSlopes(
        objective=-2 * true_positives / denominator,
        positive=2 * (denominator - true_positives) / denominator**2,
        negative=2 * true_positives / denominator**2,
    )


def _compute_balanced_error(
    lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """Return equation 4.10 with equal weights of the positive and the negative class (section 6.2.1)."""
    positive = 0.5 / np.maximum(positives, 1)
    negative = 0.5 / np.maximum(negatives, 1)
    return MeritSlopes(
        objective=positive * lost_positives + negative * lost_negatives, positive=positive, negative=negative
    )


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


@dataclass(frozen=True)
class GpdDescent:
    """Splits at each requested iteration (0 is the start), and objective and F1 with a row per step.

    `objective` is the smoothed figure of merit, `f1` the true F1 of the training documents (figure 3); `f1` has no
    rows if it was not asked for.
    """

    nodes: dict[int, LinearNodes]
    objective: npt.NDArray[np.float64]
    f1: npt.NDArray[np.float64]


def fit_mfom(
    X: FeatureMatrix, Y: Bools, settings: GpdSettings | None = None, *, max_depth: int = 1
) -> BinaryTrees:
    """Train a tree per category; each split maximises the figure of merit of the documents that reach it."""
    chosen = settings or GpdSettings()

    def learn_split(X: FeatureMatrix, positive: Bools, member: Bools, tree: Integers) -> LinearNodes:
        return descend(X, positive, member, chosen, with_f1=False).nodes[chosen.iterations]

    return grow_trees(X, Y, learn_split, max_depth=max_depth, settings=_describe_settings(chosen))


def fit_mfom_at(
    X: FeatureMatrix, Y: Bools, settings: GpdSettings, iterations: Iterable[int], *, max_depth: int = 1
) -> dict[int, BinaryTrees]:
    """Train trees for several numbers of iterations; one product of a descent's step serves all trees.

    The first splits of all are one descent. `settings.horizon` is by default the largest number.
    """
    wanted = sorted(set(iterations), reverse=True)
    longest = replace(settings, iterations=wanted[0], horizon=settings.horizon or wanted[0])
    categories = Y.shape[1]
    ends = np.repeat(wanted, categories)
    calls = itertools.count()

    def learn_split(X: FeatureMatrix, positive: Bools, member: Bools, tree: Integers) -> LinearNodes:
        if next(calls) > 0:
            return descend_to(X, positive, member, longest, ends[tree])
        first = tree < categories
        course = descend(X, positive[:, first], member[:, first], longest, keep=wanted, with_f1=False)
        return LinearNodes.join([course.nodes[number] for number in wanted])

    forest = grow_trees(X, np.tile(Y, len(wanted)), learn_split, max_depth=max_depth)
    return {
        number: replace(
            forest.select_trees(np.arange(at * categories, (at + 1) * categories)),
            settings={"max_depth": max_depth, **_describe_settings(longest), "iterations": number},
        )
        for at, number in enumerate(wanted)
    }


def _describe_settings(settings: GpdSettings) -> dict[str, Any]:
    described = asdict(settings)
    described["horizon"] = settings.horizon or settings.iterations
    if settings.start == "mean":
        del described["perceptron"]
    return {"learner": "mfom", **described}


def descend(
    X: FeatureMatrix,
    positive: Bools,
    member: Bools,
    settings: GpdSettings,
    *,
    keep: Iterable[int] = (),
    with_f1: bool = True,
) -> GpdDescent:
    """Run equation 5.3 for all columns at once; `keep` lists iterations to return besides the last."""
    wanted = {*keep, settings.iterations}
    moving = _MovingNodes.of(X, positive, member, settings)
    objective = np.empty((settings.iterations, positive.shape[1]))
    f1 = np.empty((settings.iterations if with_f1 else 0, positive.shape[1]))
    nodes = {0: moving.nodes.copy()} if 0 in wanted else {}
    for iteration in range(settings.iterations):
        if with_f1:
            f1[iteration] = _compute_true_f1(moving.nodes.values(X), positive, member)
        objective[iteration] = moving.step(iteration)
        if iteration + 1 in wanted:
            nodes[iteration + 1] = moving.nodes.copy()
    return GpdDescent(nodes, objective, f1)


def descend_to(
    X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings, ends: Integers
) -> LinearNodes:
    """Run equation 5.3 to each column's own last iteration; a product serves all columns that still move."""
    moving = _MovingNodes.of(X, positive, member, settings)
    final = moving.nodes.copy()
    columns, first = np.arange(ends.size), 0
    for end in np.unique(ends):
        for iteration in range(first, end):
            moving.step(iteration)
        final.weights[:, columns], final.offsets[columns] = moving.nodes.weights, moving.nodes.offsets
        later = np.flatnonzero(ends[columns] > end)
        columns, first, moving = columns[later], end, moving.select_columns(later)
    return final


@dataclass(frozen=True)
class _MovingNodes:
    """Splits in the course of a descent; a step changes them in place."""

    X: FeatureMatrix
    across: Any
    nodes: LinearNodes
    sides: ColumnSides
    settings: GpdSettings

    @classmethod
    def of(cls, X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings) -> _MovingNodes:
        across = X.T if isinstance(X, np.ndarray) else X.T.tocsr()
        start = _make_start(X, positive, member, settings)
        return cls(X, across, start.copy(), ColumnSides.of(positive, member), settings)

    def step(self, iteration: int) -> Array:
        """Move every split and return the objective of each column before the step."""
        nodes = self.nodes
        objective, slope = compute_objective_and_slope(nodes.values(self.X), self.sides, self.settings)
        step = np.float32(self.settings.step(iteration))
        nodes.weights[...] -= step * np.asarray(self.across @ slope)
        nodes.offsets[...] += step * slope.sum(axis=0)
        return objective

    def select_columns(self, chosen: Integers) -> _MovingNodes:
        """Return some of the columns."""
        return replace(self, nodes=self.nodes.select_columns(chosen), sides=self.sides.select_columns(chosen))


def _compute_true_f1(values: npt.NDArray[Any], positive: Bools, member: Bools) -> npt.NDArray[np.float64]:
    """Return equation 4.3 from counts; 1 where there are no positives and none was accepted."""
    accepted = (values > 0) & member
    found, whole = (accepted & positive).sum(axis=0), accepted.sum(axis=0) + positive.sum(axis=0)
    return np.where(whole > 0, 2 * found / np.maximum(whole, 1), 1.0)


def _make_start(X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings) -> LinearNodes:
    if settings.start == "mean":
        return make_initial_nodes(X, positive, member)
    return run_batch_perceptron(X, positive, member, settings.perceptron)


class ColumnSides(NamedTuple):
    """Positives and negatives of each column as 0 and 1; documents outside the node are 0 in both.

    `signs` is 1 for a negative and -1 for a positive, `positives` and `negatives` are their numbers.
    """

    positive: npt.NDArray[Any]
    negative: npt.NDArray[Any]
    signs: npt.NDArray[Any]
    positives: npt.NDArray[Any]
    negatives: npt.NDArray[Any]

    @classmethod
    def of(cls, positive: Bools, member: Bools, kind: npt.DTypeLike = np.float32) -> ColumnSides:
        """Convert bool arrays, documents x columns."""
        inside, outside = positive.astype(kind), (member & ~positive).astype(kind)
        return cls(inside, outside, outside - inside, inside.sum(axis=0), outside.sum(axis=0))

    def select_columns(self, chosen: Integers) -> ColumnSides:
        """Return some of the columns."""
        return ColumnSides(*(np.ascontiguousarray(part[..., chosen]) for part in self))


def compute_objective_and_slope(
    values: npt.NDArray[Any], sides: ColumnSides, settings: GpdSettings
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the objective of each column and its slope in each value w.x - w0 (for fixed beta, as printed).

    The measure of equation 4.8 is -value for a positive and +value for a negative.
    """
    measure = np.empty(values.shape, np.result_type(values, sides.signs))
    kind = measure.dtype.type
    fill_measures(values, sides.signs, measure)
    beta = compute_window_offset(measure, np.maximum(sides.positives + sides.negatives, 1), settings.offset)
    loss, lost_positives, lost_negatives = compute_losses(measure, sides, settings.alpha, beta)
    slopes = compute_merit_slopes(
        settings.merit, lost_positives, lost_negatives, sides.positives, sides.negatives
    )
    pull, push = np.asarray(slopes.positive, loss.dtype), np.asarray(slopes.negative, loss.dtype)
    fill_value_slopes(loss, sides.signs, pull, push, kind(settings.alpha), kind(1), kind(0), measure)
    return np.asarray(slopes.objective), measure


def compute_losses(
    measure: npt.NDArray[Any], sides: ColumnSides, alpha: float, beta: Array | float
) -> tuple[npt.NDArray[Any], Array, Array]:
    """Return equation 4.7 of each measure, and its sums over the positives and the negatives of each column."""
    columns = measure.shape[1]
    if measure.dtype != np.float32:
        loss = compute_sigmoid_loss(measure, alpha, beta)
        sums = (np.einsum("ij,ij->j", loss, side) for side in (sides.positive, sides.negative))
        return loss, *sums
    loss, lost = np.empty_like(measure), np.zeros((2, columns), dtype=np.float32)
    offsets, bits = np.full(columns, beta, dtype=np.float32), np.empty(columns, dtype=np.int32)
    fill_losses(measure, sides.signs, np.float32(alpha), offsets, bits, bits.view(np.float32), loss, lost)
    return loss, lost[0], lost[1]


# 2^x is a power of two times a polynomial in the rest of x, which is at most 1/2: C1 to C6 are ln(2)^k / k!.
LOG2_E, LARGEST = np.float32(1.4426950408889634), np.float32(126)
ZERO, HALF, ONE, EXPONENT_OF_ONE, EXPONENT_STEP = (np.float32(x) for x in (0, 0.5, 1, 127, 2**23))
C1, C2, C3, C4, C5, C6 = (
    np.float32(x)
    for x in (0.6931471805599453, 0.2402265069591007, 0.0555041086648216, 0.009618129107628477,
              0.0013333558146428443, 0.00015403530393381608)
)  # fmt: skip


@compile_kernel
def fill_losses(
    measure: Any, signs: Any, alpha: Any, beta: Any, bits: Any, powers: Any, loss: Any, lost: Any
) -> None:
    """Compute equation 4.7 in float32, eight or sixteen columns at once; `powers` is `bits` read as float32."""
    for i in range(measure.shape[0]):
        for k in range(measure.shape[1]):
            exponent = min(max(-alpha * (measure[i, k] + beta[k]) * LOG2_E, -LARGEST), LARGEST)
            whole = np.floor(exponent + HALF)
            x = exponent - whole
            bits[k] = np.int32((whole + EXPONENT_OF_ONE) * EXPONENT_STEP)
            loss[i, k] = ONE + x * (C1 + x * (C2 + x * (C3 + x * (C4 + x * (C5 + x * C6)))))
        for k in range(measure.shape[1]):
            value = ONE / (ONE + loss[i, k] * powers[k])
            loss[i, k] = value
            lost[0, k] += value if signs[i, k] < ZERO else ZERO
            lost[1, k] += value if signs[i, k] > ZERO else ZERO


@compile_kernel
def fill_measures(values: Any, signs: Any, out: Any) -> None:
    """Compute the measure of equation 4.8 of each document and column."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = signs[i, k] * values[i, k]


@compile_kernel
def fill_value_slopes(
    loss: Any, signs: Any, positive: Any, negative: Any, alpha: Any, one: Any, zero: Any, out: Any
) -> None:
    """Compute the slope in each value: the sigmoid's alpha l (1 - l) times the slope of the merit in the loss."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            weight = negative[k] if signs[i, k] > zero else zero - positive[k]
            weight = weight if signs[i, k] != zero else zero
            out[i, k] = alpha * loss[i, k] * (one - loss[i, k]) * weight
