"""Locate in a text the terms that counting finds in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textcat.text.cleaning import clean_with_places
from textcat.text.term_groups import TermGroup
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
    """Yield the words of a field's text that are counted, in order, without stop words.

    The terms of a word are the word, or all n-grams of words that it is part of. With groups of character n-grams
    only, the words are those between white space, with the n-grams of the group char_wb.
    """
    clean = settings.cleaner
    if clean is None:
        yield from _find_spans_of_clean(text, field, settings)
        return
    cleaned, places = clean_with_places(text, clean)
    for span in _find_spans_of_clean(cleaned, field, settings):
        yield Span(places[span.start], places[span.end - 1] + 1, span.terms)


def _find_spans_of_clean(text: str, field: str, settings: TextSettings) -> Iterator[Span]:
    prefixes = [prefix for prefix, fields in settings.field_groups if field in fields]
    if settings.groups and all(group.analyzer != "word" for group in settings.groups):
        yield from _find_character_spans(text, prefixes, settings)
        return
    tokenizer = load_tokenizer(settings.tokenizer)
    make = make_term_extractor(settings)
    places = (
        _locate_words(text, tokenizer)
        if isinstance(tokenizer, WordFunction)
        else _match_pattern(text, tokenizer, settings)
    )
    words = [(start, end, term) for start, end, word in places for term in make(word)]
    for place, (start, end, word) in enumerate(words):
        if not settings.groups:
            yield Span(start, end, tuple(prefix + word for prefix in prefixes))
            continue
        named = [
            group.name_term(prefix + name)
            for group, name in _list_ngrams_around(words, place, settings)
            for prefix in prefixes
        ]
        yield Span(start, end, tuple(dict.fromkeys(named)))


def _list_ngrams_around(
    words: Sequence[tuple[int, int, str]], place: int, settings: TextSettings
) -> Iterator[tuple[TermGroup, str]]:
    """Yield the different n-grams of words that the word at a place is part of, each with its group."""
    sizes = [
        (group, size)
        for group in settings.groups
        if group.analyzer == "word"
        for size in range(group.ngrams[0], group.ngrams[1] + 1)
    ]
    yield from (
        (group, " ".join([word for _, _, word in words[start : start + size]]))
        for group, size in sizes
        for start in range(max(place - size + 1, 0), min(place, len(words) - size) + 1)
    )


def _find_character_spans(text: str, prefixes: Sequence[str], settings: TextSettings) -> Iterator[Span]:
    """Yield the words between white space, with the character n-grams within them."""
    groups = [group for group in settings.groups if group.analyzer == "char_wb"]
    for found in re.finditer(r"\S+", text):
        padded = f" {found[0].lower() if settings.lowercase else found[0]} "
        grams = [
            group.name_term(group.prefix + prefix + padded[start : start + size])
            for group in groups
            for prefix in prefixes
            for size in range(min(group.ngrams[0], len(padded)), group.ngrams[1] + 1)
            for start in range(len(padded) - size + 1)
        ]
        if grams:
            yield Span(found.start(), found.end(), tuple(dict.fromkeys(grams)))


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
