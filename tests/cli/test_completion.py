"""Shells complete commands, options and names, without heavy imports and fast."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from textcat.cli import completion
from textcat.cli.main import COMMANDS, group
from textcat.corpora import list_corpora
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.published.printed_tables import PAPERS, load_paper

CALL = "from textcat.cli.main import main; main()"
LOADED = """
import atexit, sys
heavy = {"numpy", "scipy", "numba", "pydantic", "matplotlib"}
atexit.register(lambda: print("loaded", *(heavy & set(sys.modules)), file=sys.stderr))
"""


def complete_line(words: str, position: int | None = None, shell: str = "bash") -> list[str]:
    """Return the completions of the last word of a line."""
    index = len(words.split(" ")) - 1 if position is None else position
    current = words.split(" ")[index]
    settings = {"_TEXTCAT_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}
    # fish passes the word itself, other shells its position.
    if shell == "fish":
        settings["COMP_CWORD"] = current
    done = subprocess.run(
        [sys.executable, "-c", LOADED + CALL],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.split() == ["loaded"], done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("textcat ru", "run"),
        ("textcat run zhang_oles_2001/table", "zhang_oles_2001/table1"),
        ("textcat run zhang_2000/webkb reut", "reuters_modapte"),
        ("textcat train --off", "--offline"),
        ("textcat fetch reut", "reuters21578"),
        ("textcat show zhang_oles_2001.", "zhang_oles_2001.table2"),
        ("textcat list exp", "experiments"),
        ("textcat cite gao", "gao_2003"),
        ("textcat completion f", "fish"),
    ],
)
def test_names_are_completed_without_heavy_imports(words: str, expected: str) -> None:
    assert f"plain,{expected}" in complete_line(words)


def test_an_unknown_prefix_is_completed_with_files() -> None:
    assert complete_line("textcat run ./my") == ["file,./my"]


def test_an_unknown_command_has_no_completions() -> None:
    assert not [line for line in complete_line("textcat rum reut") if "reut" in line]


def test_trained_models_are_complete_line(tmp_path: Path) -> None:
    model = tmp_path / "models" / "paper" / "table" / "logistic"
    model.mkdir(parents=True)
    (model / "categorizer.json").write_text("{}")
    for command in ("predict", "explain"):
        assert f"plain,{model}" in complete_line(f"textcat {command} --data {tmp_path} {tmp_path}/mod")


def test_runs_with_results_are_completed(tmp_path: Path) -> None:
    folder = tmp_path / "paper" / "table"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text('{"runs": {"svm": {}, "logistic": {}}}')
    assert completion.list_run_names(tmp_path, "pap") == ["paper/table:"]
    assert completion.list_run_names(tmp_path, "paper/table:l") == [
        "paper/table:svm",
        "paper/table:logistic",
    ]
    assert completion.list_run_names(tmp_path, "nothing:l") == []


@pytest.mark.parametrize("content", ["", "[]", "7", '{"runs": [1]}', '{"runs": null}', "[" * 100_000])
def test_damaged_results_complete_to_nothing(content: str, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "results.json").write_text(content)
    assert completion.list_run_names(tmp_path, "table:l") == []


def test_completed_names_equal_the_loaded_ones() -> None:
    assert completion.list_collection_names() == list(list_corpora())
    assert completion.list_experiment_names() == list(find_experiment_files())
    assert completion.list_paper_names() == sorted(PAPERS)
    assert sorted(completion.list_table_names()) == sorted(
        f"{paper}.{table}" for paper in PAPERS for table in load_paper(paper).tables
    )


def test_completion_takes_little_processor_time() -> None:
    def seconds(code: str, **settings: str) -> float:
        best = float("inf")
        for _ in range(5):
            before = os.times()
            subprocess.run(
                [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, check=False
            )
            after = os.times()
            best = min(best, after[2] + after[3] - before[2] - before[3])
        return best

    line = {"_TEXTCAT_COMPLETE": "bash_complete", "COMP_WORDS": "textcat show z", "COMP_CWORD": "2"}
    assert seconds(CALL, **line) < 0.2 + seconds("pass")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed(shell: str) -> None:
    result = CliRunner().invoke(group, ["completion", shell])
    assert result.exit_code == 0
    assert f"{shell}_complete" in result.output
    assert "_TEXTCAT_COMPLETE" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_completes(shell: str, tmp_path: Path) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} on this machine")
    program = tmp_path / "textcat"
    program.write_text(f"#!{sys.executable}\n{CALL}\n")
    program.chmod(0o755)
    script = CliRunner().invoke(group, ["completion", shell]).output
    ask = {
        "bash": 'COMP_WORDS=(textcat run reut); COMP_CWORD=2; _textcat_completion textcat; echo "${COMPREPLY[@]}"',
        "zsh": "_textcat_completion",
        "fish": 'complete -C "textcat run reut"',
    }[shell]
    if shell == "zsh":
        # Without its line editor zsh has no widgets: print the arguments of the functions.
        shown = (
            'compadd() { print -rl -- "$@"; print -rl -- $completions }; _describe() { print -rl -- ${(P)3} }'
        )
        script = "compdef() { : }\n" + script + f"\n{shown}\nwords=(textcat run reut); CURRENT=3"
    (tmp_path / "try").write_text(f"{script}\n{ask}\n")
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [found, str(tmp_path / "try")],
        env=os.environ | {"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "reuters_modapte" in done.stdout, done.stderr


def test_every_command_is_offered() -> None:
    assert [line.removeprefix("plain,") for line in complete_line("textcat ", 1)][: len(COMMANDS)] == list(
        COMMANDS
    )
