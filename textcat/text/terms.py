"""Turn distinct pieces of text into terms: cut them into words, drop stop words, stem, add prefixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from textcat.text.stemming import make_stemmer
from textcat.text.stop_lists import load_stop_list
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import Tokenizer, load_tokenizer


def make_term_extractor(settings: TextSettings) -> Callable[[str], list[str]]:
    """Return the function from a piece of text to its terms."""
    cut = load_tokenizer(settings.tokenizer).make_cutter(lowercase=settings.lowercase)
    stem = cache(make_stemmer(settings.stem))
    stop_words = load_stop_list(settings.stop_list).words
    if settings.stem == "none" and not stop_words:
        return cut
    if settings.stop_when == "before_stemming":
        return lambda piece: [stem(word) for word in cut(piece) if word.lower() not in stop_words]
    stop_stems = frozenset(map(stem, stop_words))
    return lambda piece: [term for word in cut(piece) if (term := stem(word)).lower() not in stop_stems]


def map_pieces_to_terms(
    groups: Iterable[tuple[str, Iterable[str]]], settings: TextSettings
) -> tuple[list[str], list[csr_array]]:
    """Return the sorted terms of groups of pieces, given with their prefixes, and a matrix for each group.

    The matrices are pieces x terms: counts of pieces times such a matrix are counts of terms.
    """
    make = None if _are_pieces_terms(settings) else make_term_extractor(settings)
    made = [_list_terms(make, prefix, pieces) for prefix, pieces in groups]
    terms = sorted(set(chain.from_iterable(found for found, _ in made)))
    column = {term: number for number, term in enumerate(terms)}
    return terms, [_make_term_matrix(found, ends, column) for found, ends in made]


def _are_pieces_terms(settings: TextSettings) -> bool:
    """Return whether every piece is a term as it is."""
    tokenizer = load_tokenizer(settings.tokenizer)
    plain = isinstance(tokenizer, Tokenizer) and tokenizer.gives_words(lowercase=settings.lowercase)
    return plain and settings.stem == "none" and not load_stop_list(settings.stop_list).words


def _list_terms(
    make: Callable[[str], list[str]] | None, prefix: str, pieces: Iterable[str]
) -> tuple[list[str], list[int]]:
    """Return the terms of all pieces in one list, and the ends of each piece's terms; without `make` pieces are terms.

    One list for each piece would be simpler, but so many live objects slow the garbage collector down.
    """
    if make is None:
        words = [prefix + piece for piece in pieces]
        return words, list(range(len(words) + 1))
    found: list[str] = []
    ends = [0]
    for piece in pieces:
        found += [prefix + term for term in make(piece)]
        ends.append(len(found))
    return found, ends


def _make_term_matrix(found: list[str], ends: list[int], column: dict[str, int]) -> csr_array:
    columns = np.array([column[term] for term in found], dtype=np.int32)
    return csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, np.array(ends, dtype=np.int32)),
        shape=(len(ends) - 1, len(column)),
    )
