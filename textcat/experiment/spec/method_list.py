"""List the methods that experiment files can name: built-in ones and plugins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import textcat
from textcat.corpora.cards import list_corpora, load_card
from textcat.corpora.registry import list_builtin_corpora
from textcat.errors import TextcatError
from textcat.evaluation.run_measures import list_builtin_measures
from textcat.linear.losses import LOSS_NAMES, LOSSES, modified_logistic
from textcat.linear.priors import ALL_PRIORS
from textcat.linear.training import ALGORITHMS
from textcat.plugins import PLUGIN_KINDS, Plugin, find_plugin, list_plugins, load_plugin
from textcat.selection.scores import SCORES
from textcat.text.tokenizers import TOKENIZERS
from textcat.thresholds.rules import THRESHOLD_RULES
from textcat.yaml_reader import read_packaged_yaml


@dataclass(frozen=True)
class Method:
    """A method: its kind, its name, one line on what it is, and the package that has it."""

    kind: str
    name: str
    what: str
    source: str


def list_methods() -> Iterator[Method]:
    """Yield all methods, kind by kind, built-in ones first; for a plugin that cannot be used, the reason."""
    for kind in PLUGIN_KINDS:
        own = OWN_METHODS[kind]()
        for name in own:
            yield Method(kind, name, _describe_own_method(kind, name), f"textcat {textcat.__version__}")
        for plugin in list_plugins(kind):
            yield Method(kind, plugin.name, _describe_plugin_method(plugin, own), plugin.identity)


def _describe_own_method(kind: str, name: str) -> str:
    if kind == "corpora":
        return load_card(name).title if name in list_corpora() else "documents of your own"
    if kind == "tokenizers":
        return TOKENIZERS[name].description  # type: ignore[index]
    if kind == "selection_scores":
        return _get_first_line(SCORES[name])
    if kind == "losses":
        return _get_first_line(LOSSES.get(name, modified_logistic))
    line: str = _read_descriptions()[kind][name]
    return line


@cache
def _read_descriptions() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = read_packaged_yaml("experiment/methods.yaml")
    return found


OWN_METHODS: dict[str, Callable[[], Collection[str]]] = {
    "corpora": lambda: sorted(list_builtin_corpora()),
    "tokenizers": lambda: TOKENIZERS,
    "selection_scores": lambda: SCORES,
    "losses": lambda: LOSS_NAMES,
    "priors": lambda: ALL_PRIORS,
    "algorithms": lambda: ALGORITHMS,
    "thresholds": lambda: THRESHOLD_RULES,
    # Without the averages over the largest categories.
    "measures": lambda: [name for name in list_builtin_measures() if name.count(".") < 2],
}


def _describe_plugin_method(plugin: Plugin, own: Collection[str]) -> str:
    try:
        find_plugin(plugin.kind, plugin.name, own)
        return _get_first_line(load_plugin(plugin, object))
    except TextcatError as error:
        return f"cannot be used: {' '.join(str(error).split())}"


def _get_first_line(thing: Any) -> str:
    """Return the first line of the docstring of a function or class, or an empty text."""
    text = thing.__doc__ if callable(thing) else None
    return text.strip().splitlines()[0] if text else ""
