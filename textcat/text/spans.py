"""Locate in a text the terms that counting finds in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textcat.text.terms import make_term_extractor
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import Tokenizer, WordFunction, load_tokenizer


@dataclass(frozen=True, slots=True)
class Span:
    """A word `text[start:end]` and its terms, one for each group of fields that its field is in."""

    start: int
    end: int
    terms: tuple[str, ...]


def find_spans(text: str, field: str, settings: TextSettings) -> Iterator[Span]:
    """Yield the words of a field's text that are counted, in order, without stop words."""
    tokenizer = load_tokenizer(settings.tokenizer)
    prefixes = [prefix for prefix, fields in settings.groups if field in fields]
    make = make_term_extractor(settings)
    places = (
        _locate_words(text, tokenizer)
        if isinstance(tokenizer, WordFunction)
        else _match_pattern(text, tokenizer, settings)
    )
    for start, end, word in places:
        terms = tuple(prefix + term for term in make(word) for prefix in prefixes)
        if terms:
            yield Span(start, end, terms)


def _match_pattern(text: str, tokenizer: Tokenizer, settings: TextSettings) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and word of each match of a tokenizer's pattern."""
    searched = tokenizer.skip(text) if tokenizer.skip else text
    places: Sequence[int] = range(len(text))
    if tokenizer.folds_first(lowercase=settings.lowercase):
        searched, places = _fold_case(searched)
    for found in re.finditer(tokenizer.pattern, searched):
        yield places[found.start()], places[found.end() - 1] + 1, found[0]


def _locate_words(text: str, tokenizer: WordFunction) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and word of each word of a function that occurs in the text after the word before it."""
    end = 0
    for word in tokenizer.words(text):
        start = text.find(word, end)
        if start >= 0:
            end = start + len(word)
            yield start, end, word


def _fold_case(text: str) -> tuple[str, Sequence[int]]:
    """Return the lowercased text, and for each of its characters the position in the text."""
    small = text.lower()
    if len(small) == len(text):
        return small, range(len(text))
    # The lower case of a few letters has two characters.
    return small, [place for place, letter in enumerate(text) for _ in letter.lower()]
