"""Online training in blocks of categories: the compiled passes of the Perceptron and Winnow families.

Each category keeps exponents s = sum_i a_i y_i x_i, where a_i sums the updates caused by document i. The
weights are a function of the exponents, feature by feature. In the additive family (prior 0) they are s
itself. In the balanced multiplicative family (prior mu > 0) they are mu exp(s) - mu exp(-s), the difference of
the two halves of the embedding [x, -x] (zhang_2000, section 2), so the embedding is never built.

Categories are trained in blocks of lanes, one lane per category. A block is wide enough that one read of a
document serves many categories by vector instructions, and narrow enough that its weights stay in the
processor's cache. Lanes are independent, so neither the blocks nor the number of jobs change a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.compile import compile_kernel
from textcat.errors import UsageError
from textcat.learners.checks import Bools, Floats, as_documents, as_labels, as_mask, require_positive
from textcat.linear.certificate import Certificate
from textcat.linear.lane_math import exponential
from textcat.linear.model import LinearModel

Integers = NDArray[np.int64]

TIE_TOLERANCE = 1e-9  # a multiplicative score within this many priors of 0 counts as 0: rounding
MAX_EXPONENT = 300.0  # exponents are clipped here, well before overflow
ONLINE_LANES = 32  # 32 lanes of 14,000 float64 weights are 3.5 MB; fastest between 16 and 118 on Reuters


@compile_kernel
def compute_halves(exponent: float, prior: float) -> tuple[float, float]:
    """Return the weights of a feature and of its negative copy for this exponent."""
    grown = math.exp(min(max(exponent, -MAX_EXPONENT), MAX_EXPONENT))
    return prior * grown, prior / grown


@compile_kernel
def _score_lanes(indices: Integers, data: Floats, weights: Floats, scores: Floats) -> None:
    """Write the document's inner product with every lane of weights to `scores`."""
    scores[:] = 0.0
    for position in range(indices.size):
        value, row = data[position], weights[indices[position]]
        for k in range(scores.size):
            scores[k] += value * row[k]


@compile_kernel
def _update_lane(
    indices: Integers,
    data: Floats,
    kept: Bools,
    lane: int,
    step: float,
    rate: float,
    prior: float,
    exponents: Floats,
    weights: Floats,
) -> None:
    """Add step * x to the lane's exponents and set its weights, on its kept features only.

    Multiplicative weights use rate * exponent; additive weights are the exponents.
    """
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
            if prior == 0.0:
                weights[j, lane] = exponents[j, lane]
            else:
                grown, shrunk = compute_halves(rate * exponents[j, lane], prior)
                weights[j, lane] = grown - shrunk


@compile_kernel
def _grow_lane(
    indices: Integers,
    data: Floats,
    kept: Bools,
    lane: int,
    step: float,
    prior: float,
    exponents: Floats,
    weights: Floats,
    grown: Floats,
    own: Integers,
) -> float:
    """Add step * x to the exponents of a multiplicative lane; return the change of the lane's one-norm.

    `own` and `grown` are buffers for the document's kept features and their exponents, contiguous so that exp becomes
    vector instructions.
    """
    found = 0
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
            own[found] = j
            grown[found] = min(max(exponents[j, lane], -MAX_EXPONENT), MAX_EXPONENT)
            found += 1
    for position in range(found):
        grown[position] = prior * exponential(grown[position])
    change = 0.0
    for position in range(found):
        j, shrunk = own[position], prior * prior / grown[position]
        before = math.sqrt(weights[j, lane] ** 2 + 4.0 * prior * prior)
        weights[j, lane] = grown[position] - shrunk
        change += grown[position] + shrunk - before
    return change


@compile_kernel
def run_mistake_pass(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    sign: Floats,
    kept: Bools,
    rate: float,
    prior: float,
    exponents: Floats,
    weights: Floats,
) -> Integers:
    """Run one mistake-driven pass (Perceptron for prior 0, else balanced Winnow); return mistakes per lane.

    A score of exactly 0 counts as "in the category" (zhang_2000, section 1). Exponents are in units of the
    learning rate, so that they are integers for 0/1 features and ties are exact.
    """
    mistakes, scores = np.zeros(sign.shape[1], np.int64), np.empty(sign.shape[1])
    for i in range(sign.shape[0]):
        features, values = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _score_lanes(features, values, weights, scores)
        for k in range(scores.size):
            if (scores[k] >= -TIE_TOLERANCE * prior) != (sign[i, k] > 0.0):
                mistakes[k] += 1
                _update_lane(features, values, kept, k, sign[i, k], rate, prior, exponents, weights)
    return mistakes


@compile_kernel
def run_margin_pass(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    sign: Floats,
    kept: Bools,
    rate: float,
    limit: float,
    prior: float,
    norm: Floats,
    exponents: Floats,
    weights: Floats,
    alpha: Floats,
) -> Integers:
    """Run one pass of dual ascent in every lane; return the number of multipliers that moved per lane.

    alpha_i <- min(C, max(0, alpha_i + rate (1 - w.x_i y_i))), where C is `limit`. A positive norm[k] scales
    the weights of lane k to that one-norm before they score (normalized Winnow).
    """
    moved, scores = np.zeros(sign.shape[1], np.int64), np.empty(sign.shape[1])
    totals, longest = compute_one_norms(exponents, kept, prior, norm), np.diff(indptr).max()
    grown, own = np.empty(longest), np.empty(longest, np.int64)
    for i in range(sign.shape[0]):
        features, values = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _score_lanes(features, values, weights, scores)
        for k in range(scores.size):
            scale = norm[k] / totals[k] if norm[k] > 0.0 else 1.0
            target = alpha[i, k] + rate * (1.0 - scale * scores[k] * sign[i, k])
            step = min(max(target, 0.0), limit) - alpha[i, k]
            if step != 0.0:
                moved[k] += 1
                alpha[i, k] += step
                step *= sign[i, k]
                if prior == 0.0:
                    _update_lane(features, values, kept, k, step, 1.0, prior, exponents, weights)
                else:
                    totals[k] += _grow_lane(
                        features, values, kept, k, step, prior, exponents, weights, grown, own
                    )
    return moved


@compile_kernel
def compute_one_norms(exponents: Floats, kept: Bools, prior: float, norm: Floats) -> Floats:
    """Return the one-norm of both halves of every normalized lane, and 0 for the other lanes."""
    totals = np.zeros(norm.size)
    if norm.max() > 0.0:
        for j in range(kept.shape[0]):
            for k in range(norm.size):
                if kept[j, k] and norm[k] > 0.0:
                    weight, negative = compute_halves(exponents[j, k], prior)
                    totals[k] += weight + negative
    return totals


LaneState = tuple[Floats, ...]
"""Exponents and weights (features x lanes), and for dual ascent the multipliers (documents x lanes)."""


@dataclass(frozen=True)
class OnlineDocuments:
    """Documents x features in visiting order; the constant feature is the last of every document."""

    indptr: Integers
    indices: Integers
    data: Floats
    features: int

    @property
    def arrays(self) -> tuple[Integers, Integers, Floats]:
        """Row starts, features and values, in the order of the kernels' arguments."""
        return self.indptr, self.indices, self.data

    @property
    def matrix(self) -> sp.csr_matrix:
        """The documents as a sparse matrix."""
        shape = (self.indptr.size - 1, self.features)
        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=shape)

    @classmethod
    def from_matrix(cls, matrix: sp.csr_matrix) -> OnlineDocuments:
        """Return the rows of a sparse matrix."""
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        return cls(indptr, indices, matrix.data, matrix.shape[1])


@dataclass(frozen=True)
class OnlineLanes:
    """Labels (+1, -1), selected features and one-norms (0: not normalized) of categories trained together."""

    sign: Floats
    kept: Bools
    norm: Floats

    def select_lanes(self, lanes: Integers) -> OnlineLanes:
        """Return the given lanes as contiguous arrays."""
        sign, kept = self.sign[:, lanes], self.kept[:, lanes]
        return OnlineLanes(np.ascontiguousarray(sign), np.ascontiguousarray(kept), self.norm[lanes])


@dataclass(frozen=True)
class OnlineProblem:
    """The training set of an online learner; `bias` is the value of the constant feature."""

    documents: OnlineDocuments
    lanes: OnlineLanes
    bias: float

    def sum_hinge_losses(self, weights: Floats) -> Floats:
        """Return the sum over documents of max(0, 1 - y w.x), per category."""
        margins = self.lanes.sign * np.asarray(self.documents.matrix @ weights)
        return np.asarray(np.maximum(0.0, 1.0 - margins).sum(axis=0))


@dataclass(frozen=True)
class TrainedLanes:
    """The state of lanes after their last pass, with passes, convergence and seconds of each lane."""

    state: LaneState
    passes: Integers
    settled: Bools
    seconds: Floats


PassFunction = Callable[[OnlineDocuments, OnlineLanes, LaneState], Integers]


def prepare_problem(
    X: Any, Y: ArrayLike, mask: ArrayLike | None, bias: float, seed: int | None
) -> OnlineProblem:
    """Append the constant feature, which every mask keeps, and convert labels to +1 and -1.

    Documents are visited in the given order, or in one random order determined by `seed`.
    """
    matrix = as_documents(X)
    labels = as_labels(Y, matrix.shape[0])
    selected = as_mask(mask, matrix.shape[1], labels.shape[1])
    if not np.isfinite(bias):
        raise UsageError(f"bias must be a finite number, got {bias}", hint="Give a number.")
    constant = sp.csr_matrix(np.full((matrix.shape[0], 1), float(bias)))
    extended = sp.csr_matrix(sp.hstack([matrix, constant]))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(labels.shape[0])
        extended, labels = extended[order], labels[order]
    kept = np.vstack([selected, np.ones((1, labels.shape[1]), dtype=np.bool_)])
    lanes = OnlineLanes(np.where(labels, 1.0, -1.0), kept, np.zeros(labels.shape[1]))
    return OnlineProblem(OnlineDocuments.from_matrix(extended), lanes, bias)


def train_in_blocks(
    problem: OnlineProblem, one_pass: PassFunction, passes: int, n_jobs: int, *, dual: bool = False
) -> TrainedLanes:
    """Train every block of lanes for `passes` passes, or until a whole pass changes nothing.

    With `dual` the state includes a multiplier for each document and lane.
    """
    require_positive(passes=passes)
    lanes = problem.lanes
    count = lanes.sign.shape[1]
    blocks = [
        lanes.select_lanes(np.arange(begin, min(begin + ONLINE_LANES, count)))
        for begin in range(0, count, ONLINE_LANES)
    ]
    from joblib import Parallel, delayed  # noqa: PLC0415 - takes long to import

    trained = Parallel(n_jobs=n_jobs, backend="threading")(
        delayed(_train_block)(problem.documents, block, one_pass, passes, dual) for block in blocks
    )
    return TrainedLanes(
        tuple(
            np.concatenate(parts, axis=1) for parts in zip(*(block.state for block in trained), strict=True)
        ),
        np.concatenate([block.passes for block in trained]),
        np.concatenate([block.settled for block in trained]),
        np.concatenate([block.seconds for block in trained]),
    )


def _train_block(
    documents: OnlineDocuments, block: OnlineLanes, one_pass: PassFunction, passes: int, dual: bool
) -> TrainedLanes:
    """Train one block on the features that its lanes keep.

    Converged lanes (no update in a full pass) are dropped when they make up a quarter of it.
    """
    began, count = perf_counter(), block.sign.shape[1]
    used = np.flatnonzero(block.kept.any(axis=1))
    features = documents.features
    if used.size < features:
        documents = OnlineDocuments.from_matrix(documents.matrix[:, used])
        block = replace(block, kept=np.ascontiguousarray(block.kept[used]))
    taken, settled = np.full(count, passes, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    state: LaneState = (np.zeros(block.kept.shape), np.zeros(block.kept.shape))
    if dual:
        state = (*state, np.zeros(block.sign.shape))
    final, running, lanes = state, np.arange(count), block
    for number in range(1, passes + 1):
        still = one_pass(documents, lanes, state) == 0
        fresh = running[still & ~settled[running]]
        taken[fresh], settled[fresh] = number, True
        if 4 * np.count_nonzero(settled[running]) >= running.size:
            _store_lanes(final, state, running)
            staying = np.flatnonzero(~settled[running])
            if staying.size == 0:
                break
            state = tuple(np.ascontiguousarray(part[:, staying]) for part in state)
            lanes, running = lanes.select_lanes(staying), running[staying]
    _store_lanes(final, state, running)
    if used.size < features:
        whole = np.zeros((2, features, count))
        whole[:, used] = final[:2]
        final = (*whole, *final[2:])
    return TrainedLanes(final, taken, settled, np.full(count, (perf_counter() - began) / count))


def _store_lanes(final: LaneState, state: LaneState, running: Integers) -> None:
    if state is not final:
        for whole, part in zip(final, state, strict=True):
            whole[:, running] = part


def make_model(
    kind: str,
    problem: OnlineProblem,
    trained: TrainedLanes,
    weights: Floats,
    settings: Mapping[str, Any],
    values: tuple[Floats, Floats] | None = None,
) -> LinearModel:
    """Return the model, with the constant feature as intercept; `values` are primal and dual objectives."""
    certificate = []
    for k, passes in enumerate(trained.passes.tolist()):
        primal = None if values is None else float(values[0][k])
        gap = None if values is None else max(0.0, float(values[0][k] - values[1][k]))
        reason = "a whole pass moved nothing" if trained.settled[k] else "all passes done"
        certificate.append(Certificate(primal, None, gap, passes, float(trained.seconds[k]), reason))
    return LinearModel(
        weights[:-1].copy(), problem.bias * weights[-1], certificate, dict(settings), kind=kind
    )
