"""The collections: described, fetched, verified, and read document by document."""

from textcat.corpora.cards import CorpusCard, list_corpora, load_card
from textcat.corpora.document import CategoryCounts, Corpus, Document, Split, count_categories
from textcat.corpora.fetch.collection import FetchReport, fetch_corpus, is_fetched, locate_corpus
from textcat.corpora.registry import (
    OWN_FORMATS,
    OWN_TEXT_FORMATS,
    list_vector_corpora,
    open_corpus,
    open_vectors,
)
from textcat.corpora.vector_files import VectorCorpus

__all__ = [
    "OWN_FORMATS",
    "OWN_TEXT_FORMATS",
    "CategoryCounts",
    "Corpus",
    "CorpusCard",
    "Document",
    "FetchReport",
    "Split",
    "VectorCorpus",
    "count_categories",
    "fetch_corpus",
    "is_fetched",
    "list_corpora",
    "list_vector_corpora",
    "load_card",
    "locate_corpus",
    "open_corpus",
    "open_vectors",
]
