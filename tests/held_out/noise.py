"""Documents of random words whose labels are coin flips: whatever is held out is at chance, or has seen the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.held_out import load_held_out_scores

DOCUMENTS, WORDS, LENGTH, TESTED = 300, 3000, 25, 100
# Three standard errors of a share of `DOCUMENTS` coin flips, in percent.
CHANCE = 300 * 0.5 / DOCUMENTS**0.5


def write_noise(
    path: Path, *, several: bool = False, copies: int = 1, sides: bool = True, seed: int = 3
) -> Path:
    """Write a table of `DOCUMENTS` training documents, each `copies` times, and `TESTED` test documents.

    Each document has one of two labels, or with `several` each of four labels with probability 0.4.
    """
    draw = np.random.default_rng(seed)
    lines = ["id,text,label" + (",split" if sides else "")]
    for number in range(DOCUMENTS + TESTED if sides else DOCUMENTS):
        words = " ".join(f"w{word}" for word in draw.integers(WORDS, size=LENGTH))
        label = "heads" if draw.random() < 0.5 else "tails"
        if several:
            label = "|".join(name for name in ("north", "east", "south", "west") if draw.random() < 0.4)
        split = "train" if number < DOCUMENTS else "test"
        for copy in range(copies if number < DOCUMENTS else 1):
            lines.append(f"d{number}c{copy},{words},{label}" + (f",{split}" if sides else ""))
    path.write_text("\n".join(lines) + "\n")
    return path


def make_experiment(folder: Path, *, several: bool = False, **settings: Any) -> Experiment:
    """Return an experiment on the table noise.csv of a folder; it is written there if it is missing."""
    table = folder / "noise.csv"
    if not table.exists():
        write_noise(table, several=several)
    sided = table.read_text().startswith("id,text,label,split")
    options: dict[str, Any] = {"id": "id", "text": ["text"], "label": "label"}
    options |= {"side": "split"} if sided else {"ratio": 3, "seed": 1}
    options |= {"label_separator": "|"} if several else {}
    data: dict[str, Any] = {
        "corpus": {"name": "csv", "path": "noise.csv", "single_label": not several, "options": options},
        "text": {"fields": ["text"]},
        "vector": {"weighting": "log_tf_idf", "cosine": True},
        "runs": {"only": {"learner": "linear", "parameters": LINEAR}},
    }
    data["corpus"]["options"] |= settings.pop("options", {})
    path = folder / "noise.yaml"
    path.write_text(yaml.safe_dump(data | settings))
    return load_experiment(path)


LINEAR = {"loss": "squared_hinge", "cost": 1, "algorithm": "fast", "tolerance": 1.0e-3}


def carry_out(folder: Path, experiment: Experiment, until: str = "evaluate") -> tuple[Plan, RunContext]:
    """Run an experiment with the data in a folder."""
    context = RunContext(folder / "data")
    return run_experiment(experiment, context, until)[0], context


def score_held_out(chain: Chain, context: RunContext, folds: int = 5) -> tuple[Any, Any]:
    """Return held-out scores and labels of the training documents of a run."""
    problem = chain.assemble_problem(context)
    scores, _ = load_held_out_scores(context, chain.settings, problem, chain.trained, folds)
    return scores, problem.labels[: problem.documents]


def measure_accuracy(scores: Any, labels: Any) -> float:
    """Return the percentage of documents whose highest score is their label's."""
    return float(100.0 * labels[np.arange(len(labels)), scores.argmax(axis=1)].mean())
