"""What a step is, and the workshop in which steps are carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from textcat.parallel import Executor, SerialExecutor
from textcat.parallel.executors import Item, Result, Shared
from textcat.store import Artifact, Recipe, Store


class ProgressReporter(Protocol):
    """Told of work done and still to do; what it shows, and where, is its own matter."""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """`done` of `total` (None: not known) parts of `what` are finished."""
        ...


def ignore_progress(done: int, total: int | None, what: str) -> None:
    """The progress of those who do not want to see any."""


@dataclass(frozen=True)
class StepContext:
    """The artifact store, the number of threads, the progress reporter and the executor of a run.

    Without an executor folds, grid points and blocks of categories run one after another, each on `jobs` threads,
    and text of a tokenizer plugin is split in `jobs` processes. With an executor several tasks run at a time.
    """

    store: Store
    jobs: int = 1
    progress: ProgressReporter = ignore_progress
    executor: Executor | None = None

    @property
    def jobs_per_task(self) -> int:
        """Threads that a fold, grid point or block of categories may use."""
        return 1 if self.executor else self.jobs

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in order, computed by the executor if there is one."""
        return (self.executor or SerialExecutor()).map_items(function, shared, items)


@dataclass(frozen=True)
class Step:
    """One artifact to be made: the command it belongs to, its title, its recipe and its maker."""

    stage: str
    title: str
    recipe: Recipe
    make: Callable[[StepContext, Path], None]
    needs: tuple[Step, ...] = field(default=())

    def build_artifact(self, workshop: StepContext) -> Artifact:
        """The step's artifact, made now if it is not here yet."""
        return workshop.store.build(self.recipe, lambda folder: self.make(workshop, folder))


def make_recipe_inputs(**steps: Step) -> dict[str, str]:
    """The keys of steps, as the inputs of a recipe."""
    return {name: step.recipe.key for name, step in steps.items()}
