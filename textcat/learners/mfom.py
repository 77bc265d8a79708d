"""MFoM: linear splits that maximise a smooth figure of merit by generalized probabilistic descent (GPD).

Paper: gao_2003 equations 4.1-4.10. The loss l lies near 0 for a right decision and near 1 for a wrong one,
so TP = sum over positives of 1 - l, FN = sum over positives of l, FP = sum over negatives of l. (Equation 4.5
has 1 - l as there l is the loss of a positive; with equation 4.8's measure for negatives the two are one.)

Problem:  minimise -F1 (or the balanced error) of each column's documents, smoothed by a sigmoid; not convex.
Inputs:   features, the positives and members of each column, the settings of the descent.
Outputs:  one linear split a column at each iteration asked for, and the course of the objective.
Paper:    gao_2003 equations 4.1-4.10 and 5.3, starting point of section 5.3, constants of section 6.2.
All columns descend together: an iteration is two products of the feature matrix with a thin float32 matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

from textcat.errors import UsageError
from textcat.learners.binary_tree import BinaryTrees, Bools, FeatureMatrix, LinearNodes, grow_trees
from textcat.learners.perceptron_tree import PerceptronSettings, make_initial_nodes, run_batch_perceptron

Merit = Literal["f1", "mce"]
Offset = Literal["zero", "mean"]
Array = npt.NDArray[np.float32] | npt.NDArray[np.float64]


class MeritSlopes(NamedTuple):
    """An objective to minimise, a column, and its slope in the loss of any positive and of any negative."""

    objective: Array
    positive: Array
    negative: Array


def sigmoid_loss(measure: Array, alpha: float, beta: Array | float) -> Array:
    """Equation 4.7: 1 / (1 + exp(-alpha (d + beta)))."""
    return np.asarray(scipy.special.expit(alpha * (measure + beta)))


def compute_window_offset(measure: Array, members: Array | int, offset: Offset) -> Array | float:
    """beta of equation 4.7: 0, or the mean measure of the documents at hand, a constant at each iteration."""
    if offset == "zero":
        return 0.0
    return np.asarray(measure.sum(axis=0) / members)


def compute_merit_slopes(
    merit: Merit, lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """The objective from the summed losses and the numbers of positives and negatives, a column each."""
    if merit == "f1":
        return _minus_f1(lost_positives, lost_negatives, positives)
    return _balanced_error(lost_positives, lost_negatives, positives, negatives)


def _minus_f1(lost_positives: Array, lost_negatives: Array, positives: Array) -> MeritSlopes:
    """-F1 by equation 4.3, whose denominator FP + FN + 2 TP is FP + TP + the number of positives."""
    true_positives = positives - lost_positives
    denominator = np.where(positives > 0, positives + true_positives + lost_negatives, 1)
    return MeritSlopes(
        objective=-2 * true_positives / denominator,
        positive=2 * (denominator - true_positives) / denominator**2,
        negative=2 * true_positives / denominator**2,
    )


def _balanced_error(
    lost_positives: Array, lost_negatives: Array, positives: Array, negatives: Array
) -> MeritSlopes:
    """Equation 4.10 with equal weight for the positive and the negative class (section 6.2.1)."""
    positive = 0.5 / np.maximum(positives, 1)
    negative = 0.5 / np.maximum(negatives, 1)
    return MeritSlopes(
        objective=positive * lost_positives + negative * lost_negatives, positive=positive, negative=negative
    )


Start = Literal["mean", "perceptron"]


@dataclass(frozen=True)
class GpdSettings:
    """The descent: objective, number of iterations, sigmoid and step size (section 6.2 of the paper).

    The step falls linearly from `kappa` to 0 at the iteration `horizon`, by default the last one. The descent
    starts from the means of section 5.3, or from a batch perceptron that did.
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
        if self.iterations < 1 or (self.horizon is not None and self.horizon < self.iterations):
            raise UsageError(
                f"{self.iterations} iterations with a horizon of {self.horizon}",
                where="mfom.iterations",
                hint="Give at least one iteration, and a horizon not before the last of them.",
            )
        if self.alpha <= 0 or self.kappa <= 0:
            raise UsageError(
                f"alpha {self.alpha}, kappa {self.kappa}", where="mfom", hint="Give both above 0."
            )

    def step(self, iteration: int) -> float:
        """kappa at an iteration counted from 0."""
        return self.kappa * (1 - iteration / (self.horizon or self.iterations))


@dataclass(frozen=True)
class GpdDescent:
    """What GPD leaves: the splits at each iteration asked for (0 is the start), and its course, a row a step.

    `objective` is the smooth figure, `f1` the true F1 of the training documents (figure 3 of the paper).
    """

    nodes: dict[int, LinearNodes]
    objective: npt.NDArray[np.float64]
    f1: npt.NDArray[np.float64]


def fit_mfom(
    X: FeatureMatrix, Y: Bools, settings: GpdSettings | None = None, *, max_depth: int = 1
) -> BinaryTrees:
    """A tree a category whose splits maximise the figure of merit of the documents that reach them."""
    chosen = settings or GpdSettings()

    def learn_split(X: FeatureMatrix, positive: Bools, member: Bools) -> LinearNodes:
        return descend(X, positive, member, chosen).nodes[chosen.iterations]

    return grow_trees(X, Y, learn_split, max_depth=max_depth, settings=_describe_settings(chosen))


def fit_mfom_at(
    X: FeatureMatrix, Y: Bools, settings: GpdSettings, iterations: Iterable[int]
) -> dict[int, BinaryTrees]:
    """Single-split models at several numbers of iterations, all taken from one run of the descent."""
    wanted = sorted(set(iterations))
    longest = replace(settings, iterations=max(wanted))
    models = {}
    runs: dict[int, LinearNodes] = {}

    def learn_split(X: FeatureMatrix, positive: Bools, member: Bools) -> LinearNodes:
        runs.update(descend(X, positive, member, longest, keep=wanted).nodes)
        return runs[longest.iterations]

    last = grow_trees(X, Y, learn_split)
    for number in wanted:
        splits = runs[number] if runs else last.splits
        described = {"max_depth": 1, **_describe_settings(longest), "iterations": number}
        models[number] = replace(last, splits=splits, settings=described)
    return models


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
    initial: LinearNodes | None = None,
    keep: Iterable[int] = (),
) -> GpdDescent:
    """Equation 5.3 for all columns at once; `keep` lists iterations wanted beside the last."""
    wanted = {*keep, settings.iterations}
    start = initial or _make_start(X, positive, member, settings)
    weights, offsets = start.weights.copy(), start.offsets.copy()
    sides = ColumnSides.of(positive, member)
    across = X.T if isinstance(X, np.ndarray) else X.T.tocsr()
    course = np.empty((settings.iterations, positive.shape[1]))
    course_f1 = np.empty_like(course)
    nodes = {0: start} if 0 in wanted else {}
    for iteration in range(settings.iterations):
        values = LinearNodes(weights, offsets).values(X)
        course_f1[iteration] = _compute_true_f1(values, positive, member)
        course[iteration], slope = compute_objective_and_slope(values, sides, settings)
        step = np.float32(settings.step(iteration))
        weights -= step * np.asarray(across @ slope)
        offsets += step * slope.sum(axis=0)
        if iteration + 1 in wanted:
            nodes[iteration + 1] = LinearNodes(weights.copy(), offsets.copy())
    return GpdDescent(nodes, course, course_f1)


def _compute_true_f1(values: npt.NDArray[Any], positive: Bools, member: Bools) -> npt.NDArray[np.float64]:
    """Equation 4.3 counted, not smoothed; 1 where there is nothing to find and nothing was found."""
    accepted = (values > 0) & member
    found, whole = (accepted & positive).sum(axis=0), accepted.sum(axis=0) + positive.sum(axis=0)
    return np.where(whole > 0, 2 * found / np.maximum(whole, 1), 1.0)


def _make_start(X: FeatureMatrix, positive: Bools, member: Bools, settings: GpdSettings) -> LinearNodes:
    if settings.start == "mean":
        return make_initial_nodes(X, positive, member)
    return run_batch_perceptron(X, positive, member, settings.perceptron)


class ColumnSides(NamedTuple):
    """The positives and negatives of each column, as numbers: documents of no side are 0 in both."""

    positive: npt.NDArray[Any]
    negative: npt.NDArray[Any]

    @classmethod
    def of(cls, positive: Bools, member: Bools, kind: npt.DTypeLike = np.float32) -> ColumnSides:
        """From bool arrays, documents x columns."""
        return cls(positive.astype(kind), (member & ~positive).astype(kind))


def compute_objective_and_slope(
    values: npt.NDArray[Any], sides: ColumnSides, settings: GpdSettings
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The objective of each column and its slope in each value w.x - w0 (beta held fixed, as in the paper).

    The measure of equation 4.8 is -value for a positive and +value for a negative.
    """
    positive, negative = sides
    positives, negatives = positive.sum(axis=0), negative.sum(axis=0)
    measure = (negative - positive) * values
    beta = compute_window_offset(measure, np.maximum(positives + negatives, 1), settings.offset)
    loss = sigmoid_loss(measure, settings.alpha, beta)
    slopes = compute_merit_slopes(
        settings.merit,
        np.einsum("ij,ij->j", loss, positive),
        np.einsum("ij,ij->j", loss, negative),
        positives,
        negatives,
    )
    weight = negative * slopes.negative - positive * slopes.positive
    return np.asarray(slopes.objective), settings.alpha * loss * (1 - loss) * weight
