"""The context of a run (folders, threads, network, progress, executor, cache), and the steps that are built in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from textcat.errors import StageFailedError
from textcat.store import Artifact, Recipe, Store

if TYPE_CHECKING:
    from textcat.parallel import Executor
    from textcat.parallel.executors import Item, Result, Shared


class ProgressReporter(Protocol):
    """Receive the progress of the current piece of work."""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """Report that `done` of `total` parts of `what` are finished; a total of None is not known."""
        ...


def measure_no_background() -> float:
    """Return the processor seconds of background threads where there are none."""
    return 0.0


def ignore_progress(done: int, total: int | None, what: str) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class RunContext:
    """Where experiments are run and what they may use.

    Without an executor, folds, grid points and blocks of categories run one after another, each on `jobs`
    threads. An executor runs several of them at the same time, each on one thread. `measure_background` returns the
    processor seconds that threads have used for other work than the current step. `logged` holds the warnings that are
    not repeated.
    """

    data: Path
    mirror: Path | None = None
    jobs: int = 1
    offline: bool = False
    results: Path = Path("results")
    progress: ProgressReporter = ignore_progress
    executor: Executor | None = None
    store_class: type[Store] = Store
    measure_background: Callable[[], float] = measure_no_background
    logged: set[str] = field(default_factory=set)

    @cached_property
    def store(self) -> Store:
        """The cache of artifacts."""
        return self.store_class(self.data / "cache")

    @property
    def jobs_per_task(self) -> int:
        """Threads that a fold, grid point or block of categories may use."""
        return 1 if self.executor else self.jobs

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in order."""
        if self.executor:
            return self.executor.map_items(function, shared, items)
        return (function(shared, item) for item in items)


@dataclass(frozen=True)
class Step:
    """One artifact of a plan: its stage, title and recipe, the function that makes it, and the steps it needs."""

    stage: str
    title: str
    recipe: Recipe
    make: Callable[[RunContext, Path], None]
    needs: tuple[Step, ...] = field(default=())

    def build_artifact(self, context: RunContext) -> Artifact:
        """Return the step's artifact; make it if it is not in the cache."""
        return context.store.build(self.recipe, lambda folder: self.make(context, folder))

    def read_artifact(self, context: RunContext) -> Artifact:
        """Return the step's artifact; raise StageFailedError where it is missing, because reading makes nothing."""
        found = context.store.find(self.recipe)
        if found is None:
            raise StageFailedError(
                "an artifact that is to be read is not in the cache",
                where=self.title,
                hint="Run the experiment again; nothing else may clear the cache meanwhile.",
            )
        return found

    def read_folder(self, context: RunContext) -> Path:
        """Return the folder of the step's artifact; raise StageFailedError where it is missing."""
        return self.read_artifact(context).folder

    def build_folder(self, context: RunContext) -> Path:
        """Return the folder of the step's artifact; make the artifact if it is not in the cache."""
        return self.build_artifact(context).folder


def make_recipe_inputs(**steps: Step) -> dict[str, str]:
    """Return the keys of steps by name, as the inputs of a recipe."""
    return {name: step.recipe.key for name, step in steps.items()}
