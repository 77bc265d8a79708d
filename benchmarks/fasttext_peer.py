"""fastText's autotune as a peer of `textcat tune`: one thread, fixed seeds, a limit in seconds of the clock.

Documents with one label are measured by accuracy. Documents with several labels get fastText's one-vs-all loss and one
threshold for all labels, the best for micro F1 on the fold that autotune holds out; autotune itself compares models by
the F1 of the most probable label.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row
from benchmarks.tune_collections import LabelledTexts, TuneTask
from textcat.store.files import write_atomically

_PREFIX = "__label__"
_ARGUMENTS = ("lr", "epoch", "dim", "wordNgrams", "minn", "maxn", "bucket")


def measure_fasttext(task: TuneTask, fold: tuple[Any, Any], seconds: int, folder: Path) -> Row:
    """Return the metric of the model that autotune finds on a fold (kept, held), trained on all training documents."""
    import fasttext

    started = time.process_time()
    kept, held = (
        LabelledTexts([task.train.texts[k] for k in rows], task.train.labels[rows]) for rows in fold
    )
    shuffle = np.random.default_rng(1).permutation
    for name, documents in (("kept", kept), ("held", held), ("all", task.train)):
        # fastText reads documents in the order of the file; collections may be sorted by label.
        lines = shuffle(np.array(_format_lines(documents), dtype=object))
        write_atomically(folder / name, "".join(map("{}\n".format, lines)))
    shared: dict[str, Any] = {"thread": 1, "seed": 1, "verbose": 0}
    shared |= {} if task.single_label else {"loss": "ova"}
    searched = fasttext.train_supervised(
        str(folder / "kept"),
        autotuneValidationFile=str(folder / "held"),
        autotuneDuration=seconds,
        **shared,
    )
    found = searched.f.getArgs()
    arguments = {name: getattr(found, name) for name in _ARGUMENTS}
    model = fasttext.train_supervised(str(folder / "all"), **arguments, **shared)
    scores = _score_texts(model, task.test)
    if task.single_label:
        value = float(np.mean(scores.argmax(axis=1) == task.test.labels.argmax(axis=1)))
    else:
        threshold = _find_best_threshold(_score_texts(searched, held), held.labels)
        value = _compute_micro_f1(scores >= threshold, task.test.labels)
    return {
        "fasttext": 100.0 * value,
        "fasttext_limit": seconds,
        "fasttext_seconds": round(time.process_time() - started, 3),
        "fasttext_best": ", ".join(f"{name} {value:g}" for name, value in arguments.items()),
    }


def _format_lines(documents: LabelledTexts) -> list[str]:
    return [
        " ".join([*(f"{_PREFIX}{column}" for column in np.flatnonzero(row)), _split_text(text)])
        for text, row in zip(documents.texts, documents.labels, strict=True)
    ]


def _split_text(text: str) -> str:
    """Return words and marks in lower case with spaces between, as fastText's tutorial does."""
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


def _score_texts(model: Any, documents: LabelledTexts) -> NDArray[np.float64]:
    """Return the probability of each label, documents x labels; -1 for labels that the model does not have."""
    scores = np.full(documents.labels.shape, -1.0)
    for row, text in zip(scores, documents.texts, strict=True):
        # The package's own predict fails with numpy 2.
        for probability, label in model.f.predict(_split_text(text) + "\n", -1, 0.0, "strict"):
            row[int(label.removeprefix(_PREFIX))] = probability
    return scores


def _find_best_threshold(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """Return the score from which on labels are assigned for the highest micro F1."""
    order = np.argsort(-scores, axis=None, kind="stable")
    hits = np.cumsum(labels.ravel()[order])
    values = 2 * hits / (np.arange(1, len(order) + 1) + labels.sum())
    return float(scores.ravel()[order[values.argmax()]])


def _compute_micro_f1(assigned: NDArray[np.bool_], labels: NDArray[np.bool_]) -> float:
    return float(2 * (assigned & labels).sum() / max(assigned.sum() + labels.sum(), 1))
