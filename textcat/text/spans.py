"""Where in a text the terms stand that counting finds in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textcat.text.terms import make_term_extractor
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import Tokenizer, WordFunction, load_tokenizer


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` is a word, and what it is counted as: one term for each group that its field is in."""

    start: int
    end: int
    terms: tuple[str, ...]


def find_spans(text: str, field: str, settings: TextSettings) -> Iterator[Span]:
    """The words of a field's text that are counted, in their order; stop words are passed over."""
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
    """Start, end and word of what a tokenizer's pattern finds."""
    searched = _blank_skipped(text, tokenizer.skip)
    places: Sequence[int] = range(len(text))
    if tokenizer.folds_first(lowercase=settings.lowercase):
        searched, places = _fold_case(searched)
    for found in re.finditer(tokenizer.pattern, searched):
        yield places[found.start()], places[found.end() - 1] + 1, found[0]


def _locate_words(text: str, tokenizer: WordFunction) -> Iterator[tuple[int, int, str]]:
    """The words of a function, each sought behind the one before; one that it made up stands nowhere."""
    behind = 0
    for word in tokenizer.words(text):
        start = text.find(word, behind)
        if start >= 0:
            behind = start + len(word)
            yield start, behind, word


def _fold_case(text: str) -> tuple[str, Sequence[int]]:
    """The text in small letters, and where in the text each of them comes from."""
    small = text.lower()
    if len(small) == len(text):
        return small, range(len(text))
    # A few letters have a small form of two characters.
    return small, [place for place, letter in enumerate(text) for _ in letter.lower()]


def _blank_skipped(text: str, skip: str) -> str:
    """The text with as many spaces in place of what the tokenizer skips."""
    return re.sub(skip, lambda found: " " * len(found[0]), text) if skip else text
