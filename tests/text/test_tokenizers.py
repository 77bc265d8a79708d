"""Golden examples of each tokenizer, and agreement with the pattern that it states."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textcat.text.tokenizers import TOKENIZERS, TokenizerName

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


@pytest.mark.parametrize("name", NAMES)
def test_sentence(name: TokenizerName) -> None:
    assert words(name, SENTENCE) == GOLDEN[name].split()


@pytest.mark.parametrize("name", NAMES)
def test_case_is_kept_when_wished(name: TokenizerName) -> None:
    kept = words(name, "Grain TRADE", lowercase=False)
    assert kept == ["Grain", "TRADE"]
    assert words(name, "Grain TRADE") == ["grain", "trade"]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a-b--c d' 'e f-", ["a-b", "c", "d", "e", "f"]),
        ("4th 4-door x4-4", ["door", "x4-4"]),
        ("rock'n'roll", ["rock'n'roll"]),
    ],
)
def test_inner_marks_of_words(text: str, expected: list[str]) -> None:
    assert words("words", text) == expected


tricky = st.text(
    alphabet="aAbBsSzZ09'.-_ <>&;!/\n\u00a0\u00a1\u00e9\u00ff\u0130\u0131\u212a?\x00", max_size=25
)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("name", NAMES)
@given(text=st.one_of(st.text(), tricky))
@settings(max_examples=150, deadline=None)
def test_words_are_what_the_pattern_finds(name: TokenizerName, lowercase: bool, text: str) -> None:
    tokenizer = TOKENIZERS[name]
    kept = re.sub(tokenizer.skip, " ", text) if tokenizer.skip else text
    found = re.findall(
        tokenizer.pattern, kept.lower() if tokenizer.folds_first(lowercase=lowercase) else kept
    )
    finish = tokenizer.finish or str
    finished = [finish(word) for word in found]
    expected = [word.lower() for word in finished] if lowercase else finished
    assert words(name, text, lowercase=lowercase) == expected


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_nothing_out(name: TokenizerName) -> None:
    assert words(name, "") == []
    assert words(name, " \n\t") == []


def test_each_name_stands_for_its_tokenizer() -> None:
    assert list(TOKENIZERS) == list(NAMES)
    assert all(tokenizer.name == name and tokenizer.description for name, tokenizer in TOKENIZERS.items())
