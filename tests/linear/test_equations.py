"""The map from equations to code points at things that exist and leaves no solver out."""

from __future__ import annotations

from importlib import import_module, resources

import yaml


def places() -> dict[str, list[str]]:
    text = resources.files("textcat.linear").joinpath("equations.yaml").read_text(encoding="utf-8")
    return {
        f"{paper}: {what}": where
        for paper, rows in yaml.safe_load(text).items()
        for what, where in rows.items()
    }


def test_every_place_exists_and_names_its_paper() -> None:
    for what, where in places().items():
        for place in where:
            module_name, name = place.split(":")
            module = import_module(f"textcat.linear.{module_name}")
            assert hasattr(module, name), place
        assert what.split(":")[0] in ("zhang_oles_2001", "zhang_jin_2003", "genkin_2004")


def test_every_algorithm_of_the_papers_is_on_the_map() -> None:
    text = " ".join(places())
    for number in range(1, 6):
        assert f"zhang_oles_2001: algorithm {number}," in text
    for number in (4, 6, 10, 13, 17, 18):
        assert str(number) in text
    assert "zhang_jin_2003: algorithm 1" in text
