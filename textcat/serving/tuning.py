"""Find the best model for texts in memory: `textcat tune` as a function."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from textcat.experiment.context import RunContext
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.tune.session import TuneSettings, tune_experiment
from textcat.serving.categorizer import Categorizer
from textcat.serving.training import USUAL_SETTINGS, check_labels, train_categorizer

# One document in this many is held back while the search runs; the model is trained on all.
HELD_BACK = 10


def tune(
    texts: Any,
    labels: Any,
    *,
    time: float | None = 60.0,
    metric: str | None = None,
    folds: int = 5,
    configurations: int | None = None,
    seed: int = 1,
    jobs: int = 1,
) -> Categorizer:
    """Search features, learner and thresholds for `time` seconds, and train the best model on all documents.

    `metric` is accuracy for one label a document and micro.f1 for several unless another is named; with
    `configurations` and without `time` the search is the same each time.
    """
    texts, labels = list(texts), list(labels)
    single = check_labels(texts, labels)
    with TemporaryDirectory(prefix="textcat-tune-") as scratch:
        folder = Path(scratch)
        experiment = load_experiment(_write_experiment(folder, texts, labels, single_label=single))
        settings = TuneSettings(metric, folds, configurations, time, seed)
        found = tune_experiment(
            experiment, RunContext(folder / "data", jobs=jobs), settings, folder / "tuned"
        )
        run = next(iter(found.experiment.runs.values()))
    kept = run.model_dump(mode="json", exclude_none=True, exclude={"evaluation", "title"})
    return train_categorizer(texts, labels, kept, seed=experiment.seed, jobs=jobs)


def _write_experiment(folder: Path, texts: Any, labels: Any, *, single_label: bool) -> Path:
    """Write documents and an experiment file with the usual settings; return the file."""
    held_back = min(HELD_BACK, len(texts))
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as stream:
        for number, (text, own) in enumerate(zip(texts, labels, strict=True)):
            side = "test" if number % held_back == held_back - 1 else "train"
            names = [own] if isinstance(own, str) else list(own)
            record = {"id": str(number), "text": text, "labels": names, "side": side}
            stream.write(json.dumps(record) + "\n")
    options = {"id": "id", "text": ["text"], "label": "labels", "side": "side"}
    corpus = {"name": "jsonl", "path": "documents.jsonl", "single_label": single_label, "options": options}
    path = folder / "experiment.yaml"
    path.write_text(
        json.dumps(
            {
                "corpus": corpus,
                "text": USUAL_SETTINGS["text"],
                "vector": USUAL_SETTINGS["vector"],
                "evaluation": {"zero_division": "skip"},
                "runs": {"model": {key: USUAL_SETTINGS[key] for key in ("learner", "parameters")}},
            }
        ),
        encoding="utf-8",
    )
    return path
