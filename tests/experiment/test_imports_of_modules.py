"""`imports:` of an experiment: modules that register methods, their part in keys, in workers and in models."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from tests.documents.page import read_steps

CALL = "from textcat.cli.main import main; main()"
EXAMPLE = {
    step.name: step.text for step in read_steps(PROJECT / "docs" / "configuration.md") if step.kind == "file"
}
# A collection, a loss, a threshold rule and a measure.
MORE = '''
from hashlib import sha256

import numpy as np

from textcat.corpora import Document
from textcat.corpora.registry import register_collection
from textcat.evaluation.run_measures import register_measure
from textcat.linear.losses import Loss, register_loss
from textcat.thresholds.rules import register_rule


class Lines:
    """A line a document: side, label and text."""

    name, categories = "lines", ("even", "odd")

    def __init__(self, path, *, split=None, upper=False):
        self.path, self.upper = path, upper

    def documents(self):
        for number, line in enumerate(self.path.read_text().splitlines()):
            side, label, text = line.split(" ", 2)
            yield Document(str(number), {"text": text.upper() if self.upper else text}, (label,), side)

    def fingerprint(self):
        return sha256(self.path.read_bytes()).hexdigest()


def smooth(r):
    return np.where(r > 1, 0, np.where(r < 0, 0.5 - r, 0.5 * (1 - r) ** 2))


def derive(r):
    return np.where(r > 1, 0.0, np.where(r < 0, -1.0, r - 1.0))


register_collection("lines", Lines)
register_loss(Loss("smooth_hinge", smooth, derive, None, 1.0, 1.0))
register_rule("middle", lambda scores, labels, settings: (scores.max(axis=0) + scores.min(axis=0)) / 2)
register_measure("exact", lambda scores, decisions, labels: 100 * (decisions == labels).all(axis=1).mean())
'''
MORE_EXPERIMENT = {
    "imports": ["more"],
    "corpus": {"name": "lines", "path": "lines.txt", "options": {"upper": True}},
    "text": {"fields": ["text"]},
    "threshold": {"rule": "middle"},
    "evaluation": {"measures": ["exact"]},
    "runs": {
        "own_loss": {
            "learner": "linear",
            "parameters": {"loss": "smooth_hinge", "lam": 1e-4, "algorithm": "conjugate_gradient"},
        }
    },
}


def run_textcat(folder: Path, *arguments: str, expect: int = 0) -> str:
    """Return what the command prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(PROJECT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the documentation, trained, in a folder below the one in which textcat is called."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in EXAMPLE.items():
        (folder / name).write_text(text)
    (folder / "docs").mkdir()
    shutil.copy(PROJECT / "docs" / "documents.csv", folder / "docs")
    run_textcat(folder.parent, "train", f"{folder.name}/own_methods.yaml", "--data", f"{folder.name}/data")
    return folder


def read_measures(folder: Path, run: str) -> dict[str, float]:
    results = json.loads((folder / "results" / "own_methods" / "results.json").read_text())
    assert list(results["runs"][run]["imports"]) == ["own_methods"]
    return dict(results["runs"][run]["measures"])


def test_a_tokenizer_a_score_and_a_learner_also_in_workers(trained: Path) -> None:
    run_textcat(trained, "run", "own_methods.yaml")
    here = read_measures(trained, "centroids")
    assert here["micro.f1"] > 50
    run_textcat(trained, "run", "own_methods.yaml", "--data", "other", "--backend", "processes", "-j", "2")
    assert read_measures(trained, "centroids") == here
    terms = json.loads(next((trained / "data" / "cache" / "tokenize").glob("*/terms.json")).read_text())
    assert all(len(term) == 3 for term in terms)


def test_a_changed_module_is_another_key_in_every_step(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    plan = run_textcat(folder, "train", "own_methods.yaml", "--dry-run")
    assert "to do" not in plan
    (folder / "own_methods.py").write_text(EXAMPLE["own_methods.py"] + "\n# changed\n")
    plan = run_textcat(folder, "train", "own_methods.yaml", "--dry-run")
    assert plan.count("to do") == plan.count("\n") - 1


def test_a_model_needs_the_same_module(trained: Path, tmp_path: Path) -> None:
    model = str(trained / "data" / "models" / "own_methods" / "centroids")
    (tmp_path / "new.txt").write_text("The courier lost my parcel\n")
    message = run_textcat(tmp_path, "predict", model, "new.txt", expect=4)
    assert "`--import own_methods`" in message
    (tmp_path / "own_methods.py").write_text(EXAMPLE["own_methods.py"])
    for backend in ((), ("--backend", "processes", "-j", "2")):
        line = run_textcat(tmp_path, "predict", "--import", "own_methods", *backend, model, "new.txt")
        assert json.loads(line)["id"] == "1"
    (tmp_path / "own_methods.py").write_text(EXAMPLE["own_methods.py"] + "\n# changed\n")
    message = run_textcat(tmp_path, "predict", "--import", "own_methods", model, "new.txt", expect=4)
    assert "has changed since the model was trained" in message


@pytest.mark.slow
def test_a_tuned_experiment_names_the_file_of_the_module(trained: Path) -> None:
    limits = ["--configurations", "1", "--folds", "2", "--output", "deep/tuned", "-q"]
    run_textcat(trained, "tune", "own_methods.yaml", *limits)
    tuned = trained / "deep" / "tuned" / "tuned.yaml"
    assert yaml.safe_load(tuned.read_text())["imports"] == ["../../own_methods.py"]
    run_textcat(trained, "run", str(tuned), "-q")


def test_a_collection_a_loss_a_rule_and_a_measure(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(MORE)
    (tmp_path / "more.yaml").write_text(yaml.safe_dump(MORE_EXPERIMENT))
    lines = [f"{'train' if n % 3 else 'test'} {('even', 'odd')[n % 2]} {'ab'[n % 2]} c\n" for n in range(60)]
    (tmp_path / "lines.txt").write_text("".join(lines))
    run_textcat(tmp_path, "run", "more.yaml")
    results = json.loads((tmp_path / "results" / "more" / "results.json").read_text())
    assert results["runs"]["own_loss"]["measures"]["exact"] == 100.0
    assert results["corpus"]["train_documents"] == 40


@pytest.mark.parametrize(
    ("module", "changes", "message"),
    [
        ("raise RuntimeError('no')", {}, "broken.yaml:2:3: the module 'broken' cannot be imported: RuntimeError: no"),
        ("register_tokenizer('alphabetic', str.split)", {}, "textcat has a tokenizer 'alphabetic' already"),
        ("register_score('own', lambda X, Y: X)", {"selection": {"score": "own", "features": 3}},
         "the selection score 'own' failed"),
        ("register_tokenizer('own', lambda text: text)", {"text": {"fields": ["text"], "tokenizer": "own"}},
         "the tokenizer 'own' failed: ValueError: it must return a list of texts"),
        ("", {"text": {"fields": ["text"], "tokenizer": "own"}}, "there is no tokenizer 'own'"),
        ("", {"imports": ["absent"]}, "the module 'absent' cannot be imported"),
    ],
)  # fmt: skip
def test_faults_are_one_message(
    tmp_path: Path, module: str, changes: dict[str, object], message: str
) -> None:
    imported = "from textcat.selection import register_score\nfrom textcat.text.tokenizers import register_tokenizer\n"
    (tmp_path / "broken.py").write_text(imported + module)
    (tmp_path / "documents.csv").write_text("text,label\n" + "a b,x\nb c,y\n" * 10)
    experiment = {
        "imports": ["broken"],
        "corpus": {"name": "csv", "path": "documents.csv"},
        "text": {"fields": ["text"]},
        "resample": {"kind": "folds", "number": 2},
        "runs": {"bayes": {"learner": "naive_bayes"}},
    } | changes
    (tmp_path / "broken.yaml").write_text(yaml.safe_dump(dict(experiment), sort_keys=False))
    failed = 4 if "failed" in message else 2
    assert message in run_textcat(tmp_path, "run", "broken.yaml", expect=failed)


def test_two_modules_of_one_name_and_two_owners_of_a_name_are_refused(tmp_path: Path) -> None:
    own = "from textcat.text.tokenizers import register_tokenizer\nregister_tokenizer('own', str.split)\n"
    settings = {"corpus": {"name": "csv", "path": "d.csv"}, "runs": {"bayes": {"learner": "naive_bayes"}}}
    for name, modules in (("one", ["same"]), ("two", ["same"]), ("three", ["same", "other"])):
        (tmp_path / name).mkdir()
        for module in modules:
            (tmp_path / name / f"{module}.py").write_text(own)
        (tmp_path / name / "e.yaml").write_text(yaml.safe_dump({"imports": modules, **settings}))
    check = "from textcat.experiment.spec.loading import load_experiment as load; load({!r}); load({!r})"
    for paths, message in (
        (("one/e.yaml", "two/e.yaml"), "this process has already imported"),
        (("three/e.yaml", "three/e.yaml"), "is registered by same and by other"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", check.format(*paths)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert message in done.stderr
