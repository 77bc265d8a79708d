"""A search on Dask workers, processes or threads finds what one process finds."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.experiment.tune.tuning import read_own, tune, write_questions
from textcat.cli.main import group
from textcat.experiment.context import RunContext
from textcat.experiment.tune.documents import TrainingDocuments
from textcat.experiment.tune.space import Space
from textcat.parallel import Executor, SerialExecutor, start_workers


@dataclass
class CountingExecutor:
    """Passes tasks on, and notes how many there are at a time and how many were done."""

    executor: Executor
    tasks: list[int] = field(default_factory=list)
    done: int = 0
    parts: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.executor.size

    def map_items(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]
    ) -> Iterator[Any]:
        is_search = function.__name__ == "_evaluate_task"
        if is_search:
            self.tasks.append(len(items))
        if function.__name__ == "_measure_part":
            self.parts.append(len(items))
        for result in self.executor.map_items(function, shared, items):
            self.done += is_search
            yield result


def drop_times(report: Any) -> Any:
    if isinstance(report, dict):
        return {key: drop_times(value) for key, value in report.items() if "seconds" not in key}
    return [drop_times(each) for each in report] if isinstance(report, list) else report


@pytest.mark.parametrize("backend", ["dask", "threads"])
def test_two_workers_find_what_one_process_finds(tmp_path: Path, backend: Any) -> None:
    if backend == "dask":
        pytest.importorskip("textcat.parallel.dask_cluster", reason="Dask is not installed")
    experiment = read_own(write_questions(tmp_path / "questions.csv", several=True))
    alone = tune(tmp_path / "alone", experiment, configurations=5)
    with start_workers(backend, 2) as executor:
        assert executor is not None
        counting = CountingExecutor(executor)
        together = tune(tmp_path / "together", experiment, configurations=5, executor=counting)
    assert drop_times(together.report) == drop_times(alone.report)
    files = [(tmp_path / name / "out" / "tuned.yaml").read_text() for name in ("alone", "together")]
    assert files[0] == files[1]
    # On three folds each: the first of its kind with all values of C, then those that know the best of these.
    assert counting.tasks[:2] == [3, 12]
    assert counting.done == sum(counting.tasks)
    # The learning curve: three shares of two folds.
    assert counting.parts == [6]


def test_without_time_left_waiting_tasks_are_not_computed(tmp_path: Path) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv"))
    counting = CountingExecutor(SerialExecutor())
    report = tune(tmp_path, experiment, configurations=None, seconds=0.0, executor=counting).report
    assert report["stopped_by"] == "time"
    assert (counting.tasks, counting.done, len(report["candidates"])) == ([3], 1, 1)


def test_workers_get_the_counts_of_their_groups_alone(tmp_path: Path) -> None:
    context = RunContext(tmp_path / "data", executor=SerialExecutor())
    documents = TrainingDocuments.read(read_own(write_questions(tmp_path / "questions.csv")), context)
    space = Space.read()
    wide, narrow = space.list_groups(space.first[0]), space.list_groups(space.first[3])
    fold = documents.make_folds(3, 1)[0]
    kept = documents.make_vectors(wide, fold, "fold 0").kept
    shared = pickle.loads(pickle.dumps(documents.share(wide)))
    assert (shared.make_vectors(wide, fold, "fold 0").kept != kept).nnz == 0
    assert len(pickle.dumps(documents.share(narrow))) < len(pickle.dumps(shared)) / 2


def test_the_command_takes_a_backend(tmp_path: Path) -> None:
    table = write_questions(tmp_path / "questions.csv", documents=60)
    options = ["--configurations", "1", "--folds", "2", "--output", str(tmp_path / "out"), "-q"]
    arguments = ["tune", str(table), *options, "--data", str(tmp_path / "data"), "-j", "2"]
    done = CliRunner().invoke(group, [*arguments, "--backend", "threads"], standalone_mode=False)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "model").is_dir()
    wrong = CliRunner().invoke(group, [*arguments, "--backend", "threads", "--scheduler", "tcp://h:1"])
    assert wrong.exit_code != 0
