"""Packages of others in an experiment: run, listed, in the signature, and to blame when they fail."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.plugins.installing import PACKAGES, ROOT, module, put, textcat
from textcat.plugins import hash_source
from textcat.serving.model_folders import write_checksums

FAULTY = Path(__file__).parent / "faulty"
TOPICS = {
    "grain": "wheat maize harvest bushel",
    "metal": "gold silver copper ounce",
    "oil": "crude barrel refinery",
}

EXPERIMENT: dict[str, Any] = {
    "title": "Everything from plugins",
    "corpus": {"name": "lines", "path": "documents.tsv"},
    "text": {"fields": ["text"], "tokenizer": "trigrams"},
    "vector": {"weighting": "log_tf_idf", "cosine": True},
    "selection": {"score": "odds_ratio", "features": 60},
    "threshold": {"rule": "f-half"},
    "evaluation": {"measures": ["subset_accuracy"]},
    "runs": {
        "loss_and_prior": {
            "learner": "linear",
            "parameters": {
                "loss": "smooth_hinge", "prior": "soft_laplace", "lam": 1e-4,
                "algorithm": "conjugate_gradient", "tolerance": 1e-6,
            },
        },
        "algorithm": {
            "learner": "linear",
            "parameters": {
                "loss": "logistic", "algorithm": "accelerated", "cost": 10.0, "tolerance": 1e-9, "passes": 5000,
            },
        },
    },
}  # fmt: skip


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A folder of installed packages, the eight examples, and one with documents and an experiment."""
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    work.mkdir()
    _furnish(site, work)
    return site, work


@pytest.fixture
def site(places: tuple[Path, Path]) -> Path:
    """The folder of installed packages."""
    return places[0]


@pytest.fixture
def work(places: tuple[Path, Path]) -> Path:
    """The folder of the experiment."""
    return places[1]


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The packages and the folder of an experiment that was run; for copying."""
    site, work = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    _furnish(site, work)
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 0, done.stderr
    assert "subset_accuracy" in done.stdout
    return site, work


def _furnish(site: Path, work: Path) -> None:
    for package in sorted(PACKAGES.iterdir()):
        put(site, package)
    (work / "documents.tsv").write_text("\n".join(_lines()) + "\n", encoding="utf-8")
    _write(work, EXPERIMENT)


def _lines() -> Iterator[str]:
    choose = random.Random(7)
    common = ["the", "price", "of", "market", "report", "company", "year", "trade"]
    for number in range(120):
        labels = choose.sample(sorted(TOPICS), choose.choice([0, 1, 1, 2]))
        words = choose.choices(common, k=8) + [
            w for t in labels for w in choose.choices(TOPICS[t].split(), k=3)
        ]
        yield f"{'test' if number % 3 == 0 else 'train'}\t{' '.join(labels)}\t{' '.join(words)}"


def _write(folder: Path, experiment: dict[str, Any]) -> None:
    (folder / "mine.yaml").write_text(yaml.safe_dump(experiment), encoding="utf-8")


def _changed(part: str, **keys: Any) -> dict[str, Any]:
    return {**EXPERIMENT, part: {**EXPERIMENT[part], **keys}}


def _results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(folder.rglob("results.json")).read_text(encoding="utf-8"))
    return found


def test_the_examples_carry_an_experiment_together(carried: tuple[Path, Path]) -> None:
    results = _results(carried[1])
    run = results["runs"]["loss_and_prior"]
    assert {name: signature.partition(", source ")[0] for name, signature in run["plugins"].items()} == {
        "corpora.lines": "textcat-lines 1.0",
        "tokenizers.trigrams": "textcat-trigrams 1.0",
        "selection_scores.odds_ratio": "textcat-odds-ratio 1.0",
        "losses.smooth_hinge": "textcat-smooth-hinge 1.0",
        "priors.soft_laplace": "textcat-soft-laplace 1.0",
        "thresholds.f-half": "textcat-f-half 1.0",
        "measures.subset_accuracy": "textcat-subset 1.0",
    }
    accelerated = results["runs"]["algorithm"]["plugins"]["algorithms.accelerated"]
    assert re.fullmatch(r"textcat-accelerated 1\.0, source [0-9a-f]{12}", accelerated)
    assert all(each["measures"]["subset_accuracy"] > 70 for each in results["runs"].values())
    assert all(each["measures"]["micro.f1"] > 80 for each in results["runs"].values())
    assert set(results["runs"]["algorithm"]["certificates"]["reason"]) == {"optimality"}


@pytest.mark.parametrize(
    ("package", "first"),
    [
        ("textcat-lines", "tokenize"),
        ("textcat-trigrams", "tokenize"),
        ("textcat-odds-ratio", "select"),
        ("textcat-soft-laplace", "train"),
        ("textcat-smooth-hinge", "train"),
        ("textcat-accelerated", "train"),
        ("textcat-f-half", "set thresholds"),
        ("textcat-subset", "evaluate"),
    ],
)
def test_another_version_is_made_anew_from_its_step_on(
    carried: tuple[Path, Path], tmp_path: Path, package: str, first: str
) -> None:
    site, work = (Path(shutil.copytree(each, tmp_path / each.name)) for each in carried)
    put(site, PACKAGES / package, version="1.1")
    planned = textcat(site, work, "run", "mine.yaml", "--data", "data", "--dry-run")
    to_do = [line for line in (planned.stdout + planned.stderr).splitlines() if "to do" in line]
    assert first in to_do[0], planned.stdout + planned.stderr


@pytest.mark.parametrize(
    ("package", "first"), [("textcat-trigrams", "tokenize"), ("textcat-subset", "evaluate")]
)
def test_edited_source_is_made_anew_from_its_step_on(
    carried: tuple[Path, Path], tmp_path: Path, package: str, first: str
) -> None:
    site, work = (Path(shutil.copytree(each, tmp_path / each.name)) for each in carried)
    with (site / f"{package.replace('-', '_')}.py").open("a") as source:
        source.write("# edited\n")
    planned = textcat(site, work, "run", "mine.yaml", "--data", "data", "--dry-run")
    to_do = [line for line in (planned.stdout + planned.stderr).splitlines() if "to do" in line]
    assert to_do, planned.stdout + planned.stderr
    assert first in to_do[0]


def test_the_source_of_a_package_are_all_its_python_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shared_namespace" / "own_package"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__.py", "method.py", "inner/helper.py"):
        (folder / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    module = "shared_namespace.own_package.method"
    found = [hash_source.__wrapped__(module)]
    for name in ("method.py", "inner/helper.py", "inner/added.py"):
        with (folder / name).open("a") as source:
            source.write("x = 1\n")
        found.append(hash_source.__wrapped__(module))
    (folder / "notes.txt").write_text("no code")
    (tmp_path / "shared_namespace" / "other.py").write_text("of another package")
    assert len(set(found)) == 4
    assert hash_source.__wrapped__(module) == found[-1]
    assert hash_source.__wrapped__("a_module_that_nobody_has.method") == ""


def test_another_version_is_another_signature_of_the_runs_concerned(
    carried: tuple[Path, Path], tmp_path: Path
) -> None:
    site, work = (Path(shutil.copytree(each, tmp_path / each.name)) for each in carried)
    before = _results(work)["runs"]
    put(site, PACKAGES / "textcat-accelerated", version="1.1")
    assert textcat(site, work, "run", "mine.yaml", "--data", "data").returncode == 0
    after = _results(work)["runs"]
    assert after["loss_and_prior"] == before["loss_and_prior"]
    assert after["algorithm"]["signature"] != before["algorithm"]["signature"]
    assert after["algorithm"]["measures"] == before["algorithm"]["measures"]


def test_a_report_quotes_documents_of_a_plugin_corpus_given_by_path(
    carried: tuple[Path, Path], tmp_path: Path
) -> None:
    site, work = (Path(shutil.copytree(each, tmp_path / each.name)) for each in carried)
    report = work / "results" / "mine" / "report.html"
    quote = "<blockquote>"
    assert quote not in report.read_text(encoding="utf-8")
    done = textcat(site, work, "report", "mine.yaml", "--excerpts", "--data", "data")
    assert done.returncode == 0, done.stderr
    assert quote in report.read_text(encoding="utf-8")


def test_a_model_wants_the_tokenizer_that_it_was_trained_with(
    carried: tuple[Path, Path], tmp_path: Path
) -> None:
    site, work = (Path(shutil.copytree(each, tmp_path / each.name)) for each in carried)
    assert textcat(site, work, "train", "mine.yaml", "--data", "data").returncode == 0
    model = str(next((work / "data" / "models").rglob("algorithm")))
    (work / "new.txt").write_text("gold and silver\n", encoding="utf-8")
    done = textcat(site, work, "predict", model, "new.txt")
    assert done.returncode == 0, done.stderr
    # Models of earlier versions name the version of the plugin only.
    path = work / model / "categorizer.json"
    facts = json.loads(path.read_text())
    facts["plugins"] = {name: signature.partition(",")[0] for name, signature in facts["plugins"].items()}
    path.write_text(json.dumps(facts))
    write_checksums(work / model)
    assert textcat(site, work, "predict", model, "new.txt").stdout == done.stdout != ""
    put(site, PACKAGES / "textcat-trigrams", version="1.1")
    done = textcat(site, work, "predict", model, "new.txt")
    assert done.returncode == 4
    assert "textcat-trigrams 1.0" in done.stderr
    assert "textcat-trigrams 1.1" in done.stderr


def test_methods_are_listed_with_who_made_them(site: Path, work: Path) -> None:
    listed = json.loads(textcat(site, work, "list", "methods", "--json").stdout)
    found = {(row["kind"], row["name"]): row for row in listed}
    assert found["measures", "subset_accuracy"]["source"] == "textcat-subset 1.0"
    assert found["corpora", "lines"]["source"] == "textcat-lines 1.0"
    assert found["losses", "logistic"]["source"].startswith("textcat ")
    assert len({kind for kind, _ in found}) == 8
    assert all(row["what"] for row in listed if row["source"].startswith("textcat 0"))


def test_editors_are_told_the_names(site: Path, work: Path) -> None:
    schema = json.loads(textcat(site, work, "show", "--schema").stdout)
    assert "trigrams" in schema["$defs"]["TextSettings"]["properties"]["tokenizer"]["enum"]
    assert {"tuned", "f-half"} <= set(schema["$defs"]["ThresholdSettings"]["properties"]["rule"]["enum"])


@pytest.mark.parametrize(
    ("part", "key", "noun"),
    [
        ("text", "tokenizer", "tokenizer"),
        ("selection", "score", "selection score"),
        ("threshold", "rule", "threshold rule"),
        ("corpus", "name", ""),
    ],
)
def test_an_unknown_name_is_told_with_its_line_before_any_work(
    site: Path, work: Path, part: str, key: str, noun: str
) -> None:
    _write(work, _changed(part, **{key: "nonsense"}))
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "nonsense" in done.stderr
    if noun:
        assert f"there is no {noun} 'nonsense'" in done.stderr
        assert "mine.yaml:" in done.stderr


@pytest.mark.parametrize("key", ["loss", "prior", "algorithm"])
def test_an_unknown_part_of_a_learner_is_told_with_its_line(site: Path, work: Path, key: str) -> None:
    run = {"learner": "linear", "parameters": {"lam": 0.1, key: "nonsense"}}
    _write(work, {**EXPERIMENT, "runs": {"one": run}})
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 2, done.stderr
    assert f"there is no {key} 'nonsense'" in done.stderr
    assert "mine.yaml:" in done.stderr


def test_a_name_of_textcats_own_is_refused(site: Path, work: Path) -> None:
    module(site, "shadow", "tokenizers", "words", "def thing(text): return text.split()\n")
    _write(work, _changed("text", tokenizer="words"))
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 2
    assert "the tokenizer 'words' is declared by textcat itself and by shadow 1.0" in done.stderr
    listed = textcat(site, work, "list", "methods", "--json")
    assert any(
        "cannot be used" in row["what"] for row in json.loads(listed.stdout) if row["source"] == "shadow 1.0"
    )


def test_a_name_of_two_packages_is_refused(site: Path, work: Path) -> None:
    module(
        site,
        "rival",
        "thresholds",
        "f-half",
        "def thing(scores, labels, settings): return scores.max(axis=0)\n",
    )
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 2
    assert "declared by rival 1.0 and by textcat-f-half 1.0" in done.stderr


# Each kind with the part of an experiment, or of a linear learner's parameters, that names one.
PLACES = {
    "corpora": ("corpus", "name"),
    "tokenizers": ("text", "tokenizer"),
    "selection_scores": ("selection", "score"),
    "thresholds": ("threshold", "rule"),
    "measures": ("evaluation", "measures"),
    "losses": ("loss", ""),
    "priors": ("prior", ""),
    "algorithms": ("algorithm", ""),
}


def _using(kind: str, name: str) -> dict[str, Any]:
    part, key = PLACES[kind]
    if key:
        return _changed(part, **{key: [name] if kind == "measures" else name})
    run = EXPERIMENT["runs"]["loss_and_prior"]
    return {**EXPERIMENT, "runs": {"one": {**run, "parameters": {**run["parameters"], part: name}}}}


@pytest.mark.parametrize("kind", PLACES)
def test_a_failing_plugin_is_one_message_that_names_its_package(site: Path, work: Path, kind: str) -> None:
    module(site, "broken-package", kind, "faulty", (FAULTY / f"{kind}.py").read_text(encoding="utf-8"))
    _write(work, _using(kind, "faulty"))
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 4, done.stderr
    assert "'faulty' of broken-package 1.0" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", PLACES)
def test_a_plugin_that_cannot_be_imported_is_one_message(site: Path, work: Path, kind: str) -> None:
    module(site, "broken-package", kind, "faulty", "import a_module_that_nobody_has\n")
    _write(work, _using(kind, "faulty"))
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode in (2, 4), done.stderr
    assert "'faulty' of broken-package 1.0 cannot be loaded" in done.stderr
    assert "a_module_that_nobody_has" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("losses", "def thing(r): return r\n", "it must be a textcat.linear.losses.Loss"),
        ("selection_scores", "def thing(X, Y): return [1.0]\n", "numbers of shape (1,)"),
        ("thresholds", "def thing(s, l, settings): return 0.5\n", "numbers of shape ()"),
        ("tokenizers", "thing = 3\n", "it must be a function"),
    ],
)
def test_what_is_not_of_its_kind_is_told(site: Path, work: Path, kind: str, code: str, message: str) -> None:
    module(site, "broken-package", kind, "faulty", code)
    _write(work, _using(kind, "faulty"))
    done = textcat(site, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 4, done.stderr
    assert "broken-package 1.0" in done.stderr
    assert message in done.stderr


def test_help_looks_for_no_plugins(site: Path, work: Path) -> None:
    code = (
        "import sys\nfrom textcat.cli.main import main\ntry:\n main(['--help'])\nexcept SystemExit: pass\n"
        "sys.exit('importlib.metadata' in sys.modules and 'textcat.plugins' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0


def test_signatures_without_plugins_stay_as_they_are() -> None:
    from textcat.evaluation.run_measures import EvaluationSettings
    from textcat.plugins import collect_identities

    assert collect_identities(("losses", "logistic"), ("tokenizers", None)) == {}
    assert "measures" not in EvaluationSettings().model_dump(mode="json")


def test_a_loss_and_a_prior_from_elsewhere_reach_the_optimum() -> None:
    """Independent oracle: scipy's L-BFGS on the objective written out."""
    import scipy.optimize
    from scipy.sparse import csc_matrix

    from textcat.linear.algorithm_options import GradientOptions
    from textcat.linear.losses import Loss, squared_hinge
    from textcat.linear.papers.conjugate_gradient import solve_block
    from textcat.linear.problem import (
        LinearProblem,
        Penalty,
        PenaltyShape,
        ProblemMatrix,
        make_matrix_with_bias,
    )

    rng = np.random.default_rng(3)
    X, positive = rng.normal(size=(60, 8)), rng.random((60, 2)) < 0.4
    own = squared_hinge()
    loss = Loss("another_name", own.value, own.derivative, None, 2.0, 1.0)
    shape = PenaltyShape(lambda w: np.sqrt(w * w + 0.01) - 0.1, lambda w: w / np.sqrt(w * w + 0.01))
    rows = make_matrix_with_bias(X, 1.0)
    penalty = Penalty("another", np.full((9, 2), 0.05), shape=shape)
    problem = LinearProblem(ProblemMatrix(rows, csc_matrix(rows)), positive, None, None, loss, penalty, 1.0)
    found = solve_block(problem, slice(0, 2), GradientOptions(tol=1e-9), np.zeros((9, 2)))
    matrix = rows.toarray()
    for k, certificate in enumerate(found.certificates):
        y = np.where(positive[:, k], 1.0, -1.0)

        def objective(w: Any, y: Any = y) -> float:
            return float(
                np.mean(np.maximum(0, 1 - y * (matrix @ w)) ** 2) + 0.05 * np.sum(np.sqrt(w * w + 0.01) - 0.1)
            )

        best = scipy.optimize.minimize(
            objective, np.zeros(9), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
        )
        assert certificate.objective == pytest.approx(best.fun, rel=1e-7)
        assert certificate.gap is None
        assert certificate.reason == "optimality"


def test_the_documented_code_is_the_tested_code() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    for package in sorted(PACKAGES.iterdir()):
        code = next(package.glob("*.py")).read_text(encoding="utf-8")
        assert f"```python\n{code}```" in page, package.name
        assert len(code.splitlines()) <= 45
        assert package.name in page
    declared = (PACKAGES / "textcat-lines" / "pyproject.toml").read_text(encoding="utf-8")
    assert f"```toml\n{declared}```" in page


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("pip", "hatchling"))), reason="needs pip and hatchling"
)
def test_pip_installs_the_examples(tmp_path: Path, work: Path) -> None:
    sources = tmp_path / "sources"
    shutil.copytree(PACKAGES, sources)
    target = tmp_path / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--disable-pip-version-check", "--target", str(target), *map(str, sorted(sources.iterdir()))],
        check=True, capture_output=True,
    )  # fmt: skip
    done = textcat(target, work, "run", "mine.yaml", "--data", "data")
    assert done.returncode == 0, done.stderr
