"""Explain decisions: the strongest features of a category, and the words of a text that decided about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textcat.errors import UsageError
from textcat.serving.categorizer import Categorizer
from textcat.text.counting import TextDocument, count_terms
from textcat.text.terms import make_term_extractor
from textcat.text.text_settings import TermGroup, TextSettings, clean_with_places
from textcat.text.tokenizers import TOKENIZERS, Tokenizer, WordFunction
from textcat.yaml_reader import suggest_names


@dataclass(frozen=True, slots=True)
class Span:
    """A word `text[start:end]` and its terms, one for each group of fields that its field is in."""

    start: int
    end: int
    terms: tuple[str, ...]


def find_spans(
    text: str, field: str, settings: TextSettings, before: Mapping[str, int] | None = None
) -> Iterator[Span]:
    """Yield the words of a field's text that are counted, in order, without stop words.

    `before`: the words in the fields before this one, for each prefix of terms.

    The terms of a word are the word, or all n-grams of words that it is part of. With groups of character n-grams
    only, the words are those between white space, with the n-grams of the group char_wb.
    """
    prefixes = {prefix: (before or {}).get(prefix, 0) for prefix in list_prefixes(field, settings)}
    clean = settings.cleaner
    if clean is None:
        yield from _find_spans_of_clean(text, prefixes, settings)
        return
    cleaned, places = clean_with_places(text, clean)
    for span in _find_spans_of_clean(cleaned, prefixes, settings):
        yield Span(places[span.start], places[span.end - 1] + 1, span.terms)


def list_prefixes(field: str, settings: TextSettings) -> list[str]:
    """Return the prefixes of the terms of a field."""
    return [prefix for prefix, fields in settings.field_groups if field in fields]


def _find_spans_of_clean(text: str, prefixes: Mapping[str, int], settings: TextSettings) -> Iterator[Span]:
    if settings.groups and all(group.analyzer != "word" for group in settings.groups):
        yield from _find_character_spans(text, prefixes, settings)
        return
    tokenizer = TOKENIZERS[settings.tokenizer]
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
            group.name_term(group.prefix + prefix + name)
            for prefix, before in prefixes.items()
            for group, name in _list_ngrams_around(words, place, settings, before)
            if group.counts_field(prefix)
        ]
        yield Span(start, end, tuple(dict.fromkeys(named)))


def _list_ngrams_around(
    words: Sequence[tuple[int, int, str]], place: int, settings: TextSettings, before: int
) -> Iterator[tuple[TermGroup, str]]:
    """Yield the different n-grams of words that the word at a place is part of, each with its group.

    `before` is the number of words in the fields before.
    """
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
        if group.first_words is None or before + start + size <= group.first_words
    )


def _find_character_spans(text: str, prefixes: Mapping[str, int], settings: TextSettings) -> Iterator[Span]:
    """Yield the words between white space, with the character n-grams within them."""
    groups = [group for group in settings.groups if group.analyzer == "char_wb"]
    for place, found in enumerate(re.finditer(r"\S+", text)):
        padded = f" {found[0].lower() if settings.lowercase else found[0]} "
        grams = [
            group.name_term(group.prefix + prefix + padded[start : start + size])
            for group in groups
            for prefix, before in prefixes.items()
            if group.counts_field(prefix)
            if group.first_words is None or before + place < group.first_words
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


@dataclass(frozen=True)
class Contribution:
    """A term and what it adds to a category's score."""

    term: str
    weight: float
    ngrams: tuple[str, ...] = ()
    """For a hashed feature, the n-grams of the document that it stands for."""

    @property
    def name(self) -> str:
        """The term, for a hashed feature with its n-grams."""
        return f"{self.term} ({', '.join(self.ngrams)})" if self.ngrams else self.term


def find_category_column(categorizer: Categorizer, category: str) -> int:
    """Return the column of a category; raise UsageError for an unknown one."""
    if category not in categorizer.categories:
        hint = suggest_names(category, categorizer.categories)
        raise UsageError(f"the model has no category {category!r}", hint=hint)
    return list(categorizer.categories).index(category)


def get_category_weights(categorizer: Categorizer, category: str) -> Any:
    """Return a category's weights, one for each term; raise UsageError if the model has none."""
    weights_of: Any = getattr(categorizer.model, "category_weights", None)
    if weights_of is None or categorizer.axes:
        raise UsageError(
            f"{categorizer.run.learner} has no weight for each word",
            hint="Explain a linear model over words.",
        )
    return weights_of(find_category_column(categorizer, category))


def get_category_constant(categorizer: Categorizer, category: str) -> float:
    """Return the constant in the score of every document; 0 for models without one."""
    intercept: Any = getattr(categorizer.model, "intercept", None)
    return 0.0 if intercept is None else float(intercept[find_category_column(categorizer, category)])


def find_strongest_terms(
    categorizer: Categorizer, category: str, number: int
) -> tuple[list[Contribution], list[Contribution]]:
    """Return the terms with the largest positive and negative weights, at most `number` each; ties by term order."""
    weights = get_category_weights(categorizer, category)
    order = np.argsort(-weights, kind="stable")
    terms = categorizer.vectorizer.terms
    supporting = [Contribution(terms[j], float(weights[j])) for j in order[:number] if weights[j] > 0]
    opposing = [Contribution(terms[j], float(weights[j])) for j in order[::-1][:number] if weights[j] < 0]
    return supporting, opposing


def compute_contributions(
    categorizer: Categorizer, category: str, document: TextDocument
) -> list[Contribution]:
    """Return what each term of a document adds to the score, largest absolute value first."""
    weights = get_category_weights(categorizer, category)
    row = categorizer.vectors([document]).tocsr()
    terms = categorizer.vectorizer.terms
    hashed = _list_hashed_ngrams(categorizer.text, document)
    found = [
        Contribution(terms[j], float(value * weights[j]), tuple(hashed.get(terms[j], ())))
        for j, value in zip(row.indices, row.data, strict=True)
        if weights[j] != 0.0
    ]
    return sorted(found, key=lambda each: -abs(each.weight))


def _list_hashed_ngrams(text: TextSettings, document: TextDocument) -> dict[str, list[str]]:
    """Return the n-grams of a document by hashed feature; empty if no group is hashed."""
    found: dict[str, list[str]] = {}
    for group in text.groups:
        if group.bits:
            plain = group.model_copy(update={"bits": None, "minimum_documents": 1})
            chosen = text.model_copy(update={"groups": (plain,)})
            for ngram in count_terms([document], chosen, missing_fields=True).terms:
                found.setdefault(group.name_term(ngram), []).append(ngram)
    return found


@dataclass(frozen=True)
class LocatedWord:
    """A word of a document's text (characters start to end of a field), and what it adds to the score."""

    field: str
    start: int
    end: int
    weight: float


def locate_words(
    categorizer: Categorizer, document: TextDocument, parts: Sequence[Contribution]
) -> list[LocatedWord]:
    """Return the words of the document that contain the given terms, with the total weight of their terms."""
    weight = {part.term: part.weight for part in parts}
    found = []
    before: Counter[str] = Counter()
    for field in categorizer.text.fields:
        spans = list(find_spans(document.fields.get(field, ""), field, categorizer.text, before))
        before.update(dict.fromkeys(list_prefixes(field, categorizer.text), len(spans)))
        for span in spans:
            total = sum(weight.get(term, 0.0) for term in span.terms)
            if total != 0.0:
                found.append(LocatedWord(field, span.start, span.end, total))
    return found
