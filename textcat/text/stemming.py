"""Variants of Porter's stemmer, by name. Stem distinct words: stemming every token would be slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

StemmerName = Literal["none", "porter_original", "porter_martin", "porter_extensions", "porter_lemur"]

# Name -> mode of NLTK's PorterStemmer.
_MODES = {
    # The algorithm as printed in Porter (1980).
    "porter_original": "ORIGINAL_ALGORITHM",
    # With the departures of Porter's own programs: -bli, -logi, words of two letters.
    "porter_martin": "MARTIN_EXTENSIONS",
    # NLTK's default: further departures and a short list of irregular forms.
    "porter_extensions": "NLTK_EXTENSIONS",
    # porter_martin where a word begins with a small letter a to z, as in Lemur.
    "porter_lemur": "MARTIN_EXTENSIONS",
}


def make_stemmer(name: StemmerName) -> Callable[[str], str]:
    """Return the function from a word to its stem."""
    if name == "none":
        return str
    # NLTK takes a second to import.
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415

    porter = PorterStemmer(mode=getattr(PorterStemmer, _MODES[name]))

    def stem(word: str) -> str:
        return str(porter.stem(word, to_lowercase=False))

    return (lambda word: stem(word) if "a" <= word[:1] <= "z" else word) if name == "porter_lemur" else stem
