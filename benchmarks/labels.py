"""Train, store and predict with many labels: textcat's one-vs-rest and label trees, omikuji, LibMultiLabel.

Each measurement runs in its own process, so that its peak memory is its own. All tools read the same vectors; omikuji
reads its text format, within its time.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generate import ManyLabels, generate_many_labels
from benchmarks.machine import PeakMemory, run_in_process
from benchmarks.many_labels import read_many_labels, write_many_labels
from textcat.errors import StageFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

RANKS = (1, 3, 5)
# One-vs-rest holds documents x labels as bits and trains every label on all documents.
MOST_ONE_VS_REST = 100_000_000

Ranking = NDArray[np.int64]


@dataclass(frozen=True)
class LabelsRequest:
    """One measurement: a tool on the collection in a folder."""

    tool: str
    folder: str
    jobs: int


@dataclass(frozen=True)
class LabelsTool:
    """A tool: the modules it needs, and its functions to train, to save, and to rank labels of documents."""

    modules: tuple[str, ...]
    train: Callable[[ManyLabels, LabelsRequest], Any]
    save: Callable[[Any, Path], None]
    rank: Callable[[Any, ManyLabels], Ranking]


def plan_labels(folder: Path, jobs: int, names: Iterable[str]) -> list[LabelsRequest]:
    """Return the measurements of tools that are installed."""
    return [
        LabelsRequest(name, str(folder), jobs)
        for name in names
        if all(find_spec(module) is not None for module in TOOLS[name].modules)
    ]


def bench_labels(documents: int, jobs: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per tool, and one for each that is not installed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_many_labels(folder, generate_many_labels(documents))
        planned = plan_labels(folder, jobs, names)
        for request in planned:
            yield run_labels_worker(request)
        for name in names:
            if name not in {request.tool for request in planned}:
                yield {"tool": name, "documents": documents, "note": "not installed"}


def run_labels_worker(request: LabelsRequest) -> dict[str, Any]:
    """Run one measurement in its own process and return its row; a failure is a row with its last line."""
    try:
        return run_in_process("benchmarks.labels", asdict(request))
    except StageFailedError as error:
        return {"tool": request.tool, "documents": None, "note": error.what}


def measure_labels(request: LabelsRequest) -> dict[str, Any]:
    """Return seconds, memory, size of the model, and P@k of one tool."""
    data, tool = read_many_labels(Path(request.folder)), TOOLS[request.tool]
    with PeakMemory() as memory:
        used, started = time.process_time(), time.perf_counter()
        model = tool.train(data, request)
        seconds, wall = time.process_time() - used, time.perf_counter() - started
    with tempfile.TemporaryDirectory() as temporary:
        tool.save(model, Path(temporary))
        size = sum(path.stat().st_size for path in Path(temporary).rglob("*") if path.is_file())
    tool.rank(model, ManyLabels(data.X, data.Y, data.held_rows[:20], data.held_labels[:20]))
    used = time.process_time()
    ranking = tool.rank(model, data)
    predict = (time.process_time() - used) / max(data.held_rows.shape[0], 1)
    return {
        "tool": request.tool,
        "documents": data.X.shape[0],
        "labels": data.Y.shape[1],
        "features": data.X.shape[1],
        "nonzeros": int(data.X.nnz),
        "seconds": round(seconds, 2),
        "wall_seconds": round(wall, 2),
        "threads": request.jobs,
        "peak_megabytes": round(memory.resident),
        "model_megabytes": round(size / 1e6, 1),
        "milliseconds a document": round(1000 * predict, 3),
        **measure_precision(ranking, data),
    }


def measure_precision(ranking: Ranking, data: ManyLabels) -> dict[str, float]:
    """Return P@k in percent, of test documents with a label."""
    hits = np.array([
        [label in own for label in row]
        for row, own in zip(ranking.tolist(), _list_label_sets(data), strict=True)
        if own
    ])  # fmt: skip
    return {f"P@{k}": round(float(100 * hits[:, :k].mean()), 2) for k in RANKS}


def _list_label_sets(data: ManyLabels) -> list[set[int]]:
    return [set(row.tolist()) for row in np.split(data.held_labels.indices, data.held_labels.indptr[1:-1])]


def _train_tree(trees: int) -> Callable[[ManyLabels, LabelsRequest], Any]:
    def train(data: ManyLabels, request: LabelsRequest) -> Any:
        from textcat.learners.label_tree_training import fit_label_tree
        from textcat.learners.parameters import LabelTreeParameters

        return fit_label_tree(data.X, data.Y, LabelTreeParameters(trees=trees), jobs=request.jobs)

    return train


def _rank_tree(model: Any, data: ManyLabels) -> Ranking:
    found = model.find_labels(data.held_rows)
    ranking = np.full((found.shape[0], max(RANKS)), -1, dtype=np.int64)
    for row in range(found.shape[0]):
        part = slice(found.indptr[row], found.indptr[row + 1])
        order = np.lexsort((found.indices[part], -found.data[part]))[: max(RANKS)]
        ranking[row, : len(order)] = found.indices[part][order]
    return ranking


def _save_own_model(model: Any, folder: Path) -> None:
    from textcat.experiment.steps.models import save_model

    save_model(folder, model)


def _train_one_vs_rest(data: ManyLabels, request: LabelsRequest) -> Any:
    from textcat.linear import fit
    from textcat.linear.regularization import lam_from_c

    if data.Y.shape[0] * data.Y.shape[1] > MOST_ONE_VS_REST:
        raise MemoryError("too many labels for one against the rest")
    return fit(
        data.X, data.Y.toarray(), loss="squared_hinge", algorithm="fast", tol=1e-3, prune=0.02,
        lam=lam_from_c(1.0, data.X.shape[0]), n_jobs=request.jobs,
    )  # fmt: skip


def _rank_one_vs_rest(model: Any, data: ManyLabels) -> Ranking:
    from textcat.evaluation.ranking import TopLabels

    top = TopLabels.make_empty(data.held_rows.shape[0], max(RANKS))
    for first in range(0, data.Y.shape[1], 512):
        top.add(model.select_categories(first, first + 512).scores(data.held_rows), first)
    return top.labels


def _train_omikuji(data: ManyLabels, request: LabelsRequest) -> Any:
    import omikuji

    return omikuji.Model.train_on_data(str(Path(request.folder) / "train.txt"), n_threads=request.jobs)


def _save_omikuji(model: Any, folder: Path) -> None:
    model.save(str(folder / "model"))


def _rank_omikuji(model: Any, data: ManyLabels) -> Ranking:
    rows = data.held_rows
    ranking = np.full((rows.shape[0], max(RANKS)), -1, dtype=np.int64)
    for row in range(rows.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        pairs = list(zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True))
        best = [label for label, _ in model.predict(pairs, top_k=max(RANKS))]
        ranking[row, : len(best)] = best
    return ranking


def _train_libmultilabel(data: ManyLabels, request: LabelsRequest) -> Any:
    from libmultilabel import linear

    options = f"-s 1 -c 1 -B 1 -e 0.1 -m {request.jobs} -q"
    return linear.train_tree(data.Y.astype(np.int64), data.X.astype(np.float64), options, verbose=False)


def _save_libmultilabel(model: Any, folder: Path) -> None:
    import joblib

    joblib.dump(model, folder / "model.joblib")


def _rank_libmultilabel(model: Any, data: ManyLabels) -> Ranking:
    from libmultilabel import linear

    parts = []
    for first in range(0, data.held_rows.shape[0], 1000):
        scores = linear.predict_values(model, data.held_rows[first : first + 1000].astype(np.float64))
        parts.append(np.argsort(-np.asarray(scores), axis=1, kind="stable")[:, : max(RANKS)])
    return np.concatenate(parts)


TOOLS: dict[str, LabelsTool] = {
    "textcat, one tree": LabelsTool((), _train_tree(1), _save_own_model, _rank_tree),
    "textcat, three trees": LabelsTool((), _train_tree(3), _save_own_model, _rank_tree),
    "textcat, one-vs-rest": LabelsTool((), _train_one_vs_rest, _save_own_model, _rank_one_vs_rest),
    "omikuji, three trees": LabelsTool(("omikuji",), _train_omikuji, _save_omikuji, _rank_omikuji),
    "LibMultiLabel, tree": LabelsTool(
        ("libmultilabel", "liblinear"), _train_libmultilabel, _save_libmultilabel, _rank_libmultilabel
    ),
}


if __name__ == "__main__":
    print(json.dumps(measure_labels(LabelsRequest(**json.loads(sys.stdin.read())))))  # noqa: T201 - the answer
