"""Every option of every paper's readings can be run: on made documents in the place of the paper's collection."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textcat.experiment.context import RunContext
from textcat.experiment.run.multiverse import Laboratory
from textcat.experiment.run.reading_plan import ReadableExperiment
from textcat.experiment.run.runner import plan_experiment
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.experiment.spec.loading import load_experiment
from textcat.published.printed_tables import PAPERS
from textcat.published.readings import Readings, load_readings
from textcat.yaml_reader import YamlSource

TOPICS = {"earn": "profit", "acq": "merger", "money-fx": "dollar", "grain": "wheat"}
FEWER = {"passes": 3, "iterations": 4, "checkpoints": None, "steps": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty documents of four topics, with every field that a patch names."""
    folder = tmp_path_factory.mktemp("made")
    generator = np.random.default_rng(3)
    names = list(TOPICS)
    with (folder / "documents.jsonl").open("w") as stream:
        for number in range(80):
            topic = names[number % 4]
            words = [TOPICS[topic]] * 3 + [f"word{n} it's U.S." for n in generator.integers(0, 30, 12)]
            fields = {
                name: " ".join(generator.permutation(words))
                for name in ("title", "dateline", "body", "headers", "subject")
            }
            side = "train" if number % 5 else "test"
            stream.write(json.dumps({"id": f"d{number}", "label": topic, "side": side, **fields}) + "\n")
    return folder


def shrink(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The experiment on the made documents, with few passes, dimensions and grid points."""
    corpus = {
        "name": "jsonl",
        "path": str(folder / "documents.jsonl"),
        "options": {"text": ["title", "dateline", "body", "headers", "subject"], "side": "side"},
        "single_label": data["corpus"].get("single_label", False),
    }
    runs = {name: shrink_run(run) for name, run in list(data["runs"].items())}
    kept = {key: value for key, value in data.items() if key not in ("tables", "figures")}
    shrunk = kept | {"corpus": corpus, "runs": runs}
    if "projection" in data:
        shrunk["projection"] = data["projection"] | {"dimensions": 3, "computed": 5}
    if "vector" in data:
        shrunk["vector"] = {k: v for k, v in data["vector"].items() if not k.startswith("minimum")}
    return shrunk


def shrink_run(run: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(run.get("parameters", {}))
    for key, value in FEWER.items():
        if key in parameters:
            parameters[key] = value
    small = run | {"parameters": {k: v for k, v in parameters.items() if v is not None or k == "norm"}}
    if "search" in run:
        small["search"] = run["search"] | {"grid": run["search"]["grid"][:2]}
    if "projection" in run:
        small["projection"] = run["projection"] | {"dimensions": 3, "computed": 5}
    return small


def choose_experiments(paper: str, readings: Readings) -> dict[tuple[str, str], str]:
    """(question, option) -> the first experiment with tables in which the option makes a difference."""
    chosen: dict[tuple[str, str], str] = {}
    for name in find_experiment_files():
        experiment = load_experiment(name)
        if experiment.paper != paper or not experiment.tables:
            continue
        for question, same in ReadableExperiment.load(name, readings).find_effective_options().items():
            for option in same:
                chosen.setdefault((question, option), name)
    return chosen


def leave_collection_out(readings: Readings) -> Readings:
    """The readings without questions about the files of a collection, which made documents do not have."""
    kept = {
        name: question
        for name, question in readings.questions.items()
        if not any(
            path.startswith("corpus.") for option in question.options.values() for path in option.patch
        )
    }
    return readings.model_copy(update={"questions": kept})


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_option_runs(paper: str, folder: Path, tmp_path: Path) -> None:
    readings = leave_collection_out(load_readings(paper))
    context = RunContext(tmp_path)
    laboratory = Laboratory.open(context, lambda what: None, keep=True)
    for (question, option), name in choose_experiments(paper, readings).items():
        whole = ReadableExperiment.load(name, readings)
        source = YamlSource(shrink(whole.source.data, folder), whole.source.places)
        experiment = replace(whole, source=source).apply({question: option})
        plan = plan_experiment(experiment, context)
        assert plan is not None
        assert set(experiment.runs) <= set(laboratory.measure(plan)[0]), (question, option)
