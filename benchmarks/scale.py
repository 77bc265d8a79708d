"""Time and peak memory of training against the number of documents and of topics, and how fast they grow.

Each measurement is a process of its own, so that its peak is its own; it maps the documents from disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from textcat.errors import StageFailedError

DOCUMENTS = (10_000, 30_000, 100_000, 300_000, 781_265)
TOPICS = (1, 4, 16, 50, 103)
ALL_TOPICS = 103
# Where topics vary the documents are so many, and where documents vary all topics are learned.
DOCUMENTS_FOR_TOPICS = 100_000
MLR_CG_TOPICS = 4


@dataclass(frozen=True)
class ScaleLearner:
    """What is trained: a loss and prior with C for `per` documents (None: for however many there are)."""

    name: str
    loss: str
    prior: str = "gaussian"
    C: float = 1.0
    per: int | None = None


ALL_DOCUMENTS = DOCUMENTS[-1]
# The penalty beside the mean loss is the same for any number of documents, as in the papers' objectives, so that more
# documents are more of the same problem: C = 1 for all of RCV1-v2's, and 78 for the first ten thousand. With C = 1 for
# any number the problem itself grows, and passes with it. At the setting of the lasso a category keeps some tens of
# features.
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


def plan_requests(folder: Path, most: int, jobs: int, learners: Sequence[str]) -> list[ScaleRequest]:
    """Every measurement of a run that goes up to `most` documents, small ones first."""
    sizes = [n for n in DOCUMENTS if n < most] + [most]
    base = min(DOCUMENTS_FOR_TOPICS, most)
    found = []
    for name in learners:
        topics = MLR_CG_TOPICS if name == MLR_CG.name else ALL_TOPICS
        found += [ScaleRequest(name, n, topics, str(folder), jobs, "documents") for n in sizes]
        if name != MLR_CG.name:
            found += [ScaleRequest(name, base, k, str(folder), jobs, "topics") for k in TOPICS]
    return sorted(found, key=lambda each: each.documents * each.topics)


def bench_scale(
    wanted: Iterable[ScaleRequest], tell: Callable[[dict[str, Any]], None] = lambda row: None
) -> list[dict[str, Any]]:
    """A row for each measurement, in order of learner, what varies, and size; `tell` gets each when it is made."""
    rows = []
    for request in wanted:
        rows.append(run_measurement(request))
        tell(rows[-1])
    names = list(LEARNERS_BY_NAME)
    return sorted(rows, key=lambda r: (names.index(r["learner"]), r["varied"], r["documents"], r["topics"]))


def run_measurement(request: ScaleRequest) -> dict[str, Any]:
    """One measurement, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale_worker"]
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    done = subprocess.run(  # noqa: S603 - our own module, by this interpreter
        command, input=json.dumps(asdict(request)), env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        raise StageFailedError(
            f"training {request.learner} on {request.documents:,} documents failed: {last[0]}",
            where="bench scale",
            hint="Fewer documents need less memory: --most-documents.",
        )
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def fit_exponents(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The slope of log seconds over log size by least squares, for each learner and what is varied."""
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
