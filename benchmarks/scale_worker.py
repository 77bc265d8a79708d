"""Run one measurement of `scale`: read a request as JSON from standard input, write a row to standard output."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import PeakMemory
from benchmarks.rcv1_like import read_rcv1_like, select_binary_features
from benchmarks.scale import LEARNERS_BY_NAME, MLR_CG, ScaleLearner, ScaleRequest
from textcat.linear import fit
from textcat.linear.combinations import load_named_learners
from textcat.linear.mapped_arrays import assemble_csr
from textcat.linear.model import LinearModel
from textcat.linear.regularization import lam_from_c
from textcat.parallel.executors import limit_to_one_thread

# The duality gap of each category as a share of its objective.
ACCURACY = 1e-3
_STEPS = 200
_FEATURES = 500


def main() -> None:
    """Run the requested measurement."""
    request = ScaleRequest(**json.loads(sys.stdin.read()))
    with limit_to_one_thread():
        print(json.dumps(measure(request)))  # noqa: T201 - the answer of this process


def measure(request: ScaleRequest) -> dict[str, Any]:
    """Return seconds, memory and certificate of one training, after compiling on a few documents."""
    learner = LEARNERS_BY_NAME[request.learner]
    vectors = read_rcv1_like(Path(request.folder))
    X, Y = (
        _take_first(vectors.X, request.documents),
        np.array(vectors.Y[: request.documents, : request.topics]),
    )
    if learner is MLR_CG:
        X = select_binary_features(X, np.arange(request.documents), _FEATURES)
    train_learner(_take_first(X, 200), Y[:200], learner, 1)
    with PeakMemory() as memory:
        used, started = time.process_time(), time.perf_counter()
        model = train_learner(X, Y, learner, request.jobs)
        seconds, wall = time.process_time() - used, time.perf_counter() - started
    return {
        "learner": learner.name,
        "varied": request.varied,
        "documents": request.documents,
        "topics": request.topics,
        "nonzeros": int(X.nnz),
        "seconds": round(seconds, 3),
        "wall_seconds": round(wall, 3),
        "threads": request.jobs,
        "peak_megabytes": round(memory.resident),
        "own_megabytes": None if memory.own is None else round(memory.own),
        **_describe_outcome(model),
    }


def train_learner(X: Any, Y: NDArray[np.bool_], learner: ScaleLearner, jobs: int) -> LinearModel:
    """Train a learner with the settings of its row in LEARNERS_BY_NAME."""
    if learner is MLR_CG:
        return fit(
            X, Y, **{**load_named_learners()["MLR-CG"]["settings"], "max_passes": _STEPS, "n_jobs": jobs}
        )
    n = X.shape[0]
    C = learner.C if learner.per is None else learner.C * learner.per / n
    lam = lam_from_c(C, n, learner.prior)
    return fit(
        X, Y, loss=learner.loss, prior=learner.prior, lam=lam, algorithm="fast", tol=ACCURACY, n_jobs=jobs
    )


def _take_first(X: Any, documents: int) -> Any:
    """Return the first documents without reading or copying them."""
    end = int(X.indptr[documents])
    return assemble_csr(X.data[:end], X.indices[:end], X.indptr[: documents + 1], (documents, X.shape[1]))


def _describe_outcome(model: LinearModel) -> dict[str, Any]:
    """Return the mean features and passes per category, and the largest relative gap."""
    known = [each for each in model.certificate if each.gap is not None]
    shares = [(each.gap or 0.0) / (each.objective or np.nan) for each in known]
    return {
        "features": round(float((model.coef != 0).sum(axis=0).mean()), 1),
        "passes": round(float(np.mean([each.passes for each in model.certificate])), 1),
        "worst_gap": float(f"{max(shares, default=float('nan')):.2g}") if shares else None,
    }


if __name__ == "__main__":
    main()
