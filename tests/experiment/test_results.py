"""From a table of documents to results.json: what is in it, that it says the same twice, that it reads back."""

from __future__ import annotations

import json
import shutil
import statistics
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.own_table import carried_out, results_of
from tests.experiment.place import Place
from tests.loops import for_each
from textcat.errors import BadDataError, DataNotAvailableError, StageFailedError, UsageError
from textcat.experiment.run.results import collect_results, measure_weights
from textcat.experiment.run.results_file import (
    add_timings,
    collect_timings,
    encode_results,
    get_run_measures,
    merge_timings,
    read_results,
    write_results_folder,
)
from textcat.experiment.steps.models import save_model
from textcat.linear.model import LinearModel
from textcat.report.comparison_tables import runs_as_text
from textcat.report.diagnostics import diagnose_runs

TWO = {
    "ridge": {"learner": "linear", "parameters": {"loss": "logistic", "lam": 1e-3}},
    "bayes": {"learner": "naive_bayes"},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    settings = {"runs": TWO, "comparisons": {"ridge_vs_bayes": {"left": "ridge", "right": "bayes"}}}
    return results_of(tmp_path_factory.mktemp("two"), settings)


def test_every_run_has_measures_and_a_signature_of_its_own(results: dict[str, Any]) -> None:
    assert set(results["runs"]) == set(TWO)
    assert len({run["signature"] for run in results["runs"].values()}) == 2
    assert all(run["measures"]["micro.f1"] > 50 for run in results["runs"].values())


def test_every_number_in_the_table_of_runs_lies_in_its_interval(results: dict[str, Any]) -> None:
    for run in results["runs"].values():
        shown = ["macro.f1", "micro.bep", "micro.f1", "micro.precision", "micro.recall"]
        assert sorted(run["intervals"]) == shown
        for name, (low, high) in run["intervals"].items():
            assert 0 <= low < run["measures"][name] < high <= 100, name


def test_results_without_intervals_are_read_and_shown_without_sampling_errors(
    results: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_text(encode_results(results))
    assert "\u00b1" in runs_as_text(read_results(path))
    written = json.loads(path.read_text())
    for run in written["runs"].values():
        del run["intervals"]
    path.write_text(json.dumps(written))
    assert "\u00b1" not in runs_as_text(read_results(path))


@for_each("ends", [[1.0], [1.0, 2.0, 3.0], ["low", "high"], 5])
def test_an_interval_of_other_than_two_numbers_is_refused(
    results: dict[str, Any], tmp_path: Path, ends: object
) -> None:
    written = json.loads(encode_results(results))
    written["runs"]["ridge"]["intervals"]["micro.f1"] = ends
    (tmp_path / "results.json").write_text(json.dumps(written))
    with pytest.raises(BadDataError, match="intervals"):
        read_results(tmp_path)


def test_counts_of_a_category_add_up_to_the_test_documents(results: dict[str, Any]) -> None:
    for run in results["runs"].values():
        for category in results["corpus"]["train_counts"]:
            cells = (run["measures"][f"category.{category}.{kind}"] for kind in ("tp", "fp", "fn", "tn"))
            assert sum(cells) == results["corpus"]["test_documents"]


def test_a_comparison_counts_every_category_once(results: dict[str, Any]) -> None:
    compared = get_run_measures(results)["ridge_vs_bayes"]
    parts = (compared[f"comparison.{name}"] for name in ("fewer", "more", "equal"))
    assert sum(part for part in parts if part is not None) == results["corpus"]["categories"]


def test_the_collection_is_a_run_to_cells_that_ask_for_it(results: dict[str, Any]) -> None:
    collection = get_run_measures(results)["collection"]
    assert collection["collection.train_documents"] == 90
    assert collection["collection.test_documents"] == 30
    assert collection["collection.features"] == results["corpus"]["terms"]


def test_features_of_a_ridge_are_all_features(results: dict[str, Any]) -> None:
    measures = results["runs"]["ridge"]["measures"]
    assert measures["features.min"] <= measures["features.mean"] <= measures["features.max"]
    assert measures["features.max"] == max(
        measures[f"category.{name}.features"] for name in results["corpus"]["train_counts"]
    )


def test_the_spread_of_features_is_that_of_a_sample(tmp_path: Path) -> None:
    coef = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [0.0, 1.0, 4.0], [1.0, 0.0, 5.0]])
    save_model(tmp_path, LinearModel(coef, np.array([0.5, 0.0, 1.0]), [], {}, kind="linear"))
    measures = measure_weights(tmp_path, ["a", "b", "c"], np.array([10, 5, 20]))
    assert [measures[f"category.{name}.features"] for name in "abc"] == [2, 1, 4]
    assert measures["features.sd"] == pytest.approx(statistics.stdev([2, 1, 4]))
    assert measures["features.constants_dropped"] == 1


def test_results_read_back_as_they_were_and_spell_one_way(results: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(encode_results(results))
    again = read_results(tmp_path)
    assert encode_results(again) == path.read_text() == encode_results(results)
    for name, run in results["runs"].items():
        for measure, value in run["measures"].items():
            back = again["runs"][name]["measures"][measure]
            assert back == (None if value is None else pytest.approx(value, rel=1e-9))
        assert len(again["runs"][name]["certificates"]) == len(run["certificates"])


def test_categories_with_dots_are_not_mixed_up(results: dict[str, Any], tmp_path: Path) -> None:
    added = {
        f"category.{category}.{kind}": number + len(kind) / 10
        for number, category in enumerate(["a", "a.f1", "a.f1.mean", "b."])
        for kind in ("f1", "recall")
    }
    more = deepcopy(results)
    more["runs"]["ridge"]["measures"] |= added
    more["corpus"]["train_counts"] |= dict.fromkeys(["a", "a.f1", "a.f1.mean", "b."], 1)
    (tmp_path / "results.json").write_text(encode_results(more))
    packed = json.loads((tmp_path / "results.json").read_text())["runs"]["ridge"]
    assert not [name for name in packed["measures"] if name.startswith("category.")]
    measures = read_results(tmp_path)["runs"]["ridge"]["measures"]
    assert {name: measures.get(name) for name in added} == added


def test_the_same_experiment_gives_the_same_bytes_from_an_empty_cache(tmp_path: Path) -> None:
    spelled = []
    for place in ("one", "other"):
        folder = tmp_path / place
        folder.mkdir()
        spelled.append(encode_results(results_of(folder, {"runs": TWO})))
    assert spelled[0] == spelled[1]


@for_each("damage", ["", "[]", "{", '{"format": 1}', '{"format": 2, "corpus": {}}'])
def test_what_is_not_results_is_refused_with_its_place(damage: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(damage)
    with pytest.raises(BadDataError) as caught:
        read_results(tmp_path)
    assert "results.json" in str(caught.value)


def test_seconds_stand_apart_and_come_in_as_measures(tmp_path: Path) -> None:
    sizes = {"small": 30, "large": 90}
    runs = {
        name: {"learner": "smo", "parameters": {"lam": 1e-2}, "train_documents": size}
        for name, size in sizes.items()
    }
    settings = {"corpus": {"learn": ["red"]}, "runs": runs, "scalings": {"svm": list(sizes)}}
    plan, context, timings = carried_out(tmp_path, settings)
    results = collect_results(plan, context)
    assert "seconds" not in encode_results(results)
    found = collect_timings(plan, context, timings)
    write_results_folder(tmp_path, results, found, lambda folder, seconds: None)
    read = get_run_measures(read_results(tmp_path))
    assert read["small"]["category.red.train_seconds"] == found["runs"]["small"]["category.red.train_seconds"]
    assert read["small"]["training.processor_seconds"] >= 0
    assert "scaling.exponent" in read["svm"]
    assert json.loads((tmp_path / "timings.json").read_text())["stages"]["train"] >= 0


def test_a_fetch_that_downloads_nothing_keeps_its_seconds(tmp_path: Path) -> None:
    first = merge_timings(tmp_path, {"stages": {"fetch": 7.0}, "built": {"fetch": 1}, "runs": {}})
    (tmp_path / "timings.json").write_text(json.dumps(first))
    again = merge_timings(tmp_path, {"stages": {"fetch": 0.1, "train": 2.0}, "built": {}, "runs": {}})
    assert again["stages"] == {"fetch": 7.0, "train": 2.0}


SMALL = {"runs": {"svm": {"learner": "smo", "parameters": {"lam": 1e-2}}}}


def test_stages_from_the_cache_have_the_seconds_of_their_artifacts(tmp_path: Path) -> None:
    first = carried_out(tmp_path, SMALL)
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "timings.json").write_text(json.dumps({"stages": {"train": 999.0}, "runs": {}}))
    again = carried_out(tmp_path, SMALL)
    stages = [merge_timings(folder, collect_timings(*each))["stages"] for each in (first, again)]
    assert stages[0]["train"] == stages[1]["train"] < 999.0


def test_a_comparison_of_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    settings = {"runs": TWO, "comparisons": {"x": {"left": "ridge", "right": "absent"}}}
    with pytest.raises(UsageError, match="absent"):
        carried_out(tmp_path, settings)


def test_timings_are_added_to_a_copy_of_the_results() -> None:
    results: dict[str, Any] = {"runs": {"one": {"measures": {"micro.f1": 50.0}}}, "beside": {}}
    before = json.dumps(results)
    seconds = {"one": {"training.seconds": 2.0}, "svm": {"scaling.exponent": 1.5}}
    found = get_run_measures(add_timings(results, {"runs": seconds}))
    assert found == {
        "one": {"micro.f1": 50.0, "training.seconds": 2.0},
        "svm": {"scaling.exponent": 1.5},
    }
    assert json.dumps(results) == before


def test_folds_pool_every_document_once(tmp_path: Path) -> None:
    settings = {"runs": {"bayes": TWO["bayes"]}, "resample": {"kind": "folds", "number": 3}}
    results = results_of(tmp_path, settings)
    measures = results["runs"]["bayes"]["measures"]
    red = [measures[f"category.red.{kind}"] for kind in ("tp", "fp", "fn", "tn")]
    assert sum(red) == 120
    assert np.isfinite(measures["micro.f1.mean"])
    assert get_run_measures(results)["collection"]["collection.train_documents"] == 120


def test_results_may_hold_only_the_largest_categories(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.textcat("run", str(place.experiment))
    whole = read_results(place.report)
    text = place.experiment.read_text()
    place.experiment.write_text(text.replace("runs:", "evaluation: {per_category: 2}\nruns:", 1))
    place.textcat("run", str(place.experiment))
    found = read_results(place.report)
    counts = whole["corpus"]["train_counts"]
    largest = sorted(counts, key=lambda name: -counts[name])[:2]
    assert len(counts) == found["corpus"]["categories"] == 3
    assert found["corpus"]["train_counts"] == {name: n for name, n in counts.items() if name in largest}
    (dropped,) = set(counts) - set(largest)
    for run, one in whole["runs"].items():
        kept = {name: v for name, v in one["measures"].items() if f"category.{dropped}." not in name}
        same = {name: v for name, v in found["runs"][run]["measures"].items() if "seconds" not in name}
        assert same == {name: v for name, v in kept.items() if "seconds" not in name}
    assert dropped not in (place.report / "table.md").read_text()
    assert place.textcat("compare", f"{place.experiment}:svm", "bayes")
    shutil.rmtree(place.data)
    with pytest.raises(DataNotAvailableError, match="no counts for each category"):
        place.textcat("compare", str(place.report) + ":svm", str(place.report) + ":bayes")


def test_a_report_makes_nothing_that_is_missing(tmp_path: Path) -> None:
    """A model that is gone is an error of the reader, not a reason to train."""
    plan, context, timings = carried_out(tmp_path, {"runs": {"bayes": {"learner": "naive_bayes"}}})
    results = collect_results(plan, context)
    model = context.store.locate_artifact(plan.chains[0].trained.recipe)
    shutil.rmtree(model)
    fresh = replace(context, results=tmp_path / "other")
    for read in (
        lambda: collect_results(plan, fresh),
        lambda: collect_timings(plan, fresh, timings),
        lambda: diagnose_runs(plan, fresh, results["runs"]),
    ):
        with pytest.raises(StageFailedError, match="not in the cache"):
            read()
    assert not model.exists()
