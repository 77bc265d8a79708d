"""From distinct tokens to terms: stop words, stems and prefixes, once for each token that occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from textcat.text.settings import TextSettings
from textcat.text.stemming import stemmer_named
from textcat.text.stop_lists import load_stop_list
from textcat.text.tokenizers import TOKENIZERS


def term_maker(settings: TextSettings) -> Callable[[str], str | None]:
    """The function from a token to its term, or None where it is a stop word or nothing is left."""
    finish = TOKENIZERS[settings.tokenizer].finisher(lowercase=settings.lowercase)
    stem = cache(stemmer_named(settings.stem))
    stop_words = load_stop_list(settings.stop_list).words
    stop_stems = frozenset(map(stem, stop_words))
    after = settings.stop_when == "after_stemming"

    def make(token: str) -> str | None:
        word = finish(token)
        if not after and word.lower() in stop_words:
            return None
        stemmed = stem(word)
        if after and stemmed.lower() in stop_stems:
            return None
        return stemmed or None

    return make


def merge_tokens(
    groups: Iterable[tuple[str, Iterable[str]]], settings: TextSettings
) -> tuple[list[str], list[NDArray[np.int32]]]:
    """The sorted terms of groups of tokens, each with its prefix, and the columns of each group's tokens.

    The column of a token that is left out is -1.
    """
    make = term_maker(settings)
    made = [
        [None if (term := make(token)) is None else prefix + term for token in tokens]
        for prefix, tokens in groups
    ]
    terms = sorted({term for group in made for term in group if term is not None})
    column = {term: number for number, term in enumerate(terms)}
    columns = [
        np.array([-1 if term is None else column[term] for term in group], dtype=np.int32) for group in made
    ]
    return terms, columns
