"""What a shell completes: names taken from files, without numerics, so that a keystroke costs no second."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

import textcat

_TABLE = re.compile(r"^  (\w+):", re.MULTILINE)

CompletionItems = list[CompletionItem]


def list_experiment_names() -> list[str]:
    """The experiments that can be named."""
    from textcat.experiment.spec.config_files import find_experiment_files

    return list(find_experiment_files())


def list_collection_names() -> list[str]:
    """The collections that have a card."""
    return _list_stems("corpora/tables")


def list_paper_names() -> list[str]:
    """The papers whose numbers are published here."""
    return sorted({table.partition(".")[0] for table in list_table_names()})


def list_table_names() -> list[str]:
    """The printed tables: what is indented below `tables:` in a paper's file."""
    found = []
    for path in sorted((Path(textcat.__file__).parent / "published").glob("*_[0-9]*.yaml")):
        _, _, tables = path.read_text(encoding="utf-8").partition("\ntables:\n")
        found += [f"{path.stem}.{name}" for name in _TABLE.findall(tables)]
    return found


def find_model_folders(data: Path) -> list[str]:
    """The model directories below a data folder, as paths."""
    return [str(path.parent) for path in sorted((data / "models").rglob("categorizer.json"))]


def list_run_names(results: Path, incomplete: str) -> list[str]:
    """EXPERIMENT: of every experiment with results, and once one is written, EXPERIMENT:RUN of its runs."""
    experiment, colon, _ = incomplete.partition(":")
    if not colon:
        found = sorted(path.parent.relative_to(results) for path in results.rglob("results.json"))
        return [f"{path.as_posix()}:" for path in found]
    try:
        text = (results / experiment / "results.json").read_text(encoding="utf-8")
        return [f"{experiment}:{run}" for run in dict(json.loads(text)["runs"])]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def complete_experiments(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> CompletionItems:
    """Names of experiments, or files."""
    return _complete_names(list_experiment_names(), incomplete, otherwise="file")


def complete_papers_and_experiments(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> CompletionItems:
    """Names of papers and experiments, or files."""
    return _complete_names([*list_paper_names(), *list_experiment_names()], incomplete, otherwise="file")


def complete_collections(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> CompletionItems:
    """Names of collections, or files of experiments."""
    return _complete_names(list_collection_names(), incomplete, otherwise="file")


def complete_shown_names(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> CompletionItems:
    """What `show` shows: collections, printed tables and experiments, or files."""
    return _complete_names(
        [*list_collection_names(), *list_table_names(), *list_experiment_names()],
        incomplete,
        otherwise="file",
    )


def complete_cited_names(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> CompletionItems:
    """What `cite` cites: the software, papers, collections and experiments, or files."""
    names = ["textcat", *list_paper_names(), *list_collection_names(), *list_experiment_names()]
    return _complete_names(names, incomplete, otherwise="file")


def complete_models(context: click.Context, _parameter: click.Parameter, incomplete: str) -> CompletionItems:
    """Model directories below the data folder, or any folder."""
    return _complete_names(find_model_folders(_get_data_folder(context)), incomplete, otherwise="dir")


def complete_runs(context: click.Context, _parameter: click.Parameter, incomplete: str) -> CompletionItems:
    """EXPERIMENT:RUN of what has results, or any folder."""
    results = Path(context.params.get("results") or "results")
    return _complete_names(list_run_names(results, incomplete), incomplete, otherwise="dir")


def _get_data_folder(context: click.Context) -> Path:
    return Path(context.params.get("data") or "data")


def _complete_names(names: Iterable[str], incomplete: str, otherwise: str) -> CompletionItems:
    """The names that begin so; where none does, whatever files the shell finds."""
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type=otherwise)]


def _list_stems(folder: str) -> list[str]:
    return sorted(path.stem for path in (Path(textcat.__file__).parent / folder).glob("*.yaml"))
