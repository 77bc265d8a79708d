"""A small table of questions, and tuning sessions on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from textcat.corpora.own.inspect import inspect_documents
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.spec.schema import render_first_experiment
from textcat.experiment.tune.session import TuneResult, TuneSettings, tune_experiment

STEMS = {
    "red": ["cards", "payment", "top up", "declined"],
    "green": ["transfers", "arrive", "pending", "late"],
    "blue": ["cash", "machine", "withdraw", "pin code"],
}
COMMON = ["why", "is", "my", "the", "it", "help", "not", "please"]


def write_questions(path: Path, *, documents: int = 150, several: bool = False, spoilt: bool = False) -> Path:
    """Write questions of three categories; `spoilt` gives test documents other words and labels."""
    draw = np.random.default_rng(5)
    lines = ["id,text,label,split"]
    for number in range(documents):
        name = sorted(STEMS)[number // 3 % 3]
        labels = [name, "odd"] if several and number % 5 == 0 else [name]
        own = draw.choice(STEMS[name] + STEMS["red"], 2)
        words = [*own, *draw.choice(COMMON, 4), *(["oddly"] if "odd" in labels else [])]
        split = "train" if number % 3 else "test"
        if spoilt and split == "test":
            words, labels = ["zzz", f"only{number}"], ["red"]
        lines.append(f"d{number},{' '.join(words)},{'|'.join(labels)},{split}")
    path.write_text("\n".join(lines) + "\n")
    return path


def read_own(path: Path) -> Experiment:
    """Return the experiment that `textcat init` writes for a table."""
    written = path.with_suffix(".yaml")
    written.write_text(render_first_experiment(inspect_documents(path), path.stem, path.name))
    return load_experiment(written)


def tune(
    folder: Path, experiment: Experiment, *, listener: Any = None, executor: Any = None, **settings: Any
) -> TuneResult:
    """Run a session with three folds in a folder."""
    chosen = TuneSettings(**{"folds": 3, "configurations": 3, **settings})
    return tune_experiment(
        experiment, RunContext(folder / "data", executor=executor), chosen, folder / "out", listener
    )
