"""Which reader opens which collection, and which function counts it for verification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textcat.corpora import reuters
from textcat.corpora.card import describe
from textcat.corpora.document import Corpus
from textcat.errors import UsageError

_READERS: dict[str, Callable[..., Corpus]] = {"reuters21578": reuters.Reuters21578}
_COUNTERS: dict[str, Callable[[Path], dict[str, int]]] = {"reuters21578": reuters.count}


def open_corpus(name: str, folder: Path, *, split: str | None = None, **options: Any) -> Corpus:
    """Open a collection whose files lie in `folder`; without a split, the first that its card names."""
    if name not in _READERS:
        raise UsageError(
            f"no collection is called {name!r}", hint=f"There are {', '.join(sorted(_READERS))}."
        )
    if split is not None:
        options["split"] = split
    try:
        return _READERS[name](folder, **options)
    except TypeError as problem:
        raise UsageError(f"{name} was given a setting that it does not have: {problem}") from problem


def count(name: str, folder: Path) -> dict[str, int]:
    """The counts of a collection's files that its card pins."""
    describe(name)
    return _COUNTERS[name](folder)
