"""Work grows in proportion to the input: twice the input takes about twice the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.steps import count_steps
from textcat.errors import UsageError
from textcat.experiment.run.results_file import _pack, _unpack, encode_results
from textcat.experiment.spec.loading import read_experiment_source

MOST = 2.3


def make_results(categories: list[str], kinds: tuple[str, ...] = ("f1", "precision", "tp")) -> dict[str, Any]:
    measures = {
        f"category.{name}.{kind}": position + len(kind) / 10
        for position, name in enumerate(categories)
        for kind in kinds
    }
    return {
        "corpus": {"train_counts": dict.fromkeys(categories, 1), "categories": len(categories)},
        "runs": {"one": {"measures": {"micro.f1": 0.5, **measures}, "certificates": []}},
        "beside": {},
    }


def test_results_grow_with_the_number_of_categories() -> None:
    small, large = (make_results([f"c{k}" for k in range(n)]) for n in (300, 600))
    assert count_steps(lambda: encode_results(large)) < MOST * count_steps(lambda: encode_results(small))


@pytest.mark.parametrize("kinds", [("f1", "precision", "tp"), ("f1.mean", "f1.sd", "tp.mean")])
def test_categories_with_dots_are_not_mixed_up(kinds: tuple[str, ...]) -> None:
    results = make_results(["a", "a.f1", "a.f1.mean", "b."], kinds)
    packed = _pack(results)
    assert sorted(packed["runs"]["one"]["by_category"]) == sorted(kinds)
    assert packed["runs"]["one"]["measures"] == {"micro.f1": 0.5}
    assert _unpack(packed)["runs"]["one"]["measures"] == results["runs"]["one"]["measures"]


def test_files_that_extend_others_twice_are_read_once(tmp_path: Path) -> None:
    def chain(length: int) -> Path:
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / "0.yaml").write_text("title: base\n")
        for number in range(1, length):
            parent = f"{number - 1}.yaml"
            (folder / f"{number}.yaml").write_text(f"extends: [{parent}, {parent}]\nkey{number}: 1\n")
        return folder / f"{length - 1}.yaml"

    short, long = chain(5), chain(10)
    few, many = (count_steps(lambda path=path: read_experiment_source(path)) for path in (short, long))
    assert many < 5 * few
    source = read_experiment_source(chain(30))
    assert source.data["title"] == "base"
    assert source.find_place(("key3",)).file.name == "3.yaml"


@pytest.mark.parametrize("nested", [False, True])
def test_overlaid_keys_take_steps_in_proportion(tmp_path: Path, nested: bool) -> None:
    def pair(number: int) -> Path:
        top, indent = ("metadata:\n", "  ") if nested else ("", "")
        for name, first in (("below", ""), ("above", f"extends: below{number}.yaml\n")):
            lines = "".join(f"{indent}k{k}: [{k}, {k}]\n" for k in range(number))
            (tmp_path / f"{name}{number}.yaml").write_text(first + top + lines)
        return tmp_path / f"above{number}.yaml"

    small, large = (
        count_steps(lambda path=path: read_experiment_source(path)) for path in (pair(200), pair(400))
    )
    assert large < MOST * small


def test_places_follow_what_was_replaced(tmp_path: Path) -> None:
    (tmp_path / "below.yaml").write_text("a: {x: [1, 2], y: 2}\nb: 1\nc: {z: 1}\n")
    (tmp_path / "above.yaml").write_text("extends: below.yaml\na: {x: 3}\nb: null\nc: [4]\n")
    source = read_experiment_source(tmp_path / "above.yaml")
    assert source.data == {"a": {"x": 3, "y": 2}, "c": [4]}
    named = {keys: place.file.stem for keys, place in source.places.items()}
    named.pop(("extends",), None)
    assert named == {
        (): "above",
        ("a",): "above",
        ("a", "x"): "above",
        ("a", "y"): "below",
        ("c",): "above",
        ("c", 0): "above",
    }


@pytest.mark.parametrize("what", ["files", "generations"])
def test_extends_has_limits(tmp_path: Path, what: str) -> None:
    (tmp_path / "0.yaml").write_text("title: base\n")
    if what == "files":
        (tmp_path / "last.yaml").write_text(f"extends: [{', '.join(['0.yaml'] * 5000)}]\n")
    else:
        for number in range(1, 2000):
            (tmp_path / f"{number}.yaml").write_text(f"extends: {number - 1}.yaml\n")
        (tmp_path / "last.yaml").write_text("extends: 1999.yaml\n")
    with pytest.raises(UsageError, match="more than"):
        read_experiment_source(tmp_path / "last.yaml")
