"""Write an experiment as one complete file: nothing inherited, every setting with its value and what it means."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent, wrap
from typing import Any

import yaml
from pydantic import BaseModel

from textcat.corpora.registry import load_option_descriptions
from textcat.experiment.spec.experiment import (
    OPTIONAL_SECTIONS,
    SHARED_BY_RUNS,
    CorpusSettings,
    Experiment,
    RunSettings,
)
from textcat.extensions import describe_import
from textcat.learners.parameters import LEARNERS, validate_parameters
from textcat.settings import describe_keys

WIDTH = 120
COMMENT_COLUMN = 36
# What only experiments of papers or with own modules have.
LEFT_OUT_IF_EMPTY = (
    "paper",
    "tables",
    "figures",
    "variant_of",
    "notes",
    "imports",
    "comparisons",
    "scalings",
)


def move_experiment(experiment: Experiment, folder: Path) -> Experiment:
    """Return the experiment with paths that are relative to another folder; absolute paths stay."""
    corpus, imports = experiment.corpus, [describe_import(name, folder) for name in experiment.imports]
    if corpus.path and not Path(corpus.path).is_absolute():
        path = os.path.relpath(experiment.own_documents.resolve(), folder.resolve())
        corpus = corpus.model_copy(update={"path": path})
    return experiment.model_copy(update={"corpus": corpus, "imports": imports}).set_folder(folder)


def render_experiment(experiment: Experiment) -> str:
    """Return an experiment as the text of a file that gives the same experiment."""
    meanings = describe_keys(Experiment)
    lines: list[str] = []
    for key in Experiment.model_fields:
        value = getattr(experiment, key)
        if not value and key in LEFT_OUT_IF_EMPTY:
            continue
        if key == "notes":
            lines += yaml.safe_dump({key: value}, allow_unicode=True, width=WIDTH).splitlines()
        elif key == "runs":
            lines += [
                "",
                *_format_comment("The learners that are compared; `textcat list learners` lists all."),
            ]
            lines.append("runs:")
            lines += [line for name, run in value.items() for line in _render_run(name, run, experiment)]
        elif isinstance(value, CorpusSettings):
            lines += ["", "corpus:", *_indent(_render_corpus(value))]
        elif isinstance(value, BaseModel):
            lines += ["", f"{key}:", *_indent(_render_section(value))]
        elif isinstance(value, Mapping):
            lines += ["", *_format_comment(meanings[key]), f"{key}:"]
            lines += [f"  {_format_value(name)}: {_format_value(part)}" for name, part in value.items()]
        else:
            lines += [""] if key in OPTIONAL_SECTIONS else []
            lines += _format_key(key, value, "" if key in ("name", "title") else meanings.get(key, ""))
    return "\n".join(lines) + "\n"


def _render_section(settings: BaseModel) -> Iterator[str]:
    """Yield the lines of a section: every key with its value."""
    meanings = describe_keys(type(settings))
    for key in type(settings).model_fields:
        yield from _format_key(key, getattr(settings, key), meanings.get(key, ""))


def _render_corpus(corpus: CorpusSettings) -> Iterator[str]:
    """Yield the lines of the documents; options that are not given keep the reader's defaults, and are named."""
    meanings, options = describe_keys(CorpusSettings), load_option_descriptions(corpus.name)
    for key in CorpusSettings.model_fields:
        value = getattr(corpus, key)
        if key != "options":
            yield from _format_key(key, value, meanings[key])
            continue
        others = ", ".join(name for name in options if name not in value)
        if others:
            yield from _format_comment(f"Other options (`textcat show {corpus.name}`): {others}.")
        yield "options:" if value else "options: {}"
        for name, given in value.items():
            yield from _indent(_format_key(name, given, options.get(name, "")))


def _render_run(name: str, run: RunSettings, experiment: Experiment) -> Iterator[str]:
    """Yield the lines of a run: its learner, and where its settings differ from the experiment's."""
    learner = LEARNERS[run.learner]
    yield f"  {_format_value(name)}:"
    lines: list[str] = []
    if run.title:
        lines += _format_key("title", run.title, "")
    lines += _format_key("learner", run.learner, learner.title)
    defaults = validate_parameters(run.learner, run.parameters).model_dump(mode="json")
    others = ", ".join(
        key if value is None or value == {} else f"{key} {_format_value(value)}"
        for key, value in defaults.items()
        if key not in run.parameters
    )
    lines += _format_key("parameters", run.parameters, f"Others: {others}." if others else "")
    meanings = describe_keys(RunSettings)
    for key in ("search", "train_documents", "categories_at_once"):
        if getattr(run, key) is not None:
            lines += _format_key(key, getattr(run, key), meanings[key])
    for key in SHARED_BY_RUNS:
        own, shared = getattr(run, key), getattr(experiment, key)
        if own != shared:
            lines += _format_key(key, _find_own_values(own, shared), "")
    yield from _indent(lines, 4)


def _find_own_values(own: BaseModel | None, shared: BaseModel | None) -> dict[str, Any] | None:
    """Return the keys of a run's section that differ from the experiment's; None where the run has no such section."""
    if own is None:
        return None
    return {
        key: getattr(own, key)
        for key in type(own).model_fields
        if shared is None or getattr(own, key) != getattr(shared, key)
    }


def _indent(lines: Iterator[str] | list[str], spaces: int = 2) -> Iterator[str]:
    """Yield lines moved to the right."""
    yield from (indent(line, " " * spaces) for line in lines)


def _format_key(key: str, value: Any, meaning: str) -> Iterator[str]:
    """Yield `key: value  # meaning`; a meaning that is too long stands above."""
    line = f"{_format_value(key)}: {_format_value(value)}"
    together = f"{line:{COMMENT_COLUMN}}  # {meaning}"
    if meaning and len(together) > WIDTH - 4:
        yield from _format_comment(meaning)
    yield together if meaning and len(together) <= WIDTH - 4 else line


def _format_comment(text: str) -> list[str]:
    return wrap(text, WIDTH - 4, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _format_value(value: Any) -> str:
    """Return a value as YAML in one line; nested settings without their defaults."""
    written = yaml.safe_dump(
        _make_plain(value), default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
    )
    return written.removesuffix("\n").removesuffix("\n...")


def _make_plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, Mapping):
        return {key: _make_plain(part) for key, part in value.items()}
    return [_make_plain(part) for part in value] if isinstance(value, list | tuple) else value
