"""The page of keys is what the model of the file says, and every option of every reader has a meaning."""

from __future__ import annotations

import pytest

from tests.conftest import PROJECT
from textcat.corpora import OWN_FORMATS, corpus_names
from textcat.corpora.registry import option_meanings, reader_options
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.schema import configuration_page


def test_page_is_up_to_date() -> None:
    page = (PROJECT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == configuration_page(), (
        "run: python -m textcat.experiment.spec.schema > docs/configuration.md"
    )


def test_page_names_every_key_of_the_file() -> None:
    page = configuration_page()
    assert [key for key in Experiment.model_fields if f"| `{key}` |" not in page] == []


@pytest.mark.parametrize("name", [*OWN_FORMATS, *corpus_names()])
def test_every_option_of_a_reader_has_its_meaning(name: str) -> None:
    assert set(option_meanings(name)) == set(reader_options(name))
