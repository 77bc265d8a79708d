"""From the fields of a document to its vector: tokenizers, stemming, stop lists, counting and weighting."""

from textcat.text.counting import CountedDocuments, count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings

__all__ = ["CountedDocuments", "TextSettings", "VectorSettings", "Vectorizer", "count_terms"]
