"""`textcat compare`: where decisions come from, what is printed, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.experiment.place import Place
from textcat.errors import DataNotAvailableError, UsageError
from textcat.experiment.context import RunContext
from textcat.experiment.run import outcomes
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store.arrays import read_mask


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("compare"))
    place.textcat("run", str(place.experiment))
    return place


def facts(place: Place, left: str, right: str, *more: str) -> dict:
    return json.loads(place.textcat("compare", left, right, "--json", "--samples", "100", *more))


def test_counts_by_category_are_those_of_the_decisions(place: Place) -> None:
    found = facts(place, f"{place.experiment}:svm", "bayes")
    context = RunContext(place.data)
    plan, _ = run_experiment(load_experiment(place.experiment), context)
    chains = {chain.run: chain for chain in plan.chains}
    labels = read_vectors(chains["svm"].vectorized.build_folder(context)).test_labels.toarray()
    right = [
        read_mask(chains[run].evaluated.build_folder(context), "decisions") == labels
        for run in ("svm", "bayes")
    ]
    assert found["documents"] == len(labels) == 80
    for k, row in enumerate(found["categories"]):
        assert row["only_left_is_right"] == np.count_nonzero(right[0][:, k] & ~right[1][:, k])
        assert row["left_errors"] == np.count_nonzero(~right[0][:, k])
    tests = found["tests"]["micro sign test"]
    assert tests["left_better"] == sum(row["only_left_is_right"] for row in found["categories"])
    assert (found["left"], found["right"]) == ("trial:svm", "trial:bayes")


def test_the_other_way_round_is_the_mirror_image(place: Place) -> None:
    one = facts(place, f"{place.experiment}:logistic", "bayes")
    other = facts(place, f"{place.experiment}:bayes", f"{place.experiment}:logistic")
    assert one["overall"]["micro.f1"]["difference"] == -other["overall"]["micro.f1"]["difference"]
    for ours, theirs in zip(one["categories"], other["categories"], strict=True):
        assert ours["p"] == theirs["p"]
        assert ours["only_left_is_right"] == theirs["only_right_is_right"]


@pytest.mark.parametrize("empty", [False, True])
def test_an_experiment_whose_file_is_elsewhere_is_found_by_its_results(
    place: Place, empty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that `textcat tune` writes has the name of its experiment, and no results."""
    monkeypatch.chdir(tmp_path)
    if empty:
        (tmp_path / "trial").mkdir()
    expected = facts(place, f"{place.experiment}:svm", "bayes")
    assert "micro sign test" in expected["tests"]
    assert facts(place, "trial:svm", "bayes") == expected
    assert facts(place, f"{place.report}:svm", "bayes") == expected


def test_results_without_the_cache_give_the_tests_on_counts(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(place.report, folder)
    whole = facts(place, f"{place.experiment}:svm", "bayes")
    counts = facts(place, f"{folder}:svm", "bayes")
    assert "micro sign test" not in counts["tests"]
    assert any("need the decisions of both runs" in note for note in counts["notes"])
    assert counts["tests"]["Wilcoxon, errors"] == whole["tests"]["Wilcoxon, errors"]
    assert counts["overall"]["macro.f1"]["left"] == whole["overall"]["macro.f1"]["left"]
    one_side = facts(place, f"{place.experiment}:svm", f"{folder}:bayes")
    assert one_side["categories"] == counts["categories"]


def test_edited_results_are_noted(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "edited"
    shutil.copytree(place.report, folder)
    written = json.loads((folder / "results.json").read_text())
    assert not any("has changed" in note for note in facts(place, f"{folder}:svm", "bayes")["notes"])
    columns = written["runs"]["svm"]["by_category"]
    columns["tp"][0], columns["fn"][0] = columns["tp"][0] - 1, columns["fn"][0] + 1
    (folder / "results.json").write_text(json.dumps(written))
    notes = facts(place, f"{folder}:svm", "bayes")["notes"]
    assert any("results.json has changed since it was written" in note for note in notes)
    columns["tn"][1] += 5
    (folder / "results.json").write_text(json.dumps(written))
    with pytest.raises(UsageError, match="or their labels differ"):
        facts(place, f"{folder}:svm", "bayes")


def test_other_values_of_undefined_ratios_are_noted(place: Place) -> None:
    other = place.folder / "undefined.yaml"
    text = place.experiment.read_text()
    assert "zero_division" not in text
    other.write_text(text + "evaluation: {zero_division: 0}\n")
    place.textcat("evaluate", str(other))
    found = facts(place, f"{place.experiment}:svm", f"{other}:svm")
    assert found["notes"] == ["F1 of both runs is computed with the zero_division of trial:svm: skip, not 0"]


def test_results_of_earlier_settings_are_not_taken_for_those_of_today(place: Place, tmp_path: Path) -> None:
    changed, kept = place.folder / "changing.yaml", tmp_path / "kept"
    changed.write_text(place.experiment.read_text())
    place.textcat("run", str(changed))
    shutil.copytree(place.report.parent / "changing", kept)
    written = json.loads((kept / "results.json").read_text())["runs"]["svm"]["measures"]["micro.f1"]
    changed.write_text(changed.read_text().replace("rule: tuned", "value: 9.0"))
    stale = facts(place, f"{changed}:svm", f"{kept}:svm")
    assert stale["overall"]["micro.f1"]["difference"] == 0
    assert "changing:svm: its results are of other settings or another version" in stale["notes"]
    place.textcat("run", str(changed))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(outcomes, "find_experiment", lambda name: changed)
        found = facts(place, f"{changed}:svm", f"{kept}:svm")
    assert found["overall"]["micro.f1"]["right"] == pytest.approx(written)
    assert found["overall"]["micro.f1"]["left"] != pytest.approx(written)


def test_two_experiments_on_the_same_documents_are_lined_up(place: Place) -> None:
    other = place.folder / "other.yaml"
    other.write_text(
        place.experiment.read_text().replace("side: side}", "side: side}\n  categories: [ships, grain]")
    )
    place.textcat("evaluate", str(other))
    found = facts(place, f"{place.experiment}:svm", f"{other}:svm")
    assert [row["category"] for row in found["categories"]] == ["grain", "ships"]
    assert any("1 categories are left out" in note for note in found["notes"])
    assert [row["only_left_is_right"] for row in found["categories"]] == [0, 0]


def test_folds_are_taken_together(place: Place) -> None:
    folds = place.folder / "folds.yaml"
    folds.write_text(place.experiment.read_text() + "resample: {kind: folds, number: 3}\n")
    place.textcat("evaluate", str(folds))
    assert facts(place, f"{folds}:svm", "bayes")["documents"] == 240
    with pytest.raises(UsageError, match="different documents: 0 only the first, 160 only the second"):
        facts(place, f"{place.experiment}:svm", f"{folds}:svm")


def test_the_table_shows_the_least_likely_first(place: Place) -> None:
    output = place.textcat("compare", f"{place.experiment}:svm", "bayes", "-n", "1")
    assert "left   trial:svm" in output
    assert "micro sign test" in output
    assert "adjusted p" in output
    assert place.textcat("compare", f"{place.experiment}:svm", "bayes", "--dry-run").startswith("compare ")


def test_what_cannot_be_compared_is_said(place: Place) -> None:
    with pytest.raises(UsageError, match="no run 'svn'") as caught:
        place.textcat("compare", f"{place.experiment}:svn", "bayes")
    assert caught.value.hint == "Did you mean svm?"
    with pytest.raises(Exception, match="EXPERIMENT:RUN"):
        place.textcat("compare", "svm", "bayes")
    new = place.folder / "new.yaml"
    new.write_text(place.experiment.read_text().replace("lam: 0.001", "lam: 0.5"))
    with pytest.raises(DataNotAvailableError, match="not evaluated") as unmade:
        place.textcat("compare", f"{new}:svm", "bayes")
    assert unmade.value.hint == f"Run it first: textcat run {new}"
