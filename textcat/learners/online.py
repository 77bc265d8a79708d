"""What the online learners share: a constant feature, blocks of lanes, passes until nothing moves.

Categories are trained in blocks of a few lanes: wide enough that one read of a document serves many
categories by vector instructions, narrow enough that the weights stay in the processor's cache. A lane
never looks at its neighbours, so neither the blocks nor the number of jobs change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from textcat.errors import UsageError
from textcat.learners.inputs import Bools, as_documents, as_labels, as_mask, require_positive
from textcat.learners.online_kernels import Floats, Integers
from textcat.learners.scorer import Certificate, LinearScorer

LANES = 32  # 32 lanes of 14,000 float64 weights are 3.5 MB; measured fastest between 16 and 118 on Reuters

State = tuple[Floats, ...]


@dataclass(frozen=True)
class Documents:
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
class Lanes:
    """Labels (+1, -1) and selected features of the categories that are trained side by side."""

    sign: Floats
    kept: Bools

    def only(self, lanes: Integers) -> Lanes:
        """The given lanes, laid out contiguously again."""
        return Lanes(np.ascontiguousarray(self.sign[:, lanes]), np.ascontiguousarray(self.kept[:, lanes]))


@dataclass(frozen=True)
class Trained:
    """The state of a block's lanes after their last pass, and for each lane its passes and seconds."""

    lanes: Lanes
    state: State
    passes: Integers
    settled: Bools
    seconds: float


Pass = Callable[[Documents, Lanes, State], Integers]


def prepare(
    X: Any, Y: ArrayLike, mask: ArrayLike | None, bias: float, seed: int | None
) -> tuple[Documents, Floats, Bools]:
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
    documents = Documents(
        extended.indptr.astype(np.int64), extended.indices.astype(np.int64), extended.data, extended.shape[1]
    )
    kept = np.vstack([selected, np.ones((1, labels.shape[1]), dtype=np.bool_)])
    return documents, np.where(labels, 1.0, -1.0), kept


def train_in_blocks(
    documents: Documents,
    sign: Floats,
    kept: Bools,
    start: Callable[[Lanes], State],
    one_pass: Pass,
    passes: int,
    n_jobs: int,
) -> list[Trained]:
    """Train every block of lanes for `passes` passes, or until a whole pass moves nothing."""
    require_positive("passes", passes)
    everything = Lanes(sign, kept)
    blocks = [
        everything.only(np.arange(begin, min(begin + LANES, sign.shape[1])))
        for begin in range(0, sign.shape[1], LANES)
    ]
    return list(
        Parallel(n_jobs=n_jobs, backend="threading")(
            delayed(_train_block)(documents, block, start(block), one_pass, passes) for block in blocks
        )
    )


def _train_block(documents: Documents, block: Lanes, state: State, one_pass: Pass, passes: int) -> Trained:
    """Lanes that a whole pass left untouched have settled for good and leave once they are a quarter."""
    began, count = perf_counter(), block.sign.shape[1]
    taken, settled = np.full(count, passes, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    final, running, lanes = state, np.arange(count), block
    for number in range(1, passes + 1):
        still = one_pass(documents, lanes, state) == 0
        fresh = running[still & ~settled[running]]
        taken[fresh], settled[fresh] = number, True
        if 4 * np.count_nonzero(settled[running]) >= running.size:
            _put_back(final, state, running)
            staying = np.flatnonzero(~settled[running])
            if staying.size == 0:
                break
            state = tuple(np.ascontiguousarray(part[:, staying]) for part in state)
            lanes, running = lanes.only(staying), running[staying]
    _put_back(final, state, running)
    return Trained(block, final, taken, settled, perf_counter() - began)


def _put_back(final: State, state: State, running: Integers) -> None:
    if state is not final:
        for whole, part in zip(final, state, strict=True):
            whole[:, running] = part


def merged(trained: list[Trained], part: int) -> Floats:
    """One part of the state, all lanes side by side."""
    return np.concatenate([block.state[part] for block in trained], axis=1)


def as_model(
    weights: Floats,
    trained: list[Trained],
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
        certificate.append(Certificate(primal, gap, int(passes[k]), float(seconds[k]), reason))
    return LinearScorer(weights[:-1].copy(), bias * weights[-1], kind, dict(parameters), tuple(certificate))


def hinge_losses(documents: Documents, sign: Floats, weights: Floats) -> Floats:
    """The sum over documents of max(0, 1 - y w.x), one a category."""
    matrix = sp.csr_matrix(
        (documents.data, documents.indices, documents.indptr), shape=(sign.shape[0], documents.features)
    )
    margins = sign * np.asarray(matrix @ weights)
    return np.asarray(np.maximum(0.0, 1.0 - margins).sum(axis=0))
