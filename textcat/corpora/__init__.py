"""The collections: described, fetched, verified, and read document by document."""

from textcat.corpora.cards import CorpusCard, corpus_names, describe
from textcat.corpora.document import Corpus, Document, Split
from textcat.corpora.fetch.collection import FetchReport, corpus_folder, fetch, is_fetched
from textcat.corpora.fetch.download import Progress
from textcat.corpora.registry import OWN_FORMATS, OWN_TEXT_FORMATS, open_corpus, open_vectors, vector_names
from textcat.corpora.splits import CategoryCounts, category_counts, random_splits
from textcat.corpora.vector_files import VectorCorpus

__all__ = [
    "OWN_FORMATS",
    "OWN_TEXT_FORMATS",
    "CategoryCounts",
    "Corpus",
    "CorpusCard",
    "Document",
    "FetchReport",
    "Progress",
    "Split",
    "VectorCorpus",
    "category_counts",
    "corpus_folder",
    "corpus_names",
    "describe",
    "fetch",
    "is_fetched",
    "open_corpus",
    "open_vectors",
    "random_splits",
    "vector_names",
]
