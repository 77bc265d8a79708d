"""The attacks work, and docs/dev/faults.md shows what came of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.attacks import ATTACKS, Setting
from tests.faults.table import BEGIN, END, PAGE, format_table, read_outcomes
from tests.faults.workplace import Place

QUICK = {
    "flipped bits in models": 20, "flipped bits in kernels": 20, "documents changed in place": 3,
    "models replaced while read": 20, "stop lists of other files": 12,
    "killed fetches": 3, "changed archives": 50,
    "damaged results": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_is_survived(finished: Place, tmp_path: Path, name: str) -> None:
    setting = Setting(finished, tmp_path, random.Random(name))
    found = list(ATTACKS[name][0](setting, QUICK[name]))
    assert found == [""] * QUICK[name]


def test_the_page_shows_the_outcomes() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert shown == format_table(read_outcomes()) + "\n"


def test_every_attack_was_carried_out_and_survived() -> None:
    outcomes = read_outcomes()
    assert [each.attack for each in outcomes] == list(ATTACKS)
    assert [each.attack for each in outcomes if each.mismatches or not each.tries] == []
