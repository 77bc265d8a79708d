"""The page of keys is what the model of the file says, and every option of every reader has a meaning."""

from __future__ import annotations

import re

from tests.conftest import PROJECT
from tests.documents.configuration_page import make_configuration_page
from tests.loops import for_each
from textcat.corpora import OWN_FORMATS, list_corpora
from textcat.corpora.registry import list_reader_options, load_option_descriptions
from textcat.experiment.spec.experiment import Experiment


def test_page_is_up_to_date() -> None:
    page = (PROJECT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == make_configuration_page(), (
        "run: python -m tests.documents.configuration_page > docs/configuration.md"
    )


def test_page_names_every_key_of_the_file() -> None:
    page = make_configuration_page()
    assert [
        key for key in Experiment.model_fields if not re.search(rf"^- .*`{key}[`:]", page, re.MULTILINE)
    ] == []


@for_each("name", [*OWN_FORMATS, *list_corpora()])
def test_every_option_of_a_reader_has_its_meaning(name: str) -> None:
    assert set(load_option_descriptions(name)) == set(list_reader_options(name))
