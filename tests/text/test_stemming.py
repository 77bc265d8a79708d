"""The variants of Porter's stemmer, by words on which they differ."""

from __future__ import annotations

from typing import get_args

from tests.loops import for_each
from textcat.text.terms import make_stemmer
from textcat.text.text_settings import StemmerName

GOLDEN: dict[StemmerName, dict[str, str]] = {
    "none": {"caresses": "caresses"},
    "porter_original": {
        "caresses": "caress",
        "possibly": "possibli",
        "archaeology": "archaeologi",
        "is": "i",
        "1980s": "1980",
    },
    "porter_martin": {
        "caresses": "caress",
        "possibly": "possibl",
        "archaeology": "archaeolog",
        "is": "is",
        "1980s": "1980",
    },
    "porter_extensions": {"caresses": "caress", "dying": "die", "geology": "geolog", "1980s": "1980"},
    "porter_lemur": {
        "caresses": "caress",
        "dying": "dy",
        "archaeology": "archaeolog",
        "1980s": "1980s",
        "Banks": "Banks",
    },
}


@for_each("name", get_args(StemmerName))
def test_stems(name: StemmerName) -> None:
    stem = make_stemmer(name)
    assert {word: stem(word) for word in GOLDEN[name]} == GOLDEN[name]
