"""Compile the kernels of learners while documents are read, where the disk has none yet.

A kernel is compiled by its first call, on one core. A thread trains each learner on a few made documents,
so that its kernels are ready, or nearly, when the real ones are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import numpy as np

from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.spec.learner_table import LEARNERS, validate_parameters
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.experiment.steps.train import list_method_names
from textcat.plugins import collect_identities

log = logging.getLogger(__name__)

# Those that change no setting of the whole process while they train, such as the threads of linear algebra.
_ALGORITHMS = ("column", "row")


@contextmanager
def compile_early(plan: Plan, context: RunContext) -> Iterator[None]:
    """Compile the kernels that missing models need in a thread, which ends before this block does."""
    missing: dict[str, RunSettings] = {}
    for chain in plan.chains:
        if _compiles_long(chain.settings) and context.store.find(chain.trained.recipe) is None:
            missing.setdefault(chain.settings.learner, chain.settings)
    if not missing or context.executor is not None or context.jobs == 1:
        yield
        return
    ended = Event()
    thread = Thread(
        target=_train_on_made_documents, args=(list(missing.values()), ended), name="compile early"
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _compiles_long(run: RunSettings) -> bool:
    if run.learner == "smo":
        return True
    parameters = validate_parameters(run.learner, run.parameters)
    algorithm = getattr(parameters, "algorithm", None) or LEARNERS[run.learner].settings.get("algorithm")
    return algorithm in _ALGORITHMS and not collect_identities(*list_method_names(parameters))


def _train_on_made_documents(runs: list[RunSettings], ended: Event) -> None:
    import scipy.sparse as sp  # noqa: PLC0415

    X = sp.csr_matrix(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]))
    labels = np.array([[True, False], [True, False], [False, True], [False, False]])
    problem = LearningProblem(X, labels, np.ones((3, 2), dtype=bool), 0)
    for run in runs:
        if ended.is_set():
            return
        try:
            find_learner(run.learner).fit(problem, validate_parameters(run.learner, run.parameters), 1)
        except Exception as error:
            # The real documents will show the same error, with a message that says which.
            log.debug("cannot compile %s early: %s", run.learner, error)
