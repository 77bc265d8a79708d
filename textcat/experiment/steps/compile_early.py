"""Compile the kernels of learners before their training is timed, where the disk has none yet.

A kernel is compiled by its first call, on one core. A learner is therefore first trained on four artificial documents:
in a thread while the real documents are read, and once more before its training is timed, which is quick if its kernels
are ready.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock, Thread

import numpy as np
import scipy.sparse as sp

from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.learners.parameters import LEARNERS, validate_parameters

log = logging.getLogger(__name__)

# Algorithms that are compiled in a thread: they change no setting of the whole process while they train.
_COMPILED_IN_THREAD = ("column", "row")


@contextmanager
def compile_early(untrained: Sequence[RunSettings], context: RunContext) -> Iterator[RunContext]:
    """Compile the kernels of these runs in a thread, which ends before this block does.

    Yield the context with the processor seconds of that thread.
    """
    by_learner = {run.learner: run for run in reversed(untrained) if _compiles_long(run)}
    if not by_learner or context.executor is not None or context.jobs == 1:
        yield context
        return
    compiler = _Compiler(list(reversed(by_learner.values())))
    compiler.start()
    try:
        yield replace(context, measure_background=compiler.measure_seconds)
    finally:
        compiler.stop()


def compile_kernels(run: RunSettings) -> None:
    """Train a run's learner on four artificial documents, so that its kernels are compiled or read from disk."""
    X = sp.csr_matrix(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]))
    labels = np.array([[True, False], [True, False], [False, True], [False, True]])
    problem = LearningProblem(X, labels, np.ones((3, 2), dtype=bool), 0)
    try:
        find_learner(run.learner).fit(problem, validate_parameters(run.learner, run.parameters), 1)
    except Exception as error:
        # The real documents will show the same error, with a message that says which.
        log.debug("cannot compile %s early: %s", run.learner, error)


def _compiles_long(run: RunSettings) -> bool:
    if run.learner == "smo":
        return True
    parameters = validate_parameters(run.learner, run.parameters)
    algorithm = getattr(parameters, "algorithm", None) or LEARNERS[run.learner].settings.get("algorithm")
    return algorithm in _COMPILED_IN_THREAD


class _Compiler(Thread):
    """A thread that compiles the kernels of runs, and measures its processor seconds."""

    def __init__(self, runs: Sequence[RunSettings]) -> None:
        super().__init__(name="compile early")
        self._runs = runs
        self._ended = Event()
        self._lock = Lock()
        self._final: float | None = None

    def run(self) -> None:
        """Compile until all kernels are ready or the thread is stopped."""
        for run in self._runs:
            if self._ended.is_set():
                break
            compile_kernels(run)
        with self._lock:
            self._final = time.thread_time()

    def stop(self) -> None:
        """Wait for the current learner, and compile no other."""
        self._ended.set()
        self.join()

    def measure_seconds(self) -> float:
        """Return the processor seconds of this thread so far; 0 while it runs, where the system does not tell."""
        # The thread cannot end while the lock is held: the clock of a thread that has ended must not be read.
        with self._lock:
            if self._final is not None:
                return self._final
            if self.ident is None or not hasattr(time, "pthread_getcpuclockid"):
                return 0.0
            return time.clock_gettime(time.pthread_getcpuclockid(self.ident))
