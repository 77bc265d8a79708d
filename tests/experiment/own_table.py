"""A small experiment on a user's own table, carried out from the file to the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import Timings, run_experiment
from textcat.experiment.spec.loading import load_experiment

WORDS = [f"{first}{last}" for first in "bcdfghklmn" for last in ("ala", "ele", "ili", "olo", "ulu")]


def table(folder: Path, documents: int = 120, single: bool = False) -> Path:
    """Documents of three classes with words of their own among common ones."""
    draw = np.random.default_rng(3)
    lines = ["id,text,labels,split"]
    for number in range(documents):
        kind = number % 3
        labels = ["red", "green", "blue"][kind : kind + 1]
        if not single and number % 7 == 0:
            labels.append("odd")
        own = WORDS[kind * 5 : kind * 5 + 5]
        words = [*draw.choice(own, 3), *draw.choice(WORDS, 4), *(["oddword"] if "odd" in labels else [])]
        split = "train" if number % 4 else "test"
        lines.append(f"d{number},{' '.join(words)},{' '.join(labels)},{split}")
    path = folder / "documents.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def carried_out(
    folder: Path, settings: dict[str, Any], single: bool = False
) -> tuple[Plan, RunContext, Timings]:
    """The experiment with these settings over the defaults of a small one, made in `folder`."""
    if not (folder / "documents.csv").exists():
        table(folder, single=single)
    whole = {
        "title": "small",
        **settings,
        "corpus": {
            "name": "csv",
            "path": "documents.csv",
            "options": {"id": "id", "label": "labels", "side": "split", "label_separator": " "},
            "categories": "all",
            **settings.get("corpus", {}),
        },
        "text": {"fields": ["text"]},
    }
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(whole))
    context = RunContext(folder / "data")
    plan, timings = run_experiment(load_experiment(path), context)
    return plan, context, timings


def results_of(folder: Path, settings: dict[str, Any], single: bool = False) -> dict[str, Any]:
    """Its results."""
    plan, context, _ = carried_out(folder, settings, single)
    return collect_results(plan, context)
