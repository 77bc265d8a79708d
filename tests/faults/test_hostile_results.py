"""Every command that reads results names the damaged file and says what to do; damaged timings are ignored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.loops import for_each
from textcat.cli.main import main
from textcat.errors import BadDataError
from textcat.experiment.run.results_file import read_results

# With tables, a figure and counts of each category.
EXPERIMENT = "zhang_oles_2001/table1"
COMMITTED = PROJECT / "results" / EXPERIMENT

FOREIGN: dict[str, bytes] = {
    "nothing": b"",
    "half an object": b'{"format": 2, "runs":',
    "a list": b"[]",
    "null": b"null",
    "a number": b"7",
    "a text": b'"x"',
    "no UTF-8": b"\xff\xfe\x00",
    "nested lists": b"[" * 100_000,
    "nested objects": b'{"runs":' * 100_000,
    "a huge number": b'{"stages": {"train": 1' + b"0" * 5000 + b'}, "runs": {}}',
}

HOSTILE_TIMINGS: dict[str, bytes] = FOREIGN | {
    name: json.dumps(value).encode()
    for name, value in {
        "no runs": {"stages": {}},
        "no stages": {"runs": {}},
        "stages of a list": {"stages": [1], "runs": {}},
        "stages of null": {"stages": None, "runs": {}},
        "seconds of text": {"stages": {"train": "7"}, "runs": {}},
        "seconds of null": {"stages": {"train": None}, "runs": {}},
        "seconds of infinity": {"stages": {"train": float("inf")}, "runs": {}},
        "seconds beyond a float": {"stages": {"train": 10**400}, "runs": {}},
        "runs of a list": {"stages": {}, "runs": ["svm"]},
        "a run of a list": {"stages": {}, "runs": {"svm": [1]}},
        "a run of text": {"stages": {}, "runs": {"svm": "fast"}},
        "a measure of text": {"stages": {}, "runs": {"svm": {"training.seconds": "1"}}},
        "a measure of the gate": {"stages": {}, "runs": {"svm": {"micro.f1": 99.9}}},
    }.items()
}


def _without(*path: str) -> Callable[[Any], Any]:
    def change(results: Any) -> None:
        part = results
        for step in path[:-1]:
            part = _step(part, step)
        del part[path[-1]]

    return change


def _with(value: Any, *path: str) -> Callable[[Any], Any]:
    def change(results: Any) -> None:
        part = results
        for step in path[:-1]:
            part = _step(part, step)
        part[path[-1]] = value

    return change


def _step(part: Any, step: str) -> Any:
    """A member, or the first one for `*`."""
    return part[next(iter(part))] if step == "*" else part[step]


TOP = ("format", "experiment", "figures", "tables", "corpus", "settings", "runs", "beside", "version")
OF_A_RUN = ("title", "settings", "signature", "measures", "by_category", "certificates")
OF_THE_CORPUS = ("name", "fingerprint", "train_counts", "categories_in_order", "test_documents")
COUNT = ("runs", "*", "by_category", "tp")

CHANGES: dict[str, Callable[[Any], Any]] = {
    **{f"no {name}": _without(name) for name in TOP},
    **{f"null as {name}": _with(None, name) for name in TOP},
    **{f"a list as {name}": _with([1], name) for name in TOP},
    **{f"no {name} of a run": _without("runs", "*", name) for name in OF_A_RUN},
    **{f"null as {name} of a run": _with(None, "runs", "*", name) for name in OF_A_RUN},
    **{f"no {name} of the corpus": _without("corpus", name) for name in OF_THE_CORPUS},
    **{f"a number as {name} of the corpus": _with(-7, "corpus", name) for name in OF_THE_CORPUS},
    "a run of null": _with(None, "runs", "new"),
    "a measure of text": _with("9", "runs", "*", "measures", "micro.f1"),
    "a measure of a list": _with([9], "runs", "*", "measures", "micro.f1"),
    "a measure of true": _with(True, "runs", "*", "measures", "micro.f1"),
    "a measure of infinity": _with(float("inf"), "runs", "*", "measures", "micro.f1"),
    "a measure of no number": _with(float("nan"), "runs", "*", "measures", "micro.f1"),
    "a measure beyond a float": _with(10**400, "runs", "*", "measures", "micro.f1"),
    "a measure beside of text": _with("9", "beside", "collection", "measures", "x"),
    "no measures beside": _without("beside", "collection", "measures"),
    "counts of too few": _with([1], *COUNT),
    "counts of text": _with(["1"], *COUNT),
    "counts of a number": _with(1, *COUNT),
    "certificates of two lengths": _with({"a": [1], "b": []}, "runs", "*", "certificates"),
    "certificates of numbers": _with({"a": 1}, "runs", "*", "certificates"),
    "a category twice": lambda results: results["corpus"]["categories_in_order"].append("earn"),
    "another category": _with(7, "corpus", "train_counts", "new"),
    "a count below zero": lambda results: _step(results["runs"], "*")["by_category"]["tp"].__setitem__(0, -1),
    "a count of a half": lambda results: _step(results["runs"], "*")["by_category"]["tp"].__setitem__(0, 0.5),
    "a count beyond 64 bits": lambda results: _step(results["runs"], "*")["by_category"]["fp"].__setitem__(
        0, 2**70
    ),
    "no settings of evaluation": _without("runs", "*", "settings", "evaluation"),
    "another division by zero": _with("never", "runs", "*", "settings", "evaluation", "zero_division"),
    "a name that leads out of the folder": _with("../../etc", "experiment"),
    "a name from the root": _with("/etc", "experiment"),
    "a name with NUL": _with("a\0b", "experiment"),
    "a name without end": _with("a" * 5000, "experiment"),
    "half a character as title": _with("\ud800", "title"),
}

COMMANDS = [
    ["check", "{folder}"],
    ["report", "--matrix"],
    ["compare", "{folder}:{left}", "{right}", "--json"],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of committed results below a results folder."""
    folder = tmp_path / "results" / EXPERIMENT
    folder.mkdir(parents=True)
    for name in ("results.json", "timings.json"):
        shutil.copyfile(COMMITTED / name, folder / name)
    return folder


def _leave(folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command on the results."""
    results = folder.parents[1]
    left, right = list(json.loads((COMMITTED / "results.json").read_text())["runs"])[:2]
    filled = [each.format(folder=folder, left=left, right=right) for each in command]
    where = ["--results", str(results), "--data", str(results.parent / "data")]
    with pytest.raises(SystemExit) as leaving:
        main([*filled, *where])
    captured = capsys.readouterr()
    return int(str(leaving.value.code)), captured.out, captured.err


def _hostile_results() -> Iterator[tuple[str, bytes]]:
    yield from FOREIGN.items()
    for name, change in CHANGES.items():
        results = json.loads((COMMITTED / "results.json").read_bytes())
        change(results)
        yield name, json.dumps(results).encode()


@for_each(("name", "content"), _hostile_results())
def test_hostile_results_are_one_message(
    folder: Path, name: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "results.json").write_bytes(content)
    with pytest.raises(BadDataError, match="not readable as results"):
        read_results(folder)
    for command in COMMANDS if name in FOREIGN else COMMANDS[:1]:
        code, out, said = _leave(folder, command, capsys)
        assert (code, out) == (4, ""), said
        assert said.startswith(f"Error: {folder / 'results.json'}: not readable as results: "), said
        assert "textcat run" in said.splitlines()[-1]
        assert len(said) < 1000


@for_each("command", COMMANDS[:1])
def test_hostile_timings_are_ignored_with_a_word(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "timings.json"
    path.unlink()
    code, out, _ = _leave(folder, command, capsys)
    for name, content in HOSTILE_TIMINGS.items():
        path.write_bytes(content)
        now, shown, said = _leave(folder, command, capsys)
        assert (now, shown) == (code, out), (name, said)
        # A comparison reads the results of both sides.
        words = said.count(f"{path}: ignored, not readable as timings: ")
        assert words == (2 if command[0] == "compare" else 1), (name, said)
        assert "fault" not in said, name
    assert "timings" not in _leave(folder, [*command, "--quiet"], capsys)[2]


def test_the_largest_numbers_are_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = json.loads((folder / "results.json").read_bytes())
    for value in (9e299, -9e299, 1e-300, 0, None):
        for run in (*results["runs"].values(), *results["beside"].values()):
            run["measures"] = dict.fromkeys(run["measures"], value)
        (folder / "results.json").write_text(json.dumps(results))
        for command in COMMANDS:
            code, _, said = _leave(folder, command, capsys)
            assert "fault" not in said, (command, value)
            assert code == (1 if command[0] == "check" else 0), (command, value, said)


def test_results_of_one_experiment_in_two_folders_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy must not hide that the other one got worse."""
    assert _leave(folder, ["check"], capsys)[0] == 0
    copy = folder.with_name(f"{folder.name}.bak")
    shutil.copytree(folder, copy)
    results = json.loads((folder / "results.json").read_bytes())
    for run in results["runs"].values():
        run["measures"] = dict.fromkeys(run["measures"], 1.0)
    (folder / "results.json").write_text(json.dumps(results))
    assert _leave(folder, ["check", "{folder}"], capsys)[0] == 1
    for command in (["check"], ["check", "{folder}", str(copy)], ["report", "--matrix"]):
        code, out, said = _leave(folder, command, capsys)
        assert (code, out) == (2, "")
        assert str(folder) in said
        assert str(copy) in said
