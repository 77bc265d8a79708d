"""The stages from a user's own documents to a report: shared, resumed, forecast and repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.experiment.place import Place
from tests.experiment.small import WORDS
from textcat.experiment.context import RunContext
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_run_leaves_everything_that_is_promised(place: Place) -> None:
    output = place.textcat("run", str(place.experiment))
    names = {p.relative_to(place.report).as_posix() for p in place.report.rglob("*") if p.is_file()}
    assert {"results.json", "table.md", "table.csv", "table.tex", "report.html", "timings.json"} <= names
    assert any(n.startswith("figures/") and n.endswith(".svg") for n in names)
    assert any(n.startswith("figures/") and n.endswith(".png") for n in names)
    results = json.loads((place.report / "results.json").read_text())
    assert set(results["runs"]) == {"least_squares", "logistic", "bayes", "svm"}
    assert results["corpus"]["train_documents"] == 160
    for run in results["runs"].values():
        assert run["measures"]["micro.f1"] > 90
        assert len(run["signature"]) == 16
    assert "micro F1" in output


def test_the_stages_share_their_artifacts(place: Place) -> None:
    for stage in ("tokenize", "select", "train", "evaluate"):
        place.textcat(stage, str(place.experiment))
    before = place.stages()
    assert before == {
        "evaluate": 4, "intervals": 4, "select": 2, "threshold": 4, "tokenize": 1, "train": 4, "vectorize": 1,
    }  # fmt: skip
    place.textcat("run", str(place.experiment))
    assert place.stages() == before


def test_the_stages_print_what_they_made(place: Place) -> None:
    said = {
        stage: place.textcat(stage, str(place.experiment))
        for stage in ("tokenize", "select", "train", "evaluate")
    }
    records = [json.loads(line) for line in (place.folder / "documents.jsonl").read_text().splitlines()]
    words = sum(len(f"{record['title']} {record['body']}".split()) for record in records)
    assert (
        f"240 documents (160 training, 80 test), {words:,} words, 38 different terms, 3 categories"
        in said["tokenize"]
    )
    assert "0 of 240 documents have no term" in said["tokenize"]
    least_squares, logistic = said["select"].split("logistic:")
    assert "30 of 38 terms" in least_squares
    assert "10 of 38 terms" in logistic
    grain = next(line for line in logistic.splitlines() if line.startswith("grain")).split(maxsplit=2)
    assert len(grain[2].split(", ")) == 10
    assert set(grain[2].split(", ")) <= {
        f"{side}{word}" for side in ("", "title:") for word in WORDS["grain"]
    }
    rows = {line.split()[0]: line.split() for line in said["train"].splitlines() if line.strip()}
    assert rows["logistic"][1] == "3"
    assert float(rows["logistic"][2]) > 1
    assert f"textcat predict {place.data / 'models' / 'trial' / 'least_squares'} FILE" in said["train"]
    assert "micro F1" in said["evaluate"]
    assert not [stage for stage, text in said.items() if re.search("[0-9a-f]{64}", text)]
    assert re.search("[0-9a-f]{64}", place.textcat("tokenize", str(place.experiment), "-v"))


def test_a_run_says_how_to_get_and_use_its_model(place: Place) -> None:
    said = place.textcat("run", str(place.experiment))
    (line,) = [line for line in said.splitlines() if line.startswith("Models: ")]
    train, predict = line.removeprefix("Models: ").split("; ")
    place.textcat("train", train.split()[2])
    (place.folder / "new.txt").write_text("wheat and corn from the harvest\n")
    model = predict.split()[2]
    assert json.loads(place.textcat("predict", model, str(place.folder / "new.txt")))["labels"] == ["grain"]


def test_a_second_run_gives_the_same_bytes_and_makes_nothing(place: Place) -> None:
    place.textcat("run", str(place.experiment))
    first = (place.report / "results.json").read_bytes()
    times = {p: p.stat().st_mtime_ns for p in place.data.rglob("*.npy")}
    place.textcat("run", str(place.experiment))
    assert (place.report / "results.json").read_bytes() == first
    assert {p: p.stat().st_mtime_ns for p in place.data.rglob("*.npy")} == times


def test_a_dry_run_tells_the_truth_and_makes_nothing(place: Place) -> None:
    forecast = place.textcat("run", str(place.experiment), "--dry-run")
    assert "to do" in forecast
    assert not (place.data / "cache" / "tokenize").exists()
    place.textcat("run", str(place.experiment))
    assert "to do" not in place.textcat("run", str(place.experiment), "--dry-run")
    place.experiment.write_text(place.experiment.read_text().replace("features: 30", "features: 20"))
    lines = place.textcat("run", str(place.experiment), "--dry-run").splitlines()
    todo = [line for line in lines if "to do" in line]
    assert {line.split(": to do: ")[1] for line in todo} == {"selection.features differs from the cache"}
    assert not any(line.startswith(("tokenize", "vectorize", "train CLG")) for line in todo)


def test_only_what_changed_is_made_again(place: Place) -> None:
    place.textcat("run", str(place.experiment))
    before = place.stages()
    place.experiment.write_text(place.experiment.read_text().replace("lam: 0.001", "lam: 0.01"))
    place.textcat("run", str(place.experiment))
    after = place.stages()
    grown = {stage: after[stage] - before[stage] for stage in after if after[stage] != before[stage]}
    assert grown == {"train": 1, "threshold": 1, "evaluate": 1, "intervals": 1}


def test_predict_decides_as_evaluate_does(place: Place) -> None:
    place.textcat("train", str(place.experiment))
    context = RunContext(place.data)
    plan, _ = run_experiment(load_experiment(place.experiment), context)
    records = [json.loads(line) for line in (place.folder / "documents.jsonl").read_text().splitlines()]
    tests = place.folder / "tests.jsonl"
    tests.write_text("".join(json.dumps(r) + "\n" for r in records if r["side"] == "test"))
    for chain in plan.chains:
        folder = chain.evaluated.build_folder(context)
        scores = np.load(folder / "scores.npy")
        model = place.data / "models" / "trial" / chain.run
        lines = place.textcat("predict", str(model), str(tests), "--scores").splitlines()
        predicted = [json.loads(line) for line in lines]
        assert [p["id"] for p in predicted] == [r["id"] for r in records if r["side"] == "test"]
        ours = np.array([list(p["scores"].values()) for p in predicted])
        np.testing.assert_allclose(ours, scores, rtol=1e-5, atol=1e-6)


def test_explain_names_the_words_of_a_category(place: Place) -> None:
    place.textcat("train", str(place.experiment))
    model = str(place.data / "models" / "trial" / "logistic")
    facts = json.loads(place.textcat("explain", model, "-c", "grain", "--json"))
    assert {"wheat", "corn", "harvest", "bushels", "tonnes"} & set(facts[0]["for"])
    story = place.folder / "story.txt"
    story.write_text("the vessel left port with cargo")
    facts = json.loads(place.textcat("explain", model, str(story), "--json"))
    assert facts[0]["heading"].startswith("ships: accepted")


def test_random_splits_are_averaged_and_folds_pooled(place: Place) -> None:
    text = place.experiment.read_text()
    for kind, measure in (("splits", "micro.f1.mean"), ("folds", "micro.f1")):
        place.experiment.write_text(text + f"resample: {{kind: {kind}, number: 3}}\n")
        place.textcat("run", str(place.experiment))
        results = json.loads((place.report / "results.json").read_text())
        assert results["runs"]["least_squares"]["measures"][measure] > 90
