"""Shells complete commands, options and files, without heavy imports."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.loops import for_each

CALL = "from textcat.cli.main import main; main()"
LOADED = """
import atexit, sys
heavy = {"numpy", "scipy", "numba", "pydantic", "matplotlib"}
atexit.register(lambda: print("loaded", *(heavy & set(sys.modules)), file=sys.stderr))
"""


@for_each(
    ("words", "expected"),
    [
        ("textcat ru", "plain,run"),
        ("textcat train --off", "plain,--offline"),
        ("textcat list exp", "plain,experiments"),
        ("textcat run ./my", "file,./my"),
        ("textcat show ./my", "file,./my"),
        ("textcat predict models/my", "file,models/my"),
    ],
)
def test_lines_are_completed(words: str, expected: str) -> None:
    line = {
        "_TEXTCAT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    code = [sys.executable, "-c", LOADED + CALL]
    done = subprocess.run(code, env=os.environ | line, capture_output=True, text=True, check=False)
    assert done.stderr.split() == ["loaded"], done.stderr
    assert expected in done.stdout.splitlines()
