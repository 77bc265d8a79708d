"""What the online learners share: kernels of one pass, blocks of lanes, passes until nothing moves.

Each category keeps exponents s = sum_i a_i y_i x_i, where a_i sums the updates that document i caused. The
weights are a function of them, feature by feature: s itself for the additive family (prior 0), and for the
balanced multiplicative family with prior mu > 0 the difference mu exp(s) - mu exp(-s) of the two halves of
the embedding [x, -x], which is therefore never laid out (zhang_2000, section 2).

Categories are trained in blocks of a few lanes: wide enough that one read of a document serves many
categories by vector instructions, narrow enough that the weights stay in the processor's cache. A lane
never looks at its neighbours, so neither the blocks nor the number of jobs change a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from textcat.compile import compile_kernel
from textcat.errors import UsageError
from textcat.learners.checks import as_documents, as_labels, as_mask, require_positive
from textcat.learners.scorer import LinearScorer, ScorerCertificate
from textcat.linear.lane_math import exponential

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

TIE_TOLERANCE = 1e-9  # a multiplicative score within this many priors of 0 is rounding, and counts as 0
MAX_EXPONENT = 300.0  # exponents act as if they ended here, far beyond sense and well before overflow


@compile_kernel
def compute_halves(exponent: float, prior: float) -> tuple[float, float]:
    """The weights that a feature and its negative copy have under this exponent."""
    grown = math.exp(min(max(exponent, -MAX_EXPONENT), MAX_EXPONENT))
    return prior * grown, prior / grown


@compile_kernel
def _score_lanes(indices: Integers, data: Floats, weights: Floats, scores: Floats) -> None:
    """scores <- the document's inner product with every lane of weights."""
    scores[:] = 0.0
    for position in range(indices.size):
        value, row = data[position], weights[indices[position]]
        for k in range(scores.size):
            scores[k] += value * row[k]


@compile_kernel
def _move_lane(
    indices: Integers, data: Floats, kept: Bools, lane: int, step: float, exponents: Floats, weights: Floats
) -> None:
    """exponents += step * x in one lane on its kept features; additive weights are the exponents."""
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
            weights[j, lane] = exponents[j, lane]


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
) -> float:
    """The same with multiplicative weights; returns the change of the lane's one-norm.

    `grown` is room for the document's exponents, laid side by side so that exp becomes vector instructions.
    A feature that is not kept has exponent 0 and so adds nothing anywhere.
    """
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
        grown[position] = min(max(exponents[j, lane], -MAX_EXPONENT), MAX_EXPONENT)
    for position in range(indices.size):
        grown[position] = prior * exponential(grown[position])
    change = 0.0
    for position in range(indices.size):
        j, shrunk = indices[position], prior * prior / grown[position]
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
    """One mistake-driven pass: Perceptron for prior 0, else balanced Winnow; returns each lane's mistakes.

    A score of exactly 0 counts as "in the category" (zhang_2000, section 1). Exponents are kept in units of
    the learning rate, so that with 0/1 features they are whole numbers and ties are exact.
    """
    mistakes, scores = np.zeros(sign.shape[1], np.int64), np.empty(sign.shape[1])
    for i in range(sign.shape[0]):
        features, values = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _score_lanes(features, values, weights, scores)
        for k in range(scores.size):
            if (scores[k] >= -TIE_TOLERANCE * prior) != (sign[i, k] > 0.0):
                mistakes[k] += 1
                _correct_mistake(features, values, kept, k, sign[i, k], rate, prior, exponents, weights)
    return mistakes


@compile_kernel
def _correct_mistake(
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
    """One pass of dual ascent: alpha_i <- min(C, max(0, alpha_i + rate (1 - w.x_i y_i))) in every lane.

    `limit` is C. A positive norm[k] scales lane k's weights to that one-norm before they score (normalized
    Winnow). Returns how many multipliers moved in each lane.
    """
    moved, scores = np.zeros(sign.shape[1], np.int64), np.empty(sign.shape[1])
    totals, grown = compute_one_norms(exponents, kept, prior, norm), np.empty(np.diff(indptr).max())
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
                if prior == 0.0:
                    _move_lane(features, values, kept, k, step * sign[i, k], exponents, weights)
                else:
                    totals[k] += _grow_lane(
                        features, values, kept, k, step * sign[i, k], prior, exponents, weights, grown
                    )
    return moved


@compile_kernel
def compute_one_norms(exponents: Floats, kept: Bools, prior: float, norm: Floats) -> Floats:
    """The one-norm of both halves of every lane that is normalized, summed anew; 0 for the others."""
    totals = np.zeros(norm.size)
    if norm.max() > 0.0:
        for j in range(kept.shape[0]):
            for k in range(norm.size):
                if kept[j, k] and norm[k] > 0.0:
                    weight, negative = compute_halves(exponents[j, k], prior)
                    totals[k] += weight + negative
    return totals


ONLINE_LANES = (
    32  # 32 lanes of 14,000 float64 weights are 3.5 MB; measured fastest between 16 and 118 on Reuters
)

LaneState = tuple[Floats, ...]


@dataclass(frozen=True)
class OnlineDocuments:
    """Documents x features in visiting order, the constant feature last in every document."""

    indptr: Integers
    indices: Integers
    data: Floats
    features: int

    @property
    def arrays(self) -> tuple[Integers, Integers, Floats]:
        """Row starts, features and values, as kernels take them."""
        return self.indptr, self.indices, self.data


@dataclass(frozen=True)
class OnlineLanes:
    """Labels (+1, -1) and selected features of the categories that are trained side by side."""

    sign: Floats
    kept: Bools

    def select_lanes(self, lanes: Integers) -> OnlineLanes:
        """The given lanes, laid out contiguously again."""
        return OnlineLanes(
            np.ascontiguousarray(self.sign[:, lanes]), np.ascontiguousarray(self.kept[:, lanes])
        )


@dataclass(frozen=True)
class TrainedBlock:
    """The state of a block's lanes after their last pass, and for each lane its passes and seconds."""

    lanes: OnlineLanes
    state: LaneState
    passes: Integers
    settled: Bools
    seconds: float


PassFunction = Callable[[OnlineDocuments, OnlineLanes, LaneState], Integers]


def prepare_documents(
    X: Any, Y: ArrayLike, mask: ArrayLike | None, bias: float, seed: int | None
) -> tuple[OnlineDocuments, Floats, Bools]:
    """Documents with the constant feature, labels as +1 and -1, and the mask, which always keeps the
    constant.

    Documents are visited in the order given, or in one random order that `seed` determines.
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
    documents = OnlineDocuments(
        extended.indptr.astype(np.int64), extended.indices.astype(np.int64), extended.data, extended.shape[1]
    )
    kept = np.vstack([selected, np.ones((1, labels.shape[1]), dtype=np.bool_)])
    return documents, np.where(labels, 1.0, -1.0), kept


def train_in_blocks(
    documents: OnlineDocuments,
    sign: Floats,
    kept: Bools,
    start: Callable[[OnlineLanes], LaneState],
    one_pass: PassFunction,
    passes: int,
    n_jobs: int,
) -> list[TrainedBlock]:
    """Train every block of lanes for `passes` passes, or until a whole pass moves nothing."""
    require_positive("passes", passes)
    everything = OnlineLanes(sign, kept)
    blocks = [
        everything.select_lanes(np.arange(begin, min(begin + ONLINE_LANES, sign.shape[1])))
        for begin in range(0, sign.shape[1], ONLINE_LANES)
    ]
    return list(
        Parallel(n_jobs=n_jobs, backend="threading")(
            delayed(_train_lanes)(documents, block, start(block), one_pass, passes) for block in blocks
        )
    )


def _train_lanes(
    documents: OnlineDocuments, block: OnlineLanes, state: LaneState, one_pass: PassFunction, passes: int
) -> TrainedBlock:
    """Lanes that a whole pass left untouched have settled for good and leave once they are a quarter."""
    began, count = perf_counter(), block.sign.shape[1]
    taken, settled = np.full(count, passes, dtype=np.int64), np.zeros(count, dtype=np.bool_)
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
    return TrainedBlock(block, final, taken, settled, perf_counter() - began)


def _store_lanes(final: LaneState, state: LaneState, running: Integers) -> None:
    if state is not final:
        for whole, part in zip(final, state, strict=True):
            whole[:, running] = part


def merge_state(trained: list[TrainedBlock], part: int) -> Floats:
    """One part of the state, all lanes side by side."""
    return np.concatenate([block.state[part] for block in trained], axis=1)


def as_model(
    weights: Floats,
    trained: list[TrainedBlock],
    kind: str,
    parameters: Mapping[str, Any],
    bias: float,
    values: tuple[Floats, Floats] | None = None,
) -> LinearScorer:
    """The model, its constant feature turned into an intercept; `values`: primal and dual objectives."""
    passes = np.concatenate([block.passes for block in trained])
    settled = np.concatenate([block.settled for block in trained])
    seconds = np.concatenate(
        [np.full(block.passes.size, block.seconds / block.passes.size) for block in trained]
    )
    certificate = []
    for k in range(passes.size):
        primal = None if values is None else float(values[0][k])
        gap = None if values is None else max(0.0, float(values[0][k] - values[1][k]))
        reason = "a whole pass moved nothing" if settled[k] else "all passes done"
        certificate.append(ScorerCertificate(primal, gap, int(passes[k]), float(seconds[k]), reason))
    return LinearScorer(weights[:-1].copy(), bias * weights[-1], kind, dict(parameters), tuple(certificate))


def sum_hinge_losses(documents: OnlineDocuments, sign: Floats, weights: Floats) -> Floats:
    """The sum over documents of max(0, 1 - y w.x), one a category."""
    matrix = sp.csr_matrix(
        (documents.data, documents.indices, documents.indptr), shape=(sign.shape[0], documents.features)
    )
    margins = sign * np.asarray(matrix @ weights)
    return np.asarray(np.maximum(0.0, 1.0 - margins).sum(axis=0))
