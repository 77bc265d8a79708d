"""The beginnings of documents, for a page that only their owner sees.

Collections allow research and say nothing of quoting them in public, so a report names their documents and the
words that decided, and quotes nothing unless it is asked to. One's own documents are quoted unless asked not to.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from textcat.corpora import OWN_FORMATS, corpus_folder, open_corpus, vector_names
from textcat.experiment.settings import Experiment

LONGEST = 240


def quoting_is_usual(experiment: Experiment) -> bool:
    """Whether a report quotes documents without being asked: one's own."""
    return experiment.corpus.name in OWN_FORMATS


def excerpts_of(experiment: Experiment, data: Path, wanted: Collection[str]) -> dict[str, str]:
    """Document id -> its beginning; empty for a collection that comes as vectors."""
    corpus = experiment.corpus
    if not wanted or corpus.name in vector_names():
        return {}
    own = corpus.name in OWN_FORMATS
    folder = experiment.own_documents if own else corpus_folder(corpus.name, data)
    opened = open_corpus(corpus.name, folder, split=corpus.split or None, **corpus.options)
    return {
        document.id: beginning(" ".join(document.fields.values()))
        for document in opened.documents()
        if document.id in wanted
    }


def beginning(text: str) -> str:
    """The first words of a text, in one line."""
    words = " ".join(text[: 20 * LONGEST].split())
    if len(words) <= LONGEST:
        return words
    return words[:LONGEST].rsplit(" ", 1)[0] + " ..."
