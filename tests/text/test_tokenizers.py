"""Golden examples of each tokenizer, and agreement with the pattern that it states."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcat.text.tokenizers import TOKENIZERS, TokenizerName

NAMES: tuple[TokenizerName, ...] = get_args(TokenizerName)


def words(name: TokenizerName, text: str, *, lowercase: bool = True) -> list[str]:
    tokenizer = TOKENIZERS[name]
    finish = tokenizer.finisher(lowercase=lowercase)
    return [finish(token) for token in tokenizer.splitter(lowercase=lowercase)(text)]


SENTENCE = "U.S. banks' 3rd-quarter net: 1.5 mln dlrs, IBM's don't-know, caf\u00e9 B2B"

GOLDEN = {
    "alphabetic": "u s banks rd quarter net mln dlrs ibm s don t know caf b b",
    "alphanumeric": "u s banks 3rd quarter net 1 5 mln dlrs ibm s don t know caf b2b",
    "words": "u s banks quarter net mln dlrs ibm's don't-know caf b2b",
    "unicode": "u s banks 3rd quarter net 1 5 mln dlrs ibm s don t know caf\u00e9 b2b",
    "whitespace": "u.s. banks' 3rd-quarter net: 1.5 mln dlrs, ibm's don't-know, caf\u00e9 b2b",
    "trec": "us banks 3rd quarter net 1 5 mln dlrs ibm don t know caf\u00e9 b2b",
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
        ("USA'sx", ["usa", "sx"]),
        ("USA'S", ["usa", "s"]),
        ("Reagan's", ["reagan", "s"]),
        ("o'clock", ["o", "clock"]),
        ("F-16 16-bit", ["f", "16", "16", "bit"]),
        ("<IBM> A&P", ["ibm", "a", "p"]),
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


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("name", NAMES)
@given(text=st.text())
def test_tokens_are_what_the_pattern_finds(name: TokenizerName, lowercase: bool, text: str) -> None:
    tokenizer = TOKENIZERS[name]
    folded = text.lower() if lowercase and not tokenizer.looks_at_capitals else text
    found = re.findall(tokenizer.pattern, folded)
    if name == "whitespace":
        found = folded.split()
    assert tokenizer.splitter(lowercase=lowercase)(text) == found


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_nothing_out(name: TokenizerName) -> None:
    assert words(name, "") == []
    assert words(name, " \n\t") == []


def test_each_name_stands_for_its_tokenizer() -> None:
    assert list(TOKENIZERS) == list(NAMES)
    assert all(tokenizer.name == name and tokenizer.description for name, tokenizer in TOKENIZERS.items())
