"""Tokenizers by name: rules that divide the text of a field into words.

A tokenizer has two steps. The splitter runs over all text and must be fast; its pieces may hold several words. The
cutter runs once for each distinct piece and divides it into words. Text is lowercased before the split, or after
the cut if the rule of the tokenizer depends on capitals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from textcat.extensions import claim_name, guard_function

TokenizerName = Literal["alphabetic", "alphanumeric", "words", "unicode", "whitespace", "trec"]


@dataclass(frozen=True)
class Tokenizer:
    """A rule whose words are the matches of `pattern`, each changed by `finish`.

    `skip` first replaces text that holds no words by spaces. Pieces are then runs of `characters`, which are Latin-1,
    or runs without white space if there are none. If `finer`, `pattern` is searched in each piece; otherwise
    each piece is a word. `divide` does what the pattern cannot. ASCII text is divided at once into runs of
    `ascii_characters`, if these are given; other text is composed (NFC) first.
    """

    name: TokenizerName
    description: str
    pattern: str
    characters: bytes = b""
    ascii_characters: bytes = b""
    finer: bool = False
    depends_on_capitals: bool = False
    divide: Callable[[str], list[str]] | None = None
    skip: Callable[[str], str] | None = None
    finish: Callable[[str], str] | None = None

    def folds_first(self, *, lowercase: bool) -> bool:
        """Return whether text is lowercased before the pattern is searched."""
        return lowercase and not self.depends_on_capitals

    def make_splitter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """Return a function from a text to its pieces of one or more words."""
        if self.characters:
            # Translating bytes is twice as fast as a regular expression.
            table, encode = _make_table(self.characters), self.make_encoder(lowercase=lowercase)
            return lambda text: encode(text).translate(table).decode("latin-1").split()
        fold = self.folds_first(lowercase=lowercase)
        if self.ascii_characters:
            return _make_ascii_splitter(self.ascii_characters, fold=fold)
        return (lambda text: text.lower().split()) if fold else str.split

    def make_encoder(self, *, lowercase: bool) -> Callable[[str], bytes]:
        """Return a function from a text to bytes, whose runs of `characters` are the pieces."""
        fold = self.folds_first(lowercase=lowercase)

        def encode(text: str) -> bytes:
            kept = self.skip(text) if self.skip else text
            # Characters outside Latin-1 become question marks, which are in no word.
            return (kept.lower() if fold else kept).encode("latin-1", "replace")

        return encode

    def gives_words(self, *, lowercase: bool) -> bool:
        """Return whether every piece of the splitter is a word as it is."""
        return not (self.finer or self.finish or (lowercase and self.depends_on_capitals))

    def make_cutter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """Return a function from a piece to its words."""
        find = self.divide or re.compile(self.pattern).findall
        finish = self.finish or str
        lower = str.lower if lowercase and self.depends_on_capitals else str
        if self.finer and not self.finish and lower is str:
            return find

        def cut(piece: str) -> list[str]:
            return [lower(finish(word)) for word in (find(piece) if self.finer else (piece,))]

        return cut


@dataclass(frozen=True)
class WordFunction:
    """A tokenizer given as a function from a text to its words, which are lowercased afterwards."""

    words: Callable[[str], list[str]]

    def make_splitter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """Return the function itself."""
        return self.words

    def make_cutter(self, *, lowercase: bool) -> Callable[[str], list[str]]:
        """Return a function that lowercases a piece, which is one word."""
        return lambda piece: [piece.lower() if lowercase else piece]


def register_tokenizer(name: str, function: Callable[[str], list[str]]) -> None:
    """Add a tokenizer: a function from a text to the list of its words, which are lowercased afterwards."""
    claim_name("tokenizer", name, TOKENIZERS)
    TOKENIZERS[name] = WordFunction(guard_function("tokenizer", name, function, _check_words))


def _check_words(words: Any, _text: str) -> str:
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        return ""
    return f"it must return a list of texts, not {words!r:.80}"


def reads_latin_only(name: str) -> bool:
    """Return whether a tokenizer drops all letters outside Latin-1."""
    tokenizer = TOKENIZERS[name]
    return isinstance(tokenizer, Tokenizer) and bool(tokenizer.characters)


def _make_table(characters: bytes) -> bytes:
    """Return the table of `bytes.translate` that replaces all other characters by spaces."""
    return bytes(code if code in characters else 0x20 for code in range(256))


def _make_ascii_splitter(characters: bytes, *, fold: bool) -> Callable[[str], list[str]]:
    """Return a function that divides ASCII text into runs of characters, and other text at white space."""
    table = _make_table(characters)

    def split(text: str) -> list[str]:
        folded = text.lower() if fold else text
        if folded.isascii():
            return folded.encode("ascii").translate(table).decode("ascii").split()
        return unicodedata.normalize("NFC", folded).split()

    return split


def divide_unicode(piece: str) -> list[str]:
    """Return the runs of letters and digits of any script; a combining mark, such as a vowel sign, continues a run."""
    words, start = [], -1
    for position, character in enumerate(piece):
        if character.isalnum():
            start = position if start < 0 else start
        elif start >= 0 and not unicodedata.category(character).startswith("M"):
            words.append(piece[start:position])
            start = -1
    return words if start < 0 else [*words, piece[start:]]


def _finish_trec(token: str) -> str:
    """Turn U.S.A. into USA and IBM's into IBM; other tokens have neither dot nor apostrophe."""
    return token.replace(".", "").partition("'")[0]


MARKUP_START = re.compile(r"</?[a-zA-Z]|<![^-]|<!--|&[a-zA-Z]+;|&#[0-9]*;")


def find_markup(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each tag, comment and character reference, in time linear in the text.

    These are the matches of `</?[a-zA-Z][^>]*>|<![^-][^>]*>|<!--[^>]*-->|&[a-zA-Z]+;|&#[0-9]*;`. That pattern itself
    takes quadratic time, since each `<` without its `>` would search the rest of the text again.
    """
    position = 0
    close = -1
    while found := MARKUP_START.search(text, position):
        start, end = found.span()
        position = start + 1
        if text[start] == "<":
            if close < end:
                close = text.find(">", end)
                close = len(text) if close < 0 else close
            is_comment = text.startswith("<!--", start)
            if close == len(text) or (is_comment and not text.endswith("--", end, close)):
                continue
            end = close + 1
        yield start, end
        position = end


def blank_markup(text: str) -> str:
    """Replace the characters of tags, comments and character references by spaces."""
    parts = []
    kept_from = 0
    for start, end in find_markup(text):
        parts += [text[kept_from:start], " " * (end - start)]
        kept_from = end
    return "".join([*parts, text[kept_from:]])


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_BEYOND_ASCII = bytes(range(0xA1, 0x100))

TOKENIZERS: dict[str, Tokenizer | WordFunction] = {
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
            "Runs of the letters, marks and digits of any script; everything else separates.",
            r"[^\W_]+",
            divide=divide_unicode,
            ascii_characters=_LETTERS + _DIGITS,
            finer=True,
        ),
        Tokenizer(
            "whitespace",
            "Runs without white space: for text that is tokenized already.",
            r"\S+",
        ),
        # The TrecParser module of the Lemur toolkit, which genkin_2004 section 5.2.1 names, without an
        # acronym list: dotted capitals are one word without their dots, a word ends before an apostrophe,
        # Latin-1 letters are kept. Tags are dropped, and with them the company codes of Reuters (<IBM>).
        Tokenizer(
            "trec",
            "Words as Lemur's TrecParser has them: U.S.A. and USA's are usa, <IBM> is a tag.",
            r"[A-Z]\.(?:[A-Z]\.)+|[a-zA-Z0-9]+'[a-zA-Z]+|[a-zA-Z0-9\u00a1-\u00ff]+",
            characters=_LETTERS + _DIGITS + _BEYOND_ASCII + b"'.",
            finer=True,
            depends_on_capitals=True,
            skip=blank_markup,
            finish=_finish_trec,
        ),
    )
}
