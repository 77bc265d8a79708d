"""Golden examples of each tokenizer, and agreement with the pattern that it states."""

from __future__ import annotations

import re
import unicodedata
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.text import tokenizers
from textcat.text.tokenizers import MARKUP_START, TOKENIZERS, TokenizerName, blank_markup, find_markup

NAMES: tuple[TokenizerName, ...] = get_args(TokenizerName)


def words(name: TokenizerName, text: str, *, lowercase: bool = True) -> list[str]:
    tokenizer = TOKENIZERS[name]
    cut = tokenizer.make_cutter(lowercase=lowercase)
    return [word for piece in tokenizer.make_splitter(lowercase=lowercase)(text) for word in cut(piece)]


SENTENCE = "U.S. banks' 3rd-quarter net: 1.5 mln dlrs, IBM's don't-know, caf\u00e9 B2B"

GOLDEN = {
    "alphabetic": "u s banks rd quarter net mln dlrs ibm s don t know caf b b",
    "alphanumeric": "u s banks 3rd quarter net 1 5 mln dlrs ibm s don t know caf b2b",
    "words": "u s banks quarter net mln dlrs ibm's don't-know caf b2b",
    "unicode": "u s banks 3rd quarter net 1 5 mln dlrs ibm s don t know caf\u00e9 b2b",
    "whitespace": "u.s. banks' 3rd-quarter net: 1.5 mln dlrs, ibm's don't-know, caf\u00e9 b2b",
    "trec": "us banks 3rd quarter net 1 5 mln dlrs ibm don know caf\u00e9 b2b",
}


@for_each("name", NAMES)
def test_sentence(name: TokenizerName) -> None:
    assert words(name, SENTENCE) == GOLDEN[name].split()


@for_each("name", NAMES)
def test_case_is_kept_when_wished(name: TokenizerName) -> None:
    kept = words(name, "Grain TRADE", lowercase=False)
    assert kept == ["Grain", "TRADE"]
    assert words(name, "Grain TRADE") == ["grain", "trade"]


@for_each(
    ("text", "expected"),
    [
        ("U.S.A.", ["usa"]),
        ("U.S.A", ["us", "a"]),
        ("U.S", ["u", "s"]),
        ("USA's", ["usa"]),
        ("USAs", ["usas"]),
        ("USA'S", ["usa"]),
        ("Reagan's", ["reagan"]),
        ("don't5", ["don", "5"]),
        ("banks' net", ["banks", "net"]),
        ("F-16 16-bit", ["f", "16", "16", "bit"]),
        ("A&P &amp; &#3; 1 < 2 > b", ["a", "p", "1", "2", "b"]),
        ("a <IBM> b </Text\nx> c <!doctype d> e <!-- f --> g", ["a", "b", "c", "e", "g"]),
    ],
)
def test_trec_rules(text: str, expected: list[str]) -> None:
    assert words("trec", text) == expected


@for_each(
    ("text", "expected"),
    [
        ("a-b--c d' 'e f-", ["a-b", "c", "d", "e", "f"]),
        ("4th 4-door x4-4", ["door", "x4-4"]),
        ("rock'n'roll", ["rock'n'roll"]),
    ],
)
def test_inner_marks_of_words(text: str, expected: list[str]) -> None:
    assert words("words", text) == expected


# The definition of what `find_markup` finds; searching for it takes quadratic time.
MARKUP = re.compile(r"</?[a-zA-Z][^>]*>|<![^-][^>]*>|<!--[^>]*-->|&[a-zA-Z]+;|&#[0-9]*;")

tricky = st.text(
    alphabet="aAbBsSzZ09'.-_ <>&;!/\n\u00a0\u00a1\u00e9\u00ff\u0130\u0131\u212a?\x00", max_size=25
)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "unicode"])
@given(text=st.one_of(st.text(), tricky))
@settings(max_examples=150, deadline=None)
def test_words_are_what_the_pattern_finds(name: TokenizerName, lowercase: bool, text: str) -> None:
    tokenizer = TOKENIZERS[name]
    kept = re.sub(MARKUP, " ", text) if name == "trec" else text
    found = re.findall(
        tokenizer.pattern, kept.lower() if tokenizer.folds_first(lowercase=lowercase) else kept
    )
    finish = tokenizer.finish or str
    finished = [finish(word) for word in found]
    expected = [word.lower() for word in finished] if lowercase else finished
    assert words(name, text, lowercase=lowercase) == expected


pieces_of_markup = st.lists(
    st.sampled_from(["<", ">", "!", "-", "--", "/", "&", "#", ";", "a", "0", " "]), max_size=14
)


@given(pieces_of_markup.map("".join))
@settings(max_examples=2000, deadline=None)
def test_markup_is_what_its_pattern_finds(text: str) -> None:
    assert list(find_markup(text)) == [found.span() for found in MARKUP.finditer(text)]
    assert blank_markup(text) == MARKUP.sub(lambda found: " " * len(found[0]), text)


class CountingText(str):
    """A text that counts the characters that its `find` reads."""

    __slots__ = ("read",)

    def find(self, sub: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        found = super().find(sub, start, end)
        self.read = getattr(self, "read", 0) + (len(self) if found < 0 else found) - start + 1
        return found


@for_each("opening", ["<!--", "<a", "</a", "<!x", "<!>", "&a", "&#1", "<!-- <a", "<"])
@for_each("ending", ["", ">", "->", "-->"])
def test_finding_markup_takes_linear_time(opening: str, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CountingText(opening * 2000 + ending)
    searches = []

    class CountingPattern:
        """The pattern of the starts of markup, with a note of the part of the text that each search reads."""

        def search(self, text: str, position: int) -> re.Match[str] | None:
            found = MARKUP_START.search(text, position)
            searches.append((found.end() if found else len(text)) - position)
            return found

    monkeypatch.setattr(tokenizers, "MARKUP_START", CountingPattern())
    list(find_markup(text))
    assert getattr(text, "read", 0) <= 2 * len(text)
    assert len(searches) <= len(text) + 1
    assert sum(searches) <= 4 * len(text) + 4


def test_marks_continue_a_word_and_composed_text_is_the_same() -> None:
    unicode = TOKENIZERS["unicode"]
    split, cut = unicode.make_splitter(lowercase=True), unicode.make_cutter(lowercase=True)

    def words(text: str) -> list[str]:
        return [word for piece in split(text) for word in cut(piece)]

    assert words("का घर, की घर") == ["का", "घर", "की", "घर"]
    composed, apart = "Épée naïve_übung x2", unicodedata.normalize("NFD", "Épée naïve_übung x2")
    assert composed != apart
    assert words(composed) == words(apart) == ["épée", "naïve", "übung", "x2"]
    assert words("\u0301 - a_b c-d") == ["a", "b", "c", "d"]
