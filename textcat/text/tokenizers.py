"""Tokenizers by name: how the text of a field is cut into words.

A tokenizer has two halves. The splitter runs over all text and must be fast; it may leave words together that
the cutter, which runs once for each distinct piece of text, takes apart. Case is folded before the split
where that changes nothing, and after it where the rule of the tokenizer looks at capitals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast

from textcat.plugins import find_plugin, load_plugin, wrap_plugin_function

TokenizerName = Literal["alphabetic", "alphanumeric", "words", "unicode", "whitespace", "trec"]


@dataclass(frozen=True)
class Tokenizer:
    """A way of cutting text into words: what `pattern` finds, changed by `finish`.

    Words are runs of `characters`, which are Latin-1, or stand between white space where there are none. They
    are `finer` if `pattern` has yet to be looked for in such a piece. What `skip` finds is blotted out first.
    """

    name: TokenizerName
    description: str
    pattern: str
    characters: bytes = b""
    finer: bool = False
    looks_at_capitals: bool = False
    skip: str = ""
    finish: Callable[[str], str] | None = None

    def folds_first(self, *, lowercase: bool) -> bool:
        """Whether capitals become small letters before the pattern is looked for."""
        return lowercase and not self.looks_at_capitals

    def make_splitter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """The function from a text to its pieces, a word or more each."""
        if self.characters:
            return _make_run_splitter(self.characters, self.make_encoder(lowercase=lowercase))
        fold = self.folds_first(lowercase=lowercase)
        return (lambda text: text.lower().split()) if fold else str.split

    def make_encoder(self, *, lowercase: bool) -> Callable[[str], bytes]:
        """The function from a text to the bytes whose runs of `characters` are its pieces."""
        fold = self.folds_first(lowercase=lowercase)
        blot = re.compile(self.skip).sub if self.skip else None

        def encode(text: str) -> bytes:
            seen = blot(" ", text) if blot else text
            # What is not Latin-1 becomes a question mark, which no set has.
            return (seen.lower() if fold else seen).encode("latin-1", "replace")

        return encode

    def gives_words(self, *, lowercase: bool) -> bool:
        """Whether the splitter's pieces are words already."""
        return not (self.finer or self.finish or (lowercase and self.looks_at_capitals))

    def make_cutter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """The function from a piece to its words."""
        find = re.compile(self.pattern).findall
        finish = self.finish or str
        lower = str.lower if lowercase and self.looks_at_capitals else str

        def cut(piece: str) -> list[str]:
            return [lower(finish(word)) for word in (find(piece) if self.finer else (piece,))]

        return cut


@dataclass(frozen=True)
class WordFunction:
    """A tokenizer that is a function from a text to its words; capitals become small letters afterwards."""

    words: Callable[[str], list[str]]

    def make_splitter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """The function itself."""
        return self.words

    def make_cutter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """Each piece is a word already."""
        return lambda piece: [piece.lower() if lowercase else piece]


def load_tokenizer(name: str) -> Tokenizer | WordFunction:
    """One of TOKENIZERS, or a plugin's."""
    plugin = find_plugin("tokenizers", name, TOKENIZERS)
    if plugin is not None:
        return WordFunction(wrap_plugin_function(plugin, load_plugin(plugin)))
    return TOKENIZERS[cast(TokenizerName, name)]


def reads_latin_only(name: str) -> bool:
    """Whether a tokenizer drops the letters of other scripts."""
    tokenizer = load_tokenizer(name)
    return isinstance(tokenizer, Tokenizer) and bool(tokenizer.characters)


def _make_run_splitter(characters: bytes, encode: Callable[[str], bytes]) -> Callable[[str], list[str]]:
    """Runs of characters out of a set: translating bytes is twice as fast as a regular expression."""
    table = bytes(code if code in characters else 0x20 for code in range(256))
    return lambda text: encode(text).translate(table).decode("latin-1").split()


def _finish_trec(token: str) -> str:
    """U.S.A. becomes USA, and IBM's becomes IBM; the other tokens have neither dot nor apostrophe."""
    return token.replace(".", "").partition("'")[0]


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_BEYOND_ASCII = bytes(range(0xA1, 0x100))

TOKENIZERS: Mapping[TokenizerName, Tokenizer] = MappingProxyType(
    {
        tokenizer.name: tokenizer
        for tokenizer in (
            Tokenizer(
                "alphabetic",
                "Runs of the letters a to z; everything else separates.",
                "[a-zA-Z]+",
                characters=_LETTERS,
            ),
            Tokenizer(
                "alphanumeric",
                "Runs of the letters a to z and the digits; everything else separates.",
                "[a-zA-Z0-9]+",
                characters=_LETTERS + _DIGITS,
            ),
            Tokenizer(
                "words",
                "Words that begin with a letter, with digits and single inner hyphens and apostrophes.",
                "(?<![a-zA-Z0-9])[a-zA-Z][a-zA-Z0-9]*(?:['-][a-zA-Z0-9]+)*",
                characters=_LETTERS + _DIGITS + b"'-",
                finer=True,
            ),
            Tokenizer(
                "unicode",
                "Runs of the letters and digits of any script; everything else separates.",
                r"[^\W_]+",
                finer=True,
            ),
            Tokenizer(
                "whitespace",
                "Whatever stands between white space: for text that is tokenized already.",
                r"\S+",
            ),
            # The rules of the TrecParser module of the Lemur toolkit, which genkin_2004 section 5.2.1 names,
            # without an acronym list: dotted capitals are one word without their dots, a word loses what
            # follows an apostrophe, Latin-1 letters are kept. It drops what looks like a tag, so that the
            # company codes of Reuters, <IBM> in the text, are not counted.
            Tokenizer(
                "trec",
                "Words as Lemur's TrecParser has them: U.S.A. and USA's are usa, <IBM> is a tag.",
                r"[A-Z]\.(?:[A-Z]\.)+|[a-zA-Z0-9]+'[a-zA-Z]+|[a-zA-Z0-9\u00a1-\u00ff]+",
                characters=_LETTERS + _DIGITS + _BEYOND_ASCII + b"'.",
                finer=True,
                looks_at_capitals=True,
                skip=r"</?[a-zA-Z][^>]*>|<![^-][^>]*>|<!--[^>]*-->|&[a-zA-Z]+;|&#[0-9]*;",
                finish=_finish_trec,
            ),
        )
    }
)
