"""Two Dask workers train, set thresholds and predict by blocks of labels; every stored byte is that of one process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from textcat.cli.main import group
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps import held_out, models, train
from textcat.parallel import Executor, start_workers

pytest.importorskip("textcat.parallel.dask_cluster", reason="Dask is not installed")

DOCUMENTS, LABELS, TERMS = 700, 90, 400
EXPERIMENT = """title: Many labels
corpus: {name: svmlight, path: train.svm, options: {test: test.svm}}
selection: {features: all}
evaluation: {zero_division: 0, ranking: [1, 3, 5], frequency_groups: true, largest: []}
runs:
  one_vs_rest: {learner: linear, parameters: &fast {loss: squared_hinge, cost: 1, algorithm: fast, prune: 0.02}}
  thresholds:
    learner: linear
    parameters: *fast
    threshold: {rule: scut-fbr, fallback: 1, cross_validated: true, folds: 2}
  tuned: {learner: linear, parameters: *fast, threshold: {rule: tuned}}
  calibrated:
    {learner: linear, parameters: *fast, calibration: {method: platt, folds: 2}, threshold: {rule: expected-f1}}
  ranked: {learner: linear, parameters: *fast, threshold: {rule: rcut, per_document: 3}}
  tree: {learner: label_tree, parameters: {trees: 2, leaf_labels: 20, branches: 4, most_labels: 30}}
"""


@dataclass
class RecordingExecutor:
    """Passes tasks on, and notes how often documents are sent and what comes back."""

    executor: Executor
    sent: list[int] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.executor.size

    def map_items(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]
    ) -> Iterator[Any]:
        self.sent.append(len(pickle.dumps(shared)))
        self.tasks.append(len(items))
        for result in self.executor.map_items(function, shared, items):
            self.returned.append(len(pickle.dumps(result)))
            yield result


def write_vectors(folder: Path) -> Path:
    """Write generated documents, each with words of its labels, and the experiment; return its file."""
    random = np.random.default_rng(3)
    labels = random.random((DOCUMENTS, LABELS)) < np.geomspace(0.2, 0.01, LABELS)
    words = (random.random((LABELS, TERMS)) < 0.03).astype(float)
    noise = sp.random_array((DOCUMENTS, TERMS), density=0.03, rng=random)
    X = sp.csr_array(np.log1p(labels @ words) + noise)
    lines = [
        ",".join(f"l{k}" for k in np.flatnonzero(labels[row]))
        + "".join(f" {X.indices[t] + 1}:{X.data[t]:.4f}" for t in range(X.indptr[row], X.indptr[row + 1]))
        for row in range(DOCUMENTS)
    ]
    (folder / "train.svm").write_text("\n".join(lines[:500]) + "\n")
    (folder / "test.svm").write_text("\n".join(lines[500:]) + "\n")
    (folder / "many.yaml").write_text(EXPERIMENT)
    return folder / "many.yaml"


@pytest.fixture(scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "MAX_DENSE_SCORES", 0)
        patch.setattr(models, "MAX_BLOCK_CATEGORIES", 40)
        patch.setattr(held_out, "MAX_HELD_OUT_SCORES", 20_000)
        patch.setattr(train, "PRUNED_AT_ONCE", 40)
        patch.setattr(models, "CHUNK", 150)
        yield


@pytest.fixture(scope="module")
def finished(small_blocks: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Plan, Any]]:
    """The experiment as one process runs it, and as two workers do, with what was recorded."""
    file = write_vectors(tmp_path_factory.mktemp("vectors"))
    found: dict[str, tuple[Plan, Any]] = {}
    with start_workers("dask", 2) as executor:
        assert executor is not None
        recorder = RecordingExecutor(executor)
        for name, given in (("one process", None), ("two workers", recorder)):
            context = RunContext(tmp_path_factory.mktemp("data"), executor=given)
            plan, _ = run_experiment(load_experiment(file), context)
            results = collect_results(plan, context)
            found[name] = (plan, (context, results, recorder))
    return found


def read_artifacts(plan: Plan, context: RunContext) -> dict[str, bytes]:
    """The arrays and measures of trained, decided and evaluated steps; other files hold times."""
    steps = [
        (chain.run, step)
        for chain in plan.chains
        for step in (chain.trained, chain.decided, chain.calibrated, chain.evaluated)
        if step is not None
    ]
    return {
        f"{run}/{step.recipe.stage}/{path.name}": path.read_bytes()
        for run, step in steps
        for path in sorted(step.build_folder(context).iterdir())
        if path.suffix == ".npy" or path.name in ("measures.json", "series.json")
    }


def drop_times(results: Any) -> Any:
    if isinstance(results, dict):
        return {key: drop_times(value) for key, value in results.items() if "seconds" not in key}
    return results


def test_two_workers_store_the_same_bytes(finished: dict[str, tuple[Plan, Any]]) -> None:
    (plan, (context, results, _)), (other, (there, same, _)) = finished.values()
    expected, found = read_artifacts(plan, context), read_artifacts(other, there)
    assert set(expected) == set(found)
    assert {"one_vs_rest/train/part0.coef.data.npy", "tree/train/model.weights.data.npy"} <= set(expected)
    assert [name for name in expected if expected[name] != found[name]] == []
    assert drop_times(results) == drop_times(same)


def test_documents_are_sent_once_for_each_step_and_no_scores_come_back(
    finished: dict[str, tuple[Plan, Any]],
) -> None:
    recorder = finished["two workers"][1][2]
    # Two models, thresholds of three runs, and test and training documents of six runs.
    assert len(recorder.sent) == 2 + 3 + 2 * 6
    assert min(recorder.tasks) >= 2
    block_of_scores = 500 * 40 * 8
    assert max(recorder.returned) < block_of_scores


def test_a_run_makes_dense_labels_of_blocks_only(
    small_blocks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From vectors to report: labels of all documents and categories are never an array."""
    file, sizes, whole = write_vectors(tmp_path), [], sp.csr_array.toarray
    text = file.read_text()
    file.write_text(text.partition("  thresholds:")[0] + text[text.index("  tree:") :])

    def record(matrix: Any, *arguments: Any, **named: Any) -> Any:
        if matrix.dtype == np.bool_:
            sizes.append(matrix.shape)
        return whole(matrix, *arguments, **named)

    monkeypatch.setattr(sp.csr_array, "toarray", record)
    where = ["--data", str(tmp_path / "data"), "--results", str(tmp_path / "results")]
    done = CliRunner().invoke(group, ["run", str(file), *where], standalone_mode=False)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "results" / "many" / "report.html").exists()
    assert max(rows * columns for rows, columns in sizes) == 500 * 40
