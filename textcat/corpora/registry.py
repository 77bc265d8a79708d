"""Open a collection by name, built-in or from a plugin, and count it for verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from textcat.corpora.collections import clinc150, eurlex57k, ohsumed, ohsumed23, rcv1, webkb
from textcat.corpora.collections import industry_sector as industry
from textcat.corpora.collections import newsgroups20 as newsgroups
from textcat.corpora.collections import rcv1 as rcv1_vectors
from textcat.corpora.collections import reuters21578 as reuters
from textcat.corpora.document import Corpus, Document
from textcat.corpora.own import documents as own
from textcat.corpora.vector_files import VectorCorpus, fingerprint_svmlight, open_svmlight
from textcat.errors import UsageError
from textcat.plugins import (
    Plugin,
    check_documents,
    find_plugin,
    list_known_names,
    load_plugin,
    read_categories,
    read_fingerprint,
    report_plugin_errors,
)
from textcat.yaml_reader import read_packaged_yaml


@dataclass(frozen=True)
class PluginCorpus:
    """A collection opened by a plugin; errors in its methods name the plugin."""

    plugin: Plugin
    opened: Corpus

    @property
    def name(self) -> str:
        """The name of the entry point."""
        return self.plugin.name

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels, in the reader's order."""
        with report_plugin_errors(self.plugin, "failed"):
            return read_categories(self.opened.categories)

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the reader's order."""
        with report_plugin_errors(self.plugin, "failed"):
            yield from check_documents(self.opened.documents())

    def fingerprint(self) -> str:
        """Return the sha256 of the contents on disk."""
        with report_plugin_errors(self.plugin, "failed"):
            return read_fingerprint(self.opened.fingerprint())


def open_plugin_corpus(
    plugin: Plugin, folder: Path, split: str | None, options: dict[str, Any]
) -> PluginCorpus:
    """Open a plugin's collection; `folder` is the experiment's `corpus.path` or the folder for data."""
    reader = load_plugin(plugin)
    with report_plugin_errors(plugin, "cannot be opened"):
        opened = reader(folder, **(options | {"split": split} if split else options))
        if not isinstance(opened, Corpus):
            raise TypeError(
                f"it must have name, categories, documents() and fingerprint(), but is {opened!r}"
            )
    return PluginCorpus(plugin, opened)


AnyCorpus = TypeVar("AnyCorpus")

_TEXT_READERS: dict[str, Callable[..., Corpus]] = {
    "20newsgroups": newsgroups.Newsgroups,
    "clinc150": clinc150.Clinc150,
    "eurlex57k": eurlex57k.Eurlex57k,
    "industry-sector": industry.IndustrySector,
    "ohsumed": ohsumed.Ohsumed,
    "ohsumed-23": ohsumed23.Ohsumed23,
    "rcv1": rcv1.Rcv1,
    "rcv1-like": rcv1.Rcv1,
    "reuters21578": reuters.Reuters21578,
    "webkb": webkb.WebKB,
    "csv": partial(own.OwnDocuments, "csv"),
    "tsv": partial(own.OwnDocuments, "tsv"),
    "jsonl": partial(own.OwnDocuments, "jsonl"),
    "folders": partial(own.OwnDocuments, "folders"),
}
_VECTOR_READERS: dict[str, Callable[..., VectorCorpus]] = {
    "rcv1-subset": rcv1_vectors.open_rcv1_subset,
    "rcv1-vectors": rcv1_vectors.open_rcv1_vectors,
    "svmlight": open_svmlight,
}
# Formats of a user's own documents. Their `folder` is a file, except for `folders` and `rcv1-like` (the files that
# `textcat generate` writes).
OWN_FORMATS = ("csv", "tsv", "jsonl", "folders", "svmlight", "rcv1-like")
OWN_TEXT_FORMATS = ("csv", "tsv", "jsonl", "folders")
_COUNTERS: dict[str, Callable[[Path], dict[str, int]]] = {
    "20newsgroups": newsgroups.count_newsgroups,
    "clinc150": clinc150.count_clinc150,
    "eurlex57k": eurlex57k.count_eurlex57k,
    "industry-sector": industry.count_industry_sector,
    "ohsumed": ohsumed.count_ohsumed,
    "ohsumed-23": ohsumed23.count_ohsumed23,
    "rcv1": rcv1.count_rcv1,
    "rcv1-subset": rcv1_vectors.count_subset,
    "rcv1-vectors": rcv1_vectors.count_vectors,
    "reuters21578": reuters.count_reuters21578,
    "webkb": webkb.count_webkb,
}


def find_corpus_plugin(name: str) -> Plugin | None:
    """Return the plugin that opens a collection; None for built-in and unknown collections."""
    return find_plugin("corpora", name, list_builtin_corpora())


def list_builtin_corpora() -> frozenset[str]:
    """Return the names of built-in collections and formats."""
    return frozenset(_TEXT_READERS) | frozenset(_VECTOR_READERS)


def list_vector_corpora() -> tuple[str, ...]:
    """Return the names of collections and formats of vectors."""
    return tuple(_VECTOR_READERS)


def open_corpus(name: str, folder: Path, *, split: str | None = None, **options: Any) -> Corpus:
    """Open a collection of text in `folder`; the default split is the first that its card lists."""
    plugin = find_corpus_plugin(name)
    if plugin is not None:
        return open_plugin_corpus(plugin, folder, split, options)
    if name in _VECTOR_READERS:
        raise UsageError(
            f"{name} is a collection of vectors, not of text",
            hint="Open it with `open_vectors`, or choose a collection of text.",
        )
    return _open(_TEXT_READERS, name, folder, split, options)


def open_vectors(name: str, folder: Path, *, split: str | None = None, **options: Any) -> VectorCorpus:
    """Read a collection of vectors in `folder`."""
    if name in _TEXT_READERS:
        raise UsageError(
            f"{name} is a collection of text, not of vectors",
            hint="Open it with `open_corpus`, or choose a collection of vectors.",
        )
    return _open(_VECTOR_READERS, name, folder, split, options)


def _open(
    readers: dict[str, Callable[..., AnyCorpus]],
    name: str,
    folder: Path,
    split: str | None,
    options: dict[str, Any],
) -> AnyCorpus:
    if name not in readers:
        raise UsageError(
            f"unknown collection {name!r}",
            hint=f"Known: {', '.join(sorted(list_known_names('corpora', readers)))}.",
        )
    if split:
        options = options | {"split": split}
    unknown = sorted(set(options) - _list_keyword_options(readers[name]))
    if unknown:
        raise UsageError(
            f"{name} has no option {unknown[0]!r}",
            hint=f"Its options: {', '.join(sorted(_list_keyword_options(readers[name])))}.",
        )
    return readers[name](folder, **options)


def list_reader_options(name: str) -> dict[str, Any]:
    """Return the options of a collection's reader except `split`, with their defaults."""
    reader = _TEXT_READERS.get(name) or _VECTOR_READERS[name]
    taken = {
        key: each.default
        for key, each in signature(reader).parameters.items()
        if key in _list_keyword_options(reader)
    }
    return {key: default for key, default in taken.items() if key != "split"}


def load_option_descriptions(name: str) -> dict[str, str]:
    """Return the description of each option of a collection's reader."""
    table = read_packaged_yaml("corpora/options.yaml")
    return dict(table.get("own" if name in OWN_TEXT_FORMATS else name, {}))


def _list_keyword_options(reader: Callable[..., Any]) -> set[str]:
    return {each.name for each in signature(reader).parameters.values() if each.kind is each.KEYWORD_ONLY}


def fingerprint_corpus(name: str, folder: Path, **options: Any) -> str:
    """Return the sha256 of the contents of the files that are read with these options."""
    if name == "svmlight":
        return fingerprint_svmlight(folder, options.get("test"))
    corpus = (
        open_vectors(name, folder, **options)
        if name in _VECTOR_READERS
        else open_corpus(name, folder, **options)
    )
    return corpus.fingerprint()


def count_corpus(name: str, folder: Path) -> dict[str, int]:
    """Return the counts of a collection's files that its card states too."""
    return _COUNTERS[name](folder)
