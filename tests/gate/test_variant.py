"""A user's variant of a paper's experiment: its numbers stand next to the printed ones."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import PROJECT
from tests.gate.commands import reuters_in, textcat

VARIANT = """\
extends: reuters_modapte
text: {tokenizer: alphanumeric}
selection: {features: 500}
runs: {least_squares: null, modified_least_squares: null, logistic: null, svm: null, modified_svm: null}
"""


def test_a_variant_is_compared_with_its_paper(tmp_path: Path) -> None:
    where = reuters_in(tmp_path)
    variant = tmp_path / "digits_too.yaml"
    variant.write_text(VARIANT)
    done = textcat("run", str(variant), *where)
    assert done.returncode == 0, done.stderr
    assert "digits_too is a variant of reuters_modapte" in done.stdout
    assert "zhang_oles_2001.table2: " in done.stdout
    assert "(77.0)" in done.stdout
    folder = tmp_path / "results" / "digits_too"
    for name in ("table.md", "report.html"):
        assert "digits_too is a variant of reuters_modapte" in (folder / name).read_text()
    for named in (str(variant), str(folder)):
        check = textcat("check", named, *where)
        assert check.returncode == 3
        assert "a variant of reuters_modapte is compared with print only" in check.stderr
        assert "zhang_oles_2001.table3" in check.stdout
    facts = json.loads(textcat("check", str(variant), *where, "--json").stdout)
    assert facts["variants"]["digits_too"]["totals"]["run"] == 14
    both = textcat("check", str(folder), str(PROJECT / "results" / "reuters_modapte"), "--json")
    assert json.loads(both.stdout)["totals"]["run"] == 84


def test_own_documents_are_compared_with_no_paper(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(
        "text,label\n" + "".join(f"word{i % 2} w{i},c{i % 2}\n" for i in range(40))
    )
    corpus = "{name: csv, path: mine.csv, categories: all, split: null, options: {unprocessed: null, label: label}}"
    own = VARIANT.replace("{tokenizer: alphanumeric}", "{fields: [text], separate_fields: []}")
    (tmp_path / "mine.yaml").write_text(f"{own}corpus: {corpus}\n")
    done = textcat(
        "run", str(tmp_path / "mine.yaml"), "--data", f"{tmp_path}/data", "--results", f"{tmp_path}/r"
    )
    assert done.returncode == 0, done.stderr
    assert "variant" not in done.stdout
