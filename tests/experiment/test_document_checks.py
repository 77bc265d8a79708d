"""One label a document is checked where it is promised, and documents without a term are counted, cached or not."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from textcat.cli.main import main
from textcat.errors import BadDataError
from textcat.experiment.context import RunContext
from textcat.experiment.run.document_checks import find_emptiest_run
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment

RUSSIAN = ["матч гол команда", "рынок банк рубль"]
CHINESE = ["比赛球队进球", "市场银行价格"]
ENGLISH = ["wheat corn harvest", "bank rate dollar"]
LABELS = ["Grain, cereals", "Money"]


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """The command line logs to the standard error of its test: no later test may."""
    yield
    logging.getLogger("textcat").handlers.clear()


def write_table(folder: Path, texts: list[str], labels: list[str], documents: int = 40) -> Path:
    """A table whose documents take texts and labels in turn, every fourth for testing; the experiment on it."""
    with (folder / "own.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label", "side"])
        for number in range(documents):
            side = "test" if number % 8 > 5 else "train"
            writer.writerow([texts[number % len(texts)], labels[number % len(labels)], side])
    return write_experiment(folder, {})


def write_experiment(
    folder: Path, corpus: dict[str, Any], options: dict[str, Any] | None = None, **keys: Any
) -> Path:
    settings = {
        "title": "own",
        "corpus": {
            "name": "csv",
            "path": "own.csv",
            "single_label": True,
            "options": {"label": "label", "side": "side", **(options or {})},
            **corpus,
        },
        "text": {"fields": ["text"], "tokenizer": "alphabetic"},
        "runs": {"bayes": {"learner": "naive_bayes"}},
        **keys,
    }
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def textcat(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a command in a folder."""
    with pytest.raises(SystemExit) as left:
        main([*arguments, "--data", str(folder / "data"), "--results", str(folder / "results")])
    written = capsys.readouterr()
    return int(str(left.value.code)), written.out, written.err


def refused(folder: Path) -> BadDataError:
    context = RunContext(folder / "data")
    with pytest.raises(BadDataError) as error:
        run_experiment(load_experiment(folder / "own.yaml"), context)
    return error.value


def test_a_label_with_a_comma_is_one_label(tmp_path: Path) -> None:
    context = RunContext(tmp_path / "data")
    plan, _ = run_experiment(load_experiment(write_table(tmp_path, ENGLISH, LABELS)), context)
    results = collect_results(plan, context)
    assert list(results["corpus"]["train_counts"]) == ["Grain, cereals", "Money"]
    assert results["runs"]["bayes"]["measures"]["accuracy"] == 100


def test_without_single_label_the_default_separator_is_a_comma(tmp_path: Path) -> None:
    write_table(tmp_path, ENGLISH, LABELS)
    write_experiment(tmp_path, {"single_label": False})
    context = RunContext(tmp_path / "data")
    plan, _ = run_experiment(load_experiment(tmp_path / "own.yaml"), context)
    results = collect_results(plan, context)
    assert list(results["corpus"]["train_counts"]) == ["Grain", "Money", "cereals"]


def test_several_labels_are_refused_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(tmp_path, ENGLISH, LABELS)
    write_experiment(tmp_path, {}, {"label_separator": ","})
    code, _, message = textcat(tmp_path, capsys, "run", str(tmp_path / "own.yaml"))
    assert code == 4
    assert "20 of 40 documents have several labels" in message
    assert f"{tmp_path / 'own.csv'}:2: 'Grain', 'cereals'" in message
    assert "label_separator: null" in message
    assert "single_label: false" in message


def test_several_labels_are_refused_from_the_cache_too(tmp_path: Path) -> None:
    write_table(tmp_path, ENGLISH, LABELS)
    context = RunContext(tmp_path / "data")
    write_experiment(tmp_path, {"single_label": False}, {"label_separator": ","})
    run_experiment(load_experiment(tmp_path / "own.yaml"), context)
    write_experiment(tmp_path, {}, {"label_separator": ","})
    assert "20 of 40" in refused(tmp_path).what


def test_documents_without_a_label_are_refused_or_left_out(tmp_path: Path) -> None:
    write_table(tmp_path, ENGLISH, ["Grain", "Money", "", "Money"])
    error = refused(tmp_path)
    assert "10 of 40 documents have no label" in error.what
    assert f"{tmp_path / 'own.csv'}:4: no label" in error.what
    assert "documents: labelled" in error.hint
    context = RunContext(tmp_path / "data")
    plan, _ = run_experiment(load_experiment(write_experiment(tmp_path, {"documents": "labelled"})), context)
    results = collect_results(plan, context)
    assert results["runs"]["bayes"]["measures"]["accuracy"] is not None


def test_labels_of_json_folders_and_vectors_are_checked(tmp_path: Path) -> None:
    lines = [{"text": text, "label": [text[:1]]} for text in ENGLISH * 5]
    lines[3]["label"] = ["b", "w"]
    (tmp_path / "own.jsonl").write_text("\n\n".join(map(json.dumps, lines)))
    (tmp_path / "own.svm").write_text("a 1:1\nb 2:1\na,b 1:1 2:1\nb 2:2\na 1:3\n" * 4)
    for name in ("a/1", "a/2", "a/3", "a/4", "b/1", "b/5", "b/6", "b/7"):
        (tmp_path / "folders" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folders" / name).write_text("wheat")
    kinds = {
        "jsonl": ("own.jsonl", {"label": "label"}, "own.jsonl:7: 'b', 'w'"),
        "svmlight": ("own.svm", {}, "document 3: 'a', 'b'"),
        "folders": ("folders", {"same_name": "one"}, "folders/a/1: 'a', 'b'"),
    }
    for name, (path, options, message) in kinds.items():
        write_experiment(tmp_path, {"name": name, "path": path, "options": {"ratio": 1, **options}})
        assert message in refused(tmp_path).what


def test_categories_that_may_be_the_same_are_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path, ENGLISH, ["Grain", "Money", "grain", "Money"])
    code, _, err = textcat(tmp_path, capsys, "run", str(path))
    assert code == 0
    assert "the categories 'Grain', 'grain' may be the same" in err


@pytest.mark.parametrize("texts", [RUSSIAN, CHINESE])
def test_text_that_the_tokenizer_drops_is_a_warning_each_time(
    texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path, texts, ["one", "two"])
    for _ in ("made", "from the cache"):
        code, out, err = textcat(tmp_path, capsys, "run", str(path))
        assert code == 0
        assert "40 of 40 documents have no term (100.0 %)" in out
        assert err.count("40 of 40 documents have no term (100.0 %)") == 1
        assert "tokenizer: unicode" in err
    assert "40 of 40 documents" in (tmp_path / "results" / "own" / "report.html").read_text()
    code, out, err = textcat(tmp_path, capsys, "tokenize", str(path))
    assert "40 of 40 documents have no term" in out
    assert "tokenizer: unicode" in err


def test_the_share_is_reported_without_a_warning_when_it_is_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path, [*ENGLISH * 10, *ENGLISH * 9, "bank", "1987"], ["Grain", "Money"])
    code, out, err = textcat(tmp_path, capsys, "run", str(path))
    assert code == 0
    assert "1 of 40 documents have no term (2.5 %)" in out
    assert "Warning" not in err


def test_the_step_that_took_the_terms_is_named(tmp_path: Path) -> None:
    texts = ["once", "twice", "thrice", "never", *ENGLISH * 18]
    path = write_table(tmp_path, texts, ["Grain", "Money"])
    context = RunContext(tmp_path / "data")

    def found(**keys: Any) -> Any:
        write_experiment(tmp_path, {}, **keys)
        plan, _ = run_experiment(load_experiment(path), context)
        return find_emptiest_run(plan, context)

    assert found().share == 0
    rare = found(vector={"minimum_documents": 5})
    assert "vector.minimum_documents" in rare.remedy
    assert [number for _, number, _ in rare.steps] == [0, 4]
    selected = found(selection={"features": 1, "score": "information_gain"})
    assert selected.steps[-1][1] > 0
    assert "selection.features" in selected.remedy


def test_predict_warns_of_documents_without_a_known_term(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path, ENGLISH, ["Grain", "Money"])
    assert textcat(tmp_path, capsys, "train", str(path))[0] == 0
    model = str(tmp_path / "data" / "models" / "own" / "bayes")
    new = tmp_path / "new.txt"
    new.write_text("\n".join(["матч гол", "wheat", "bank", "corn"]) + "\n", encoding="utf-8")
    code, out, err = textcat(tmp_path, capsys, "predict", model, str(new))
    assert code == 0
    assert len(out.splitlines()) == 4
    assert "1 of 4 documents have no term that the model knows (25.0 %)" in err
    assert "tokenizer: unicode" in err
    new.write_text("wheat\nbank\n")
    assert textcat(tmp_path, capsys, "predict", model, str(new))[2] == ""


def test_the_size_of_weights_is_said_before_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path, ENGLISH, LABELS)
    plain = {"learner": "linear", "parameters": {"loss": "squared_hinge", "algorithm": "fast"}}
    pruned = {**plain, "parameters": {**plain["parameters"], "prune": 0.02}}
    runs = {"svm": plain, "pruned": pruned, "tree": {"learner": "label_tree"}}
    experiment = load_experiment(write_experiment(tmp_path, {}, runs=runs))
    context = RunContext(tmp_path / "data")
    run_experiment(experiment, context, "select")
    monkeypatch.setattr("textcat.experiment.run.document_checks.MOST_WEIGHT_BYTES", 95)
    run_experiment(experiment, context, "select")
    assert not caplog.messages

    def refuse(*_arguments: Any, **_named: Any) -> None:
        raise BadDataError("training begins")

    monkeypatch.setattr("textcat.experiment.steps.train.load_learner", refuse)
    with pytest.raises(BadDataError, match="training begins"):
        run_experiment(experiment, context, "train")
    assert [each.partition(". ")[0] for each in caplog.messages] == [
        "Warning: svm: 6 features x 2 labels are 0.0 GB of weights"
    ]
