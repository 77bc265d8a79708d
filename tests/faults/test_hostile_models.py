"""Opening a model directory or a cache that someone else made runs nothing and ends in one message."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults.conftest import textcat
from tests.faults.workplace import Place
from tests.loops import for_each
from tests.serving.small_model import small_model
from textcat.errors import BadDataError, TextcatError
from textcat.serving.categorizer import Categorizer, read_categorizer, write_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.model_folders import CHECKSUMS
from textcat.store import Recipe, Store
from textcat.store.arrays import read_array, read_json, read_mask, read_matrix, write_array, write_json
from textcat.store.artifacts import ARTIFACT_MANIFEST

RUNS = ("bayes", "logistic", "svm", "winnow", "trees")


@pytest.fixture(scope="session")
def models(finished: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory for each kind of model."""
    place = Place(tmp_path_factory.mktemp("models"))
    shutil.copytree(finished.data, place.data)
    place.experiment.write_text(_with_trees(finished))
    arguments = ["train", str(place.experiment), "--data", str(place.data), "-j", "1"]
    done = textcat(*arguments)
    assert done.returncode == 0, done.stderr
    folder = place.data / "models" / "stages"
    for run in RUNS:
        _remove_checksums(folder / run)
    return folder


def _remove_checksums(folder: Path) -> None:
    """Make a model as earlier versions wrote it, so that the attacks reach the readers of its files."""
    (folder / CHECKSUMS).unlink()
    facts = read_json(folder, "categorizer")
    del facts["checksums"]
    write_json(folder, "categorizer", facts)


def _with_trees(finished: Place) -> str:
    data = yaml.safe_load(finished.experiment.read_text())
    data["runs"]["trees"] = {"learner": "perceptron_tree", "projection": {"dimensions": 5}}
    data["runs"]["trees"]["calibration"] = {"method": "isotonic", "folds": 2}
    data["runs"]["bayes"]["calibration"] = {"method": "platt", "folds": 2}
    data["runs"]["bayes"]["threshold"] = {"rule": "rcut", "per_document": "tuned"}
    return yaml.safe_dump(data)


def use(folder: Path) -> None:
    """Open and label, as predict does."""
    categorizer = read_categorizer(folder)
    scores = categorizer.scores([NewDocument("1", dict.fromkeys(categorizer.text.fields, "wheat and oil"))])
    assert categorizer.decisions(scores).shape == (1, len(categorizer.categories))
    probabilities = categorizer.probabilities(scores)
    assert probabilities is None or probabilities.shape == (1, len(categorizer.categories))


class Opener:
    """What a pickle would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("run", RUNS)
def test_sound_models_are_used(models: Path, run: str) -> None:
    use(models / run)


@pytest.mark.parametrize("name", ["model.coef.npy", "thresholds.npy", "vectorizer.seen.npy", "model.json"])
def test_pickles_are_not_opened(models: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(models / "logistic", tmp_path / "model"))
    marker = tmp_path / "ran"
    for content in (pickle.dumps(Opener(marker)), _object_array(Opener(marker), tmp_path)):
        (folder / name).write_bytes(content)
        with pytest.raises(BadDataError):
            use(folder)
        assert not marker.exists()


def _object_array(value: object, folder: Path) -> bytes:
    path = folder / "objects.npy"
    np.save(path, np.array([value], dtype=object), allow_pickle=True)
    return path.read_bytes()


@pytest.mark.parametrize(
    "kind", ["os:system", "textcat.linear.model:LinearModel", "subprocess:run", ["a"], {}, None]
)
def test_a_model_cannot_name_what_is_called(models: Path, tmp_path: Path, kind: object) -> None:
    folder = Path(shutil.copytree(models / "logistic", tmp_path / "model"))
    facts = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**facts, "class": kind}))
    with pytest.raises(BadDataError):
        use(folder)


def test_the_command_line_says_it_in_one_message(models: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(models / "logistic", tmp_path / "model"))
    (folder / "model.coef.npy").write_bytes(b"\x80\x04cos\nsystem\n")
    done = textcat("predict", str(folder), "/dev/null")
    assert done.returncode == 4
    assert "model.coef.npy" in done.stderr
    assert "Traceback" not in done.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ARRAYS = st.sampled_from(
    [
        np.zeros(0),
        np.zeros((3, 2)),
        np.full(7, np.nan),
        np.array(3),
        np.array(["a", "bc"]),
        np.arange(9, dtype=np.int32) - 3,
        np.full((2, 2), 10**9),
        np.zeros(5, dtype=bool),
        np.zeros(2, dtype=[("a", "f8")]),
        np.zeros(2, dtype="datetime64[s]"),
        np.frombuffer(b'["wheat","oil"]', dtype=np.uint8),
    ]
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_models_with_foreign_parts_work_or_are_refused(
    models: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    run = data.draw(st.sampled_from(RUNS))
    folder = tmp_path_factory.mktemp("hostile") / "model"
    shutil.copytree(models / run, folder)
    name = data.draw(st.sampled_from(sorted(path.name for path in folder.iterdir())))
    if name.endswith(".npy"):
        write_array(folder, name.removesuffix(".npy"), data.draw(ARRAYS))
    else:
        facts = read_json(folder, name.removesuffix(".json"))
        facts[data.draw(st.sampled_from(sorted(facts)))] = data.draw(JSON)
        (folder / name).write_text(json.dumps(facts))
    try:
        use(folder)
    except TextcatError as error:
        assert str(folder) in str(error)
    finally:
        shutil.rmtree(folder)


@settings(max_examples=150, deadline=None)
@given(content=JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_any_manifest_is_taken_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    store = Store(tmp_path_factory.mktemp("cache"))
    recipe = Recipe("train", 1)
    for whole in (
        content,
        b'{"recipe": %b, "files": {}}' % content,
        b'{"recipe": {}, "files": %b}' % content,
    ):
        folder = store.locate_artifact(recipe)
        folder.mkdir(parents=True)
        (folder / ARTIFACT_MANIFEST).write_bytes(whole)
        list(store.read_recipes("train"))
        assert store.find(recipe) is None
        assert not folder.exists()


def test_headers_that_promise_too_much_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(4))
    raw = (tmp_path / "x.npy").read_bytes()
    for shape in (
        b"(9**9,), }",
        b"(99999999999999,), }",
        b"(-4,), }",
        b"(4.0,), }",
        b"None, }",
        b"((4,),), }",
    ):
        at = raw.index(b"(4,), }")
        (tmp_path / "x.npy").write_bytes((raw[:at] + shape + raw[at + len(shape) :])[: len(raw)])
        for mapped in (False, True):
            with pytest.raises(BadDataError):
                read_array(tmp_path, "x", mapped=mapped)


@settings(max_examples=200, deadline=None)
@given(position=st.integers(0, 200), value=st.integers(0, 255), keep=st.integers(0, 200))
def test_any_bytes_are_an_array_or_refused(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int, keep: int
) -> None:
    folder = tmp_path_factory.mktemp("array")
    np.save(folder / "x.npy", np.arange(9.0))
    data = bytearray((folder / "x.npy").read_bytes())
    data[position % len(data)] = value
    (folder / "x.npy").write_bytes(bytes(data if keep > 150 else data[:keep]))
    try:
        assert read_array(folder, "x").nbytes <= 200
    except BadDataError as error:
        assert "x.npy" in str(error)


@for_each(
    ("part", "values"),
    [
        ("indices", np.array([0, 99])),
        ("indices", np.array([0, -1])),
        ("indices", np.array([0.0, 1.0])),
        ("indptr", np.array([0, 5, 2])),
        ("indptr", np.array([0, 2])),
        ("indptr", np.array([1, 1, 2])),
        ("data", np.array([1.0])),
        ("data", np.array(["a", "b"])),
        ("shape", np.array([2])),
        ("shape", np.array([np.nan, 2.0])),
        ("shape", np.array(2)),
    ],
)
def test_matrices_that_point_outside_are_refused(tmp_path: Path, part: str, values: np.ndarray) -> None:
    sound = {
        "data": np.ones(2),
        "indices": np.array([0, 1]),
        "indptr": np.array([0, 1, 2]),
        "shape": np.array([2, 3]),
    }
    for name, each in {**sound, part: values}.items():
        write_array(tmp_path, f"x.{name}", each)
    with pytest.raises(BadDataError):
        read_matrix(tmp_path, "x")


@for_each("shape", [np.array([99, 2]), np.array([-1, 2]), np.array([8]), np.array([1, 3])])
def test_masks_that_do_not_fit_are_refused(tmp_path: Path, shape: np.ndarray) -> None:
    write_array(tmp_path, "m.bits", np.zeros((1, 2), dtype=np.uint8))
    write_array(tmp_path, "m.shape", shape)
    with pytest.raises(BadDataError):
        read_mask(tmp_path, "m")


def test_pipes_in_place_of_files_do_not_hang(models: Path, tmp_path: Path) -> None:
    draw = random.Random(1)
    for run in RUNS:
        folder = Path(shutil.copytree(models / run, tmp_path / run))
        chosen = draw.choice(sorted(folder.iterdir()))
        chosen.unlink()
        os.mkfifo(chosen)
        with pytest.raises(BadDataError):
            use(folder)


def test_a_model_holds_its_stop_words_and_names_no_file(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("the\n")
    texts = ["the wheat corn", "the ship port", "the corn", "the port"] * 3
    labels = ["grain", "sea"] * 6
    Categorizer.fit(texts, labels, {"text": {"stop_list": str(path)}}).save(tmp_path / "model")
    expected = read_categorizer(tmp_path / "model").predict_proba(["the corn", "the"])
    path.unlink()
    again = read_categorizer(tmp_path / "model")
    assert np.array_equal(again.predict_proba(["the corn", "the"]), expected)
    assert again.words(again.make_documents(["the"])).nnz == 0
    again.save(tmp_path / "copy")
    assert np.array_equal(read_categorizer(tmp_path / "copy").predict_proba(["the corn", "the"]), expected)

    _remove_checksums(tmp_path / "copy")
    facts = read_json(tmp_path / "copy", "categorizer")
    facts["run"]["text"]["stop_list"] = facts["text"]["stop_list"] = "/dev/zero"
    write_json(tmp_path / "copy", "categorizer", facts)
    with pytest.raises(BadDataError, match="file of stop words"):
        read_categorizer(tmp_path / "copy")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("vectorizer.documents", np.array(0)),
        ("vectorizer.documents", np.array(5.0)),
        ("vectorizer.documents", np.array([5])),
        ("vectorizer.containing", np.array([4, 3, -5, 2, 6, 0])),
        ("vectorizer.containing", np.array([4, 3, 50, 2, 6, 0])),
        ("model.coef", np.ones((5, 2), dtype=complex)),
        ("model.coef", np.full((5, 2), "1")),
        ("model.intercept", np.zeros((2, 1))),
        ("thresholds", np.zeros(2, dtype=complex)),
    ],
)
def test_values_that_no_training_makes_are_refused(tmp_path: Path, name: str, values: np.ndarray) -> None:
    write_categorizer(tmp_path / "model", small_model())
    write_array(tmp_path / "model", name, values)
    _remove_checksums(tmp_path / "model")
    with pytest.raises(BadDataError):
        read_categorizer(tmp_path / "model")


def test_a_tree_of_too_many_categories_allocates_nothing(tmp_path: Path) -> None:
    settings = {
        "learner": "label_tree",
        "parameters": {"branches": 2, "leaf_labels": 2},
        "threshold": {"rule": "default"},
    }
    Categorizer.fit(
        ["a", "b", "c", "d"] * 3, [["a"], ["b"], ["c"], ["d"]] * 3, settings | {"calibration": None}
    ).save(tmp_path / "model")
    _remove_checksums(tmp_path / "model")
    facts = read_json(tmp_path / "model", "model")
    write_json(tmp_path / "model", "model", {**facts, "categories": 10**12})
    with pytest.raises(BadDataError, match="does not score 4 categories"):
        read_categorizer(tmp_path / "model")
