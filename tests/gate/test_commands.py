"""Without Reuters-21578 the gate is skipped on a developer's machine, and fails in continuous integration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gate import commands
from textcat.errors import DataNotAvailableError


@pytest.fixture(autouse=True)
def no_reuters(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_names: object, **_options: object) -> None:
        raise DataNotAvailableError("no source has it", hint="none")

    monkeypatch.setattr(commands, "fetch_corpus", refuse)


@pytest.mark.parametrize(("value", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_the_gate_without_reuters(
    value: str, outcome: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", value)
    with pytest.raises(outcome, match="Reuters-21578 is not available"):
        commands.reuters_in(tmp_path)
