"""Tokenizers, stemming, stop lists, counting, weighting: from a document's fields to its vector."""

from textcat.text.counted import CountedDocuments
from textcat.text.counting import count
from textcat.text.settings import TextSettings
from textcat.text.vectors import Vectorizer, VectorSettings

__all__ = ["CountedDocuments", "TextSettings", "VectorSettings", "Vectorizer", "count"]
