"""BibTeX of textcat, papers, collections and experiments: each entry once, every learner covered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import textcat
from tests.loops import for_each
from textcat.cli.main import group
from textcat.corpora import list_corpora
from textcat.errors import DataNotAvailableError
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.learners.parameters import LEARNERS
from textcat.published.printed_tables import PAPERS
from textcat.report import citations

TABLE = yaml.safe_load((Path(citations.__file__).parent / "references.yaml").read_text())


def check_entries(text: str) -> list[str]:
    """Check braces and fields of the entries, and return their keys."""
    entries = [entry for entry in re.split(r"\n(?=@)", text.strip()) if entry]
    for entry in entries:
        assert re.fullmatch(r"@\w+\{[\w.:-]+,\n(.+)\n\}\s*", entry, re.DOTALL), entry
        assert entry.count("{") == entry.count("}")
        body = entry.split(",\n", 1)[1].rstrip("}\n ")
        fields = re.split(r",\n(?=\s+\w+\s*=)", body)
        assert all(re.match(r"\s*\w+\s*=\s*[{\d]", field) for field in fields), entry
        assert {"author", "editor"} & {field.split("=")[0].strip() for field in fields}
    return citations.find_keys(entries)


@for_each("name", ["textcat", *PAPERS, *list_corpora()])
def test_each_name_has_an_entry(name: str) -> None:
    assert len(check_entries(citations.cite(name))) == 1


@for_each("name", list(find_experiment_files()))
def test_an_experiment_cites_each_publication_once(name: str) -> None:
    keys = check_entries(citations.cite(name))
    assert keys[0] == "textcat"
    assert len(keys) == len(set(keys))
    paper = name.partition("/")[0]
    assert paper in keys or paper not in PAPERS


def test_an_experiment_cites_what_it_uses() -> None:
    keys = citations.find_keys([citations.cite("reuters_modapte")])
    wanted = {"textcat", "zhang_oles_2001", "reuters21578", "mccallum1998eventmodels", "platt1998smo"}
    assert wanted <= set(keys)
    assert "littlestone1988winnow" not in keys


def test_every_learner_and_every_reference_is_known() -> None:
    assert set(TABLE["learners"]) == set(LEARNERS), (
        "list the papers of each learner in textcat/report/references.yaml"
    )
    lists = [*TABLE["learners"].values(), *TABLE["rules"].values(), *TABLE["stop_list"].values()]
    lists += [TABLE["stem"], TABLE["selection"], TABLE["projection"]]
    used = {key for keys in lists for key in keys}
    assert used - set(PAPERS) == set(citations.load_references())
    check_entries("\n".join(citations.load_references().values()))


def test_the_citation_file_has_the_current_version() -> None:
    facts = citations.load_citation_file()
    assert facts["version"] == textcat.__version__
    assert {"cff-version", "message", "title", "authors", "license"} <= set(facts)


def test_a_missing_citation_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textcat, "__file__", str(tmp_path / "textcat" / "__init__.py"))
    with pytest.raises(DataNotAvailableError, match="citation of textcat is missing") as error:
        citations.make_software_entry()
    assert error.value.where == str(tmp_path / "textcat" / "CITATION.cff")


def test_the_command_prints_the_entry() -> None:
    result = CliRunner().invoke(group, ["show", "--bibtex", "genkin_2004"])
    assert result.exit_code == 0
    assert result.output.startswith("@techreport{genkin_2004,")


def test_a_misspelt_name_gets_a_suggestion() -> None:
    result = CliRunner().invoke(group, ["show", "--bibtex", "reuters_modapt"])
    assert result.exception is not None
    assert "reuters_modapte" in str(result.exception)
