"""Every error message ends with what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import textcat
from tests.loops import for_each
from textcat import errors
from textcat.cli.main import _describe_error, main
from textcat.errors import TextcatError

PACKAGE = Path(textcat.__file__).parent
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
PLACED = "error_at"


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    """Yield (location, call, name) of every error that is created."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = _name(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and (name in KINDS or name == PLACED):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node, name


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    of_click = isinstance(function, ast.Attribute) and ast.unparse(function.value) == "click"
    return function.attr if isinstance(function, ast.Attribute) and not of_click else ""


def find_hint(call: ast.Call, name: str) -> ast.expr | None:
    """Return the expression of the hint."""
    named = next((each.value for each in call.keywords if each.arg == "hint"), None)
    return call.args[2] if named is None and name == PLACED and len(call.args) > 2 else named


def test_every_error_says_what_to_do() -> None:
    found = list(calls())
    assert len(found) > 200
    without = [
        place
        for place, call, name in found
        if find_hint(call, name) is None or (getattr(find_hint(call, name), "value", "some") == "")
    ]
    assert not without


def test_hints_are_sentences() -> None:
    for place, call, name in calls():
        hint = find_hint(call, name)
        if isinstance(hint, ast.Constant):
            text = str(hint.value)
            assert text[0].isupper() or text[0] == "`", place
            assert text.endswith("."), place


BROKEN = {
    "not yaml": "title: [",
    "a list": "- title",
    "unknown key": "title: t\ncorpus: {name: csv}\nrums: {}\n",
    "missing key": "title: t\ncorpus: {name: csv}\n",
    "wrong type": "title: t\ncorpus: {name: csv}\nseed: many\nruns: {a: {learner: CLG}}\n",
    "wrong mapping": "title: t\ncorpus: {name: csv}\nseed: {}\nruns: {a: {learner: CLG}}\n",
    "no learner": "title: t\ncorpus: {name: csv}\nruns: {a: {learner: CGL}}\n",
    "no documents": "title: t\ncorpus: {name: csv, path: no.csv}\nruns: {a: {learner: CLG}}\n",
    "a date": "title: 2001-01-01\n",
    "no collection": "title: t\ncorpus: {name: routers}\nruns: {a: {learner: CLG}}\n",
}


@for_each("kind", list(BROKEN))
def test_messages_of_broken_experiments_end_with_what_to_do(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[TextcatError] = []
    monkeypatch.setattr(
        "textcat.cli.main._describe_error", lambda error: seen.append(error) or _describe_error(error)
    )
    experiment = tmp_path / "mine.yaml"
    experiment.write_text(BROKEN[kind])
    with pytest.raises(SystemExit):
        main(["run", str(experiment), "--data", str(tmp_path / "data"), "--offline"])
    last = capsys.readouterr().err.rstrip().splitlines()[-1]
    assert seen
    assert seen[0].hint.splitlines()[-1] == last
    assert last.endswith((".", "?"))
