"""Files that extend others, settings that runs share, and patches, against plain merging of dictionaries."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.experiment.run.reading_plan import apply_patch
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.experiment.spec.experiment import (
    OPTIONAL_SECTIONS,
    SHARED_BY_RUNS,
    Experiment,
    SearchSettings,
)
from textcat.experiment.spec.loading import load_experiment, read_experiment_source

KEYS = ["a", "b", "c"]
plain = st.recursive(
    st.one_of(st.none(), st.integers(0, 9), st.lists(st.integers(0, 9), max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
files = st.lists(st.dictionaries(st.sampled_from(KEYS), plain, max_size=3), min_size=1, max_size=4)


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Mappings are merged key by key, other values replace, null removes."""
    merged = deepcopy(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge(merged[key], value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = deepcopy(value)
    return merged


def list_leaves(value: Any, keys: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [keys, *(path for key, inner in value.items() for path in list_leaves(inner, (*keys, key)))]
    return [keys]


@given(files)
@settings(max_examples=60, deadline=None)
def test_a_chain_of_files_is_merged_from_the_first_to_the_last(tmp_path_factory, contents) -> None:
    """Each key has the place of the last file that gives it."""
    folder = tmp_path_factory.mktemp("chain")
    expected: dict[str, Any] = {}
    for number, data in enumerate(contents):
        text = f"extends: {number - 1}.yaml\n" if number else ""
        (folder / f"{number}.yaml").write_text(text + (yaml.safe_dump(data) if data else ""))
        expected = merge(expected, data) if number else deepcopy(data)
    source = read_experiment_source(folder / f"{len(contents) - 1}.yaml")
    assert source.data == expected
    for path in list_leaves(expected)[1:]:
        last = max(number for number, data in enumerate(contents) if _holds(data, path))
        assert source.places[path].file.name == f"{last}.yaml"
    assert source.places[()].file.name == f"{len(contents) - 1}.yaml"


def _holds(data: Any, path: tuple[Any, ...]) -> bool:
    for key in path:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def test_a_file_that_two_others_extend_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from textcat.experiment.spec import loading

    (tmp_path / "base.yaml").write_text("a: 1\n")
    (tmp_path / "left.yaml").write_text("extends: base.yaml\nb: 2\n")
    (tmp_path / "right.yaml").write_text("extends: base.yaml\nc: 3\n")
    (tmp_path / "own.yaml").write_text("extends: [left.yaml, right.yaml]\n")
    read, opened = loading.read_yaml, []
    monkeypatch.setattr(loading, "read_yaml", lambda path: opened.append(path.name) or read(path))
    assert read_experiment_source(tmp_path / "own.yaml").data == {"a": 1, "b": 2, "c": 3}
    assert sorted(opened) == ["base.yaml", "left.yaml", "own.yaml", "right.yaml"]


@for_each(
    ("line", "message"),
    [
        ("extends: 3", "names one experiment or its file"),
        ("extends: []", "names one experiment or its file"),
        ("extends: [a.yaml, 3]", "names one experiment or its file"),
        (f"extends: [{', '.join(['a.yaml'] * 101)}]", "more than 100 files"),
    ],
)
def test_extends_is_a_file_or_a_list_of_files(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("b: 1\n")
    (tmp_path / "own.yaml").write_text(f"title: t\n{line}\n")
    with pytest.raises(UsageError, match=message) as caught:
        read_experiment_source(tmp_path / "own.yaml")
    assert "own.yaml:2:1" in str(caught.value)


@for_each(("files_in_chain", "refused"), [(50, False), (51, True)])
def test_a_chain_may_have_fifty_files(files_in_chain: int, refused: bool, tmp_path: Path) -> None:
    for number in range(files_in_chain):
        extends = f"extends: {number + 1}.yaml\n" if number < files_in_chain - 1 else ""
        (tmp_path / f"{number}.yaml").write_text(f"{extends}k{number}: 1\n")
    if refused:
        with pytest.raises(UsageError, match="more than 50 files"):
            read_experiment_source(tmp_path / "0.yaml")
    else:
        assert len(read_experiment_source(tmp_path / "0.yaml").data) == files_in_chain


# A value other than the default for a key of every section that runs share.
CHANGED: dict[str, dict[str, Any]] = {
    "text": {"stem": "porter_martin", "lowercase": False},
    "vector": {"weighting": "tf", "minimum_documents": 3},
    "selection": {"score": "chi_square", "minimum_documents": 2},
    "projection": {"dimensions": 7, "length": 2.0},
    "calibration": {"method": "isotonic", "folds": 3},
    "reject": {"coverage": 0.9, "label": "other"},
    "threshold": {"rule": "scut", "folds": 4},
    "evaluation": {"zero_division": 0, "largest": [2]},
}


@for_each("section", SHARED_BY_RUNS)
def test_a_run_overrides_single_keys_of_a_shared_section(section: str) -> None:
    """The run has its own value of one key, the experiment's of the other, and other runs have both of the latter."""
    (first, one), (second, other) = CHANGED[section].items()
    run_default = getattr(_validate({}, {}).runs["r"], section)
    experiment = _validate({section: {first: one, second: other}}, {})
    assert (getattr(getattr(experiment.runs["r"], section), first)) == one
    own = {**({"dimensions": 9} if section == "projection" else {})}
    mixed = _validate({section: {second: other, **own}}, {section: {first: one}})
    found = getattr(mixed.runs["r"], section)
    assert (getattr(found, first), getattr(found, second)) == (one, other)
    untouched = getattr(mixed.runs["s"], section)
    assert getattr(untouched, second) == other
    assert getattr(untouched, first) != one
    assert (run_default is None) == (section in OPTIONAL_SECTIONS)


def _validate(shared: dict[str, Any], own: dict[str, Any]) -> Experiment:
    runs = {"r": {"learner": "CLG", **own}, "s": {"learner": "CLG"}}
    data: dict[str, Any] = {"corpus": {"name": "reuters21578"}, "runs": runs, **shared}
    if "reject" in {**shared, **own}:
        # Rejecting needs calibrated probabilities of one category per document.
        data |= {
            "corpus": {"name": "reuters21578", "single_label": True},
            "calibration": {"method": "temperature"},
        }
    return Experiment.model_validate(data)


@for_each("name", list(find_experiment_files()))
def test_a_resolved_experiment_resolves_to_itself(name: str) -> None:
    """What `textcat show` prints can be read again, and is the same experiment."""
    experiment = load_experiment(name)
    spelled = json.loads(experiment.model_dump_json())
    assert json.loads(Experiment.model_validate(spelled).model_dump_json()) == spelled


BASE: dict[str, Any] = {
    "corpus": {"name": "reuters21578", "options": {}},
    "text": {"stem": "none"},
    "runs": {
        "a": {"learner": "CLG", "parameters": {"lam": 1.0}},
        "b": {"learner": "CLS"},
        "c": {"learner": "naive_bayes", "search": {"parameter": "lam", "grid": [1.0]}},
    },
}


@for_each(
    ("path", "value", "changed"),
    [
        ("text.stem", "porter_martin", {("text", "stem"): "porter_martin"}),
        ("vector.weighting", "tf", {("vector", "weighting"): "tf"}),
        ("corpus.options.side", "x", {("corpus", "options", "side"): "x"}),
        ("runs.*.title", "T", {("runs", run, "title"): "T" for run in "abc"}),
        ("runs.a|c.title", "T", {("runs", run, "title"): "T" for run in "ac"}),
        ("runs.a|absent.title", "T", {("runs", "a", "title"): "T"}),
        ("runs.learner:CLS|CLG.title", "T", {("runs", run, "title"): "T" for run in "ab"}),
        ("runs.*.parameters.lam", 0.5, {("runs", run, "parameters", "lam"): 0.5 for run in "abc"}),
        ("runs.*.parameters.cost", 2.0, {("runs", run, "parameters", "cost"): 2.0 for run in "ab"}),
        ("runs.*.search.grid", [2.0], {("runs", "c", "search", "grid"): [2.0]}),
        ("projection.dimensions", 5, {}),
        ("calibration.method", "platt", {}),
        ("resample.number", 3, {}),
    ],
)
def test_a_patch_sets_what_it_names_and_nothing_else(path: str, value: Any, changed: dict[Any, Any]) -> None:
    before = deepcopy(BASE)
    found = apply_patch(BASE, {path: value})
    expected = deepcopy(BASE)
    for keys, new in changed.items():
        section = expected
        for key in keys[:-1]:
            section = section.setdefault(key, {})
        section[keys[-1]] = new
    assert found == expected
    assert before == BASE
    assert apply_patch(found, {path: value}) == found


def test_a_search_per_category_goes_by_likelihood() -> None:
    chosen = {"parameter": "lam", "grid": [1.0], "per_category": True}
    assert SearchSettings(**chosen, criterion="log-likelihood").per_category
    with pytest.raises(ValueError, match="criterion is log-likelihood"):
        SearchSettings(**chosen)


@for_each(
    ("section", "message"),
    [
        ({"comparisons": {"c": {"left": "r", "right": "absent"}}}, "names the run 'absent'"),
        ({"scalings": {"c": ["r", "absent"]}}, "names the run 'absent'"),
        (
            {
                "comparisons": {"c": {"left": "r", "right": "s"}},
                "resample": {"kind": "splits", "number": 2},
            },
            "random splits overlap",
        ),
        ({"scalings": {"c": ["r"]}}, "at least 2"),
        ({"runs": {}}, "at least 1"),
    ],
)
def test_comparisons_name_runs_that_exist(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _validate(section, {})
    assert _validate({"comparisons": {"c": {"left": "r", "right": "s"}}}, {}).comparisons["c"].left == "r"


def test_an_experiment_is_extended_by_name(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text("extends: reuters_modapte\n")
    (tmp_path / "own.yaml").write_text("extends: parent.yaml\ntext: {tokenizer: alphanumeric}\n")
    own, published = load_experiment(tmp_path / "own.yaml"), load_experiment("reuters_modapte")
    assert own.name == "own"
    assert own.tables == published.tables
    assert own.extended[:2] == ("parent", "reuters_modapte")
    assert published.extended[0] == "zhang_oles_2001/_six_methods"
    (tmp_path / "own.yaml").write_text("extends: reuters_modapt\n")
    with pytest.raises(UsageError, match="no experiment 'reuters_modapt'") as caught:
        load_experiment(tmp_path / "own.yaml")
    assert "own.yaml:1:1" in str(caught.value)
    assert "Did you mean reuters_modapte?" in str(caught.value)
