"""Shell completion of names, read from files without heavy imports, so that it is fast."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import textcat
from textcat.cli.options import add_common_options, read_command_settings

_TABLE = re.compile(r"^  (\w+):", re.MULTILINE)

CompletionItems = list[CompletionItem]
Completer = Callable[[click.Context, click.Parameter, str], CompletionItems]


def list_experiment_names() -> list[str]:
    """List the names of experiments."""
    from textcat.experiment.spec.config_files import find_experiment_files

    return list(find_experiment_files())


def list_collection_names() -> list[str]:
    """List the names of collections."""
    return sorted(path.stem for path in (Path(textcat.__file__).parent / "corpora/tables").glob("*.yaml"))


def list_paper_names() -> list[str]:
    """List the reproduced papers."""
    return sorted({table.partition(".")[0] for table in list_table_names()})


def list_table_names() -> list[str]:
    """List the printed tables: the keys under `tables:` in the files of the papers."""
    found = []
    for path in sorted((Path(textcat.__file__).parent / "published").glob("*_[0-9]*.yaml")):
        _, _, tables = path.read_text(encoding="utf-8").partition("\ntables:\n")
        found += [f"{path.stem}.{name}" for name in _TABLE.findall(tables)]
    return found


def list_run_names(results: Path, incomplete: str) -> list[str]:
    """List `EXPERIMENT:` for every experiment with results; after the colon, list its runs."""
    experiment, colon, _ = incomplete.partition(":")
    if not colon:
        found = sorted(path.parent.relative_to(results) for path in results.rglob("results.json"))
        return [f"{path.as_posix()}:" for path in found]
    try:
        text = (results / experiment / "results.json").read_text(encoding="utf-8")
        return [f"{experiment}:{run}" for run in dict(json.loads(text)["runs"])]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _make_completer(*sources: Callable[[], list[str]]) -> Completer:
    """Return a click completer for the names of all sources, or files."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> CompletionItems:
        names = [name for list_names in sources for name in list_names()]
        return _complete_names(names, incomplete, otherwise="file")

    return complete


complete_experiments = _make_completer(list_experiment_names)
complete_papers_and_experiments = _make_completer(list_paper_names, list_experiment_names)
complete_collections = _make_completer(list_collection_names)
complete_shown_names = _make_completer(list_collection_names, list_table_names, list_experiment_names)
complete_cited_names = _make_completer(
    lambda: ["textcat"], list_paper_names, list_collection_names, list_experiment_names
)


def complete_models(context: click.Context, _parameter: click.Parameter, incomplete: str) -> CompletionItems:
    """Complete model directories or any folder."""
    data = Path(context.params.get("data") or "data")
    names = [str(path.parent) for path in sorted((data / "models").rglob("categorizer.json"))]
    return _complete_names(names, incomplete, otherwise="dir")


def complete_runs(context: click.Context, _parameter: click.Parameter, incomplete: str) -> CompletionItems:
    """Complete EXPERIMENT:RUN or any folder."""
    results = Path(context.params.get("results") or "results")
    return _complete_names(list_run_names(results, incomplete), incomplete, otherwise="dir")


def _complete_names(names: Iterable[str], incomplete: str, otherwise: str) -> CompletionItems:
    """Return the names with this prefix; without any, let the shell complete files."""
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type=otherwise)]


SHELLS = ("bash", "zsh", "fish")


@click.command("completion", epilog='Example:  eval "$(textcat completion bash)"')
@click.argument("shell", type=click.Choice(SHELLS))
@add_common_options
def completion_command(shell: str, **settings: Any) -> None:
    """Print a completion script for commands, options, experiments, collections, tables and models.

    \b
    bash   eval "$(textcat completion bash)"              in ~/.bashrc
    zsh    eval "$(textcat completion zsh)"               in ~/.zshrc, after compinit
    fish   textcat completion fish > ~/.config/fish/completions/textcat.fish
    """
    from click.shell_completion import get_completion_class

    from textcat.cli.main import group

    read_command_settings(settings)
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"Completion is not available for {shell}.")
    click.echo(kind(group, {}, "textcat", "_TEXTCAT_COMPLETE").source())
