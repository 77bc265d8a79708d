"""Tokenizers, stemming, stop lists, counting, weighting: from a document's fields to its vector."""

from textcat.text.counting import CountedDocuments, count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings

__all__ = ["CountedDocuments", "TextSettings", "VectorSettings", "Vectorizer", "count_terms"]
