"""Change the characters of a text before it is divided into words: accents and digits.

Accents: the compatibility decomposition of Unicode (NFKD) without combining marks, as `strip_accents="unicode"` of
scikit-learn. Digits: those of any script (Unicode category Nd).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

DigitHandling = Literal["keep", "drop", "hash"]
# What takes the place of a digit.
_REPLACEMENTS = {"drop": " ", "hash": "0"}
_DIGIT = re.compile(r"\d")

TextCleaner = Callable[[str], str]


def make_cleaner(*, strip_accents: bool, digits: DigitHandling) -> TextCleaner | None:
    """Return the function that cleans a text, or None if nothing changes."""
    if not strip_accents and digits == "keep":
        return None

    def clean(text: str) -> str:
        if strip_accents:
            text = remove_accents(text)
        return text if digits == "keep" else _DIGIT.sub(_REPLACEMENTS[digits], text)

    return clean


def remove_accents(text: str) -> str:
    """Return the text decomposed (NFKD) and without combining marks."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join([letter for letter in decomposed if not unicodedata.combining(letter)])


def clean_with_places(text: str, clean: TextCleaner) -> tuple[str, Sequence[int]]:
    """Return the cleaned text, and for each of its characters the position in the text.

    Letters are cleaned one by one: marks that are removed may change their order, other characters may not.
    """
    cleaned = [clean(letter) for letter in text]
    places = [place for place, letters in enumerate(cleaned) for _ in letters]
    return "".join(cleaned), places
