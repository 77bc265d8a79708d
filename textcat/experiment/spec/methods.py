"""Every method that experiment files can name, textcat's own and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

import textcat
from textcat.corpora.cards import corpus_names, describe
from textcat.corpora.registry import own_names
from textcat.errors import TextcatError
from textcat.evaluation.summary import own_measures
from textcat.linear.losses import LOSS_NAMES, LOSSES, modified_logistic
from textcat.linear.priors import ALL_PRIORS
from textcat.linear.training import ALGORITHMS
from textcat.plugins import GROUPS, Plugin, find, installed, loaded
from textcat.selection.scores import SCORES
from textcat.text.tokenizers import TOKENIZERS
from textcat.thresholds.rules import RULES


@dataclass(frozen=True)
class Method:
    """A name with its kind, what it is in a line, and who has it."""

    kind: str
    name: str
    what: str
    source: str


def methods() -> Iterator[Method]:
    """All of them, kind by kind, textcat's own first; of a plugin that cannot be used, why."""
    for kind in GROUPS:
        own = OWN[kind]()
        for name in own:
            yield Method(kind, name, _own_line(kind, name), f"textcat {textcat.__version__}")
        for plugin in installed(kind):
            yield Method(kind, plugin.name, _line_of(plugin, own), plugin.identity)


def _own_line(kind: str, name: str) -> str:
    if kind == "corpora":
        return describe(name).title if name in corpus_names() else "documents of your own"
    if kind == "tokenizers":
        return TOKENIZERS[name].description  # type: ignore[index]
    if kind == "selection_scores":
        return _first_line(SCORES[name])
    if kind == "losses":
        return _first_line(LOSSES.get(name, modified_logistic))
    line: str = _lines()[kind][name]
    return line


def _own_averages() -> list[str]:
    """The measures without those that are averages over the largest categories only."""
    return [name for name in own_measures() if name.count(".") < 2]


@cache
def _lines() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = yaml.safe_load(
        files("textcat.experiment").joinpath("methods.yaml").read_text(encoding="utf-8")
    )
    return found


OWN: dict[str, Callable[[], Collection[str]]] = {
    "corpora": lambda: sorted(own_names()),
    "tokenizers": lambda: TOKENIZERS,
    "selection_scores": lambda: SCORES,
    "losses": lambda: LOSS_NAMES,
    "priors": lambda: ALL_PRIORS,
    "algorithms": lambda: ALGORITHMS,
    "thresholds": lambda: RULES,
    "measures": _own_averages,
}


def _line_of(plugin: Plugin, own: Collection[str]) -> str:
    try:
        find(plugin.kind, plugin.name, own)
        return _first_line(loaded(plugin, object))
    except TextcatError as error:
        return f"cannot be used: {' '.join(str(error).split())}"


def _first_line(thing: Any) -> str:
    """The first line of a function's or class's own docstring; of another object nothing."""
    text = thing.__doc__ if callable(thing) else None
    return text.strip().splitlines()[0] if text else ""
