"""Time and peak memory of training by number of documents and of topics, on generated documents like
RCV1-v2's.

Each measurement runs in its own process, which maps the documents from disk, so that its peak memory is its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import run_in_process
from textcat.errors import StageFailedError

DOCUMENTS = (10_000, 30_000, 100_000, 300_000, 781_265)
TOPICS = (1, 4, 16, 50, 103)
ALL_TOPICS = 103
# The number of documents while topics vary; while documents vary, all topics are trained.
DOCUMENTS_FOR_TOPICS = 100_000
MLR_CG_TOPICS = 4


@dataclass(frozen=True)
class ScaleLearner:
    """A learner to train: loss, prior, and C for `per` documents (None: for any number of documents)."""

    name: str
    loss: str
    prior: str = "gaussian"
    C: float = 1.0
    per: int | None = None


ALL_DOCUMENTS = DOCUMENTS[-1]
# The penalty relative to the mean loss is the same for any number of documents, as in the papers' objectives,
# so that more documents are more of the same problem: C = 1 for all documents of RCV1-v2, and 78 for the
# first ten thousand. With C = 1 for any number, the problem would get harder with size. With the lasso's C a
# category keeps some tens of features.
SCALE_LEARNERS = (
    ScaleLearner("squared hinge", "squared_hinge", per=ALL_DOCUMENTS),
    ScaleLearner("ridge logistic", "logistic", per=ALL_DOCUMENTS),
    ScaleLearner("lasso logistic", "logistic", "laplace", 1.0, per=20_000),
)
MLR_CG = ScaleLearner("MLR-CG, 500 features", "modified_logistic")
LEARNERS_BY_NAME = {learner.name: learner for learner in (*SCALE_LEARNERS, MLR_CG)}


@dataclass(frozen=True)
class ScaleRequest:
    """One measurement: a learner on the first documents and topics of an artifact."""

    learner: str
    documents: int
    topics: int
    folder: str
    jobs: int
    varied: str

    @property
    def name(self) -> str:
        """Return the name by which `--only` finds the row."""
        return f"{self.learner}, {self.documents} documents, {self.topics} topics"


def plan_requests(folder: Path, most: int, jobs: int, learners: Sequence[str]) -> list[ScaleRequest]:
    """Return all measurements up to `most` documents: by learner, what varies, and size."""
    sizes = [n for n in DOCUMENTS if n < most] + [most]
    base = min(DOCUMENTS_FOR_TOPICS, most)
    found = []
    for name in learners:
        topics = MLR_CG_TOPICS if name == MLR_CG.name else ALL_TOPICS
        found += [ScaleRequest(name, n, topics, str(folder), jobs, "documents") for n in sizes]
        if name != MLR_CG.name:
            found += [ScaleRequest(name, base, k, str(folder), jobs, "topics") for k in TOPICS]
    return found


def bench_scale(requests: Iterable[ScaleRequest]) -> Iterator[dict[str, Any]]:
    """Yield one row per measurement."""
    yield from map(run_measurement, requests)


def run_measurement(request: ScaleRequest) -> dict[str, Any]:
    """Run one measurement in its own process and return its row."""
    try:
        return run_in_process("benchmarks.scale_worker", asdict(request))
    except StageFailedError as error:
        raise StageFailedError(
            f"training {request.learner} on {request.documents:,} documents {error.what}",
            where="python -m benchmarks scale",
            hint="Fewer documents need less memory: --most-documents.",
        ) from error


def fit_exponents(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the slope of log seconds and log memory over log size, by least squares, per learner and varied size."""
    found = []
    for (learner, varied), group in groupby(rows, key=lambda row: (row["learner"], row["varied"])):
        points = list(group)
        if len({row[varied] for row in points}) > 1:
            sizes = np.log([row[varied] for row in points])
            slope = {
                name: round(float(np.polyfit(sizes, np.log([row[name] for row in points]), 1)[0]), 3)
                for name in ("seconds", "own_megabytes")
                if all(row[name] for row in points)
            }
            found.append({"learner": learner, "against": varied, "points": len(points), **slope})
    return found
