"""Variants of Porter's stemmer, by name. Stem distinct words: stemming every token would be slow."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

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


@cache
def _load_porter_stemmer() -> Any:
    """Return NLTK's PorterStemmer without the rest of NLTK, which takes longer to import than a model to predict.

    Its module is imported below packages that are empty, then these are taken away again: another import of NLTK
    finds nothing of it.
    """
    if "nltk" in sys.modules:
        return importlib.import_module("nltk.stem.porter").PorterStemmer
    found = importlib.util.find_spec("nltk")
    try:
        for package, folder in (("nltk", ""), ("nltk.stem", "stem")):
            empty = ModuleType(package)
            empty.__path__ = [str(Path(place) / folder) for place in found.submodule_search_locations or ()]  # type: ignore[union-attr]
            sys.modules[package] = empty
        return importlib.import_module("nltk.stem.porter").PorterStemmer
    except (AttributeError, ImportError):
        # Another version of NLTK may need its packages.
        _forget_nltk()
        return importlib.import_module("nltk.stem.porter").PorterStemmer
    finally:
        if not hasattr(sys.modules.get("nltk"), "__version__"):
            _forget_nltk()


def _forget_nltk() -> None:
    for name in [name for name in sys.modules if name == "nltk" or name.startswith("nltk.")]:
        del sys.modules[name]


def make_stemmer(name: StemmerName) -> Callable[[str], str]:
    """Return the function from a word to its stem."""
    if name == "none":
        return str
    stemmer = _load_porter_stemmer()
    porter = stemmer(mode=getattr(stemmer, _MODES[name]))

    def stem(word: str) -> str:
        return str(porter.stem(word, to_lowercase=False))

    return (lambda word: stem(word) if "a" <= word[:1] <= "z" else word) if name == "porter_lemur" else stem
