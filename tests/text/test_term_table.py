"""Terms as text in one piece: the same terms and the same columns as a list gives."""

from __future__ import annotations

import numpy as np
import pytest

from textcat.errors import BadDataError
from textcat.text.term_table import TermTable, make_term_finder

WORDS = [*sorted(f"w{number:x}" for number in range(900)), "äther", "ñandú", "東京", "\ud800"]
CHARACTERS = sorted({word[0] for word in WORDS})
TERMS, ENDS = [*WORDS, *CHARACTERS], (len(WORDS), len(WORDS) + len(CHARACTERS))


def test_terms_are_read_back_and_found_in_their_group():
    table = TermTable.unpack(**TermTable.pack(TERMS))
    assert list(table) == TERMS
    assert table[3:5] == TERMS[3:5]
    assert table[-1] == TERMS[-1]
    found, expected = make_term_finder(table, ENDS), make_term_finder(TERMS, ENDS)
    wanted = ["", "w", "w1", "zz", "東京", "東", "\ud800", "äther"]
    # One by one at first, by a dictionary later.
    for _ in range(30):
        for group in (0, 1):
            assert found(group, wanted) == expected(group, wanted)
    assert expected(0, ["w1", "東", "東京"]) == [TERMS.index("w1"), -1, TERMS.index("東京")]
    assert expected(1, ["東"]) == [TERMS.index("東")]


@pytest.mark.parametrize(
    "change",
    [
        {"lengths": np.array([9], np.uint8)},
        {"lengths": np.array([1.0])},
        {"text": np.array([1.0])},
        {"text": np.array([0xFF, 0xFF, 0xFF], np.uint8)},
    ],
)
def test_a_table_that_does_not_fit_its_text_is_refused(change):
    with pytest.raises(BadDataError):
        TermTable.unpack(**(TermTable.pack(["oil"]) | change))
