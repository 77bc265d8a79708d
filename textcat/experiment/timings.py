"""timings.json: the seconds that stages and trainings took, apart from results that must not move."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textcat.experiment.pipeline import Plan
from textcat.experiment.results_file import TIMINGS, read_timings
from textcat.experiment.runner import Timings
from textcat.experiment.steps.step import Workshop
from textcat.store.arrays import read_json
from textcat.store.files import write_whole


def timings_of(plan: Plan, workshop: Workshop, timings: Timings) -> dict[str, Any]:
    """Seconds by stage, and by run as measures: of each category's training, and how they grow."""
    runs: dict[str, dict[str, float]] = {}
    for chain in plan.chains:
        if chain.repeat == 0:
            description = read_json(chain.trained.artifact(workshop).folder, "model")
            runs[chain.run] = _of_training(description, plan)
    for name, members in plan.experiment.scalings.items():
        documents = [plan.experiment.runs[member].train_documents or 0 for member in members]
        seconds = [runs[member].get("training.seconds", 0.0) for member in members]
        exponent = growth(documents, seconds)
        runs[name] = {"scaling.exponent": round(exponent, 4)} if math.isfinite(exponent) else {}
    stages = {stage: round(seconds, 3) for stage, seconds in timings.seconds.items()}
    return {"stages": stages, "built": dict(timings.built), "runs": runs}


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log seconds against log sizes."""
    if min(sizes) <= 0 or min(seconds) <= 0:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _of_training(description: Mapping[str, Any], plan: Plan) -> dict[str, float]:
    """Seconds as the certificates say; categories that were trained together share theirs evenly."""
    seconds = [entry.get("seconds") for entry in description.get("certificate", [])]
    known = [float(value) for value in seconds if value is not None]
    if not known:
        return {}
    measures = {"training.seconds": round(sum(known), 4)}
    learned = plan.experiment.corpus.learn or []
    if len(known) == len(learned):
        measures |= {
            f"category.{name}.train_seconds": round(value, 4)
            for name, value in zip(learned, known, strict=True)
        }
    return measures


def write_timings(folder: Path, timings: Mapping[str, Any]) -> dict[str, Any]:
    """Write timings.json and return its contents; stages that found everything ready keep their seconds."""
    before = read_timings(folder / TIMINGS).get("stages", {})
    stages = {
        stage: seconds if timings["built"].get(stage) else before.get(stage, seconds)
        for stage, seconds in timings["stages"].items()
    }
    kept = {"stages": stages, "runs": timings["runs"]}
    write_whole(folder / TIMINGS, json.dumps(kept, indent=1, sort_keys=True) + "\n")
    return kept
