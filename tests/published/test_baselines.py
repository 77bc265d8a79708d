"""Published baselines of today: marks to reach, judged apart from the printed numbers of the papers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.loops import for_each
from textcat.cli.check_command import check_command
from textcat.corpora import list_corpora
from textcat.errors import UsageError
from textcat.experiment.run.results_file import encode_results, read_results
from textcat.experiment.spec.loading import load_experiment
from textcat.published.baselines import (
    JudgedMark,
    PinnedBaselines,
    count_marks,
    judge_mark,
    judge_marks,
    load_baselines,
    load_pinned_baselines,
    render_pinned_baselines,
    validate_baselines,
)
from textcat.published.printed_tables import load_all_cells
from textcat.report.gate import find_results, judge_baselines, judge_results
from textcat.yaml_reader import parse_yaml

PROJECT = Path(__file__).resolve().parents[2]
TEXT = """
- collection: queries
  experiment: practice/queries
  documents: ten
  source: a paper
  choices: none
  marks:
    - {system: other, published: "91.0", name: accuracy, run: svm, measure: accuracy}
"""
BASELINES = validate_baselines(parse_yaml(TEXT, "test").data, "test")
MARK = "queries[other][accuracy][svm]"


def judged(now: float | None, pinned: float | None = None, corpus: str = "a") -> JudgedMark:
    accepted = {} if pinned is None else {MARK: pinned}
    (entry,) = judge_marks(
        BASELINES,
        {"practice/queries": {"svm": {"accuracy": now}}},
        {"practice/queries": PinnedBaselines(corpus="a", values=accepted)},
        {"practice/queries": corpus},
    )
    return entry


@for_each(
    ("measured", "verdict"),
    [(91.0, "above"), (90.951, "above"), (90.949, "below"), (99.0, "above"), (None, "not run")],
)
def test_a_mark_stands_for_all_numbers_that_round_to_it(measured: float | None, verdict: str) -> None:
    assert judge_mark(measured, "91.0") == verdict


@for_each(
    ("now", "pinned", "failed"),
    [
        (99.0, 99.0, False),
        (99.04, 99.0, False),
        (99.06, 99.0, True),
        (98.94, 99.0, True),
        (80.0, 80.0, False),
        (90.94, 90.96, True),
        (90.96, 90.94, False),
        (None, 99.0, True),
        (math.nan, 99.0, True),
        (50.0, None, False),
    ],
)
def test_only_what_moved_from_its_pin_or_fell_below_its_mark_fails(
    now: float | None, pinned: float | None, failed: bool
) -> None:
    assert judged(now, pinned).failed is failed


def test_other_corpus_files_and_missing_results_are_not_judged() -> None:
    assert not judged(50.0, 99.0, corpus="b").failed
    (entry,) = judge_marks(
        BASELINES, {}, {"practice/queries": PinnedBaselines(corpus="a", values={MARK: 99})}, {}
    )
    assert (entry.verdict, entry.failed, entry.difference) == ("not run", False, None)


def test_counts_and_differences() -> None:
    entries = [judged(92.5), judged(90.0, 91.0), judged(None)]
    assert count_marks(entries) == {"marks": 3, "above": 1, "below": 1, "not run": 1, "failed": 1}
    assert entries[0].difference == pytest.approx(1.5)


def test_accepted_values_are_read_back_and_others_are_kept() -> None:
    before = {"practice/else": PinnedBaselines(corpus="c", values={"else[a][b][c]": 1.5})}
    text = render_pinned_baselines(before, [judged(92.123456)], {"practice/queries": "a"})
    found = {name: PinnedBaselines.model_validate(one) for name, one in yaml.safe_load(text).items()}
    assert found == before | {"practice/queries": PinnedBaselines(corpus="a", values={MARK: 92.1235})}


@for_each(
    ("old", "new", "message"),
    [
        ("system: other", "system: other, year: 2019", "year"),
        ('published: "91.0"', "published: 91.0", "published"),
        ('published: "91.0"', 'published: "91 %"', "printed number"),
        ("  source: a paper\n", "", "source"),
        ("  choices: none\n", "", "choices"),
    ],
)
def test_mistakes_in_the_file_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        validate_baselines(parse_yaml(TEXT.replace(old, new), "test").data, "test")
    with pytest.raises(UsageError, match="given twice"):
        validate_baselines(parse_yaml(TEXT + TEXT, "test").data, "test")


def test_every_mark_has_a_collection_a_run_a_committed_result_and_a_pin() -> None:
    pinned = load_pinned_baselines()
    for each in load_baselines():
        experiment = load_experiment(PROJECT / "configs" / f"{each.experiment}.yaml")
        assert each.collection in list_corpora()
        assert experiment.corpus.name == each.collection
        results = find_results([PROJECT / "results" / each.experiment])
        entries = judge_baselines(results, everything=False)
        assert {entry.id for entry in entries} == set(pinned[each.experiment].values)
        for entry in entries:
            assert entry.mark.run in experiment.runs
            assert entry.measured is not None and entry.pinned is not None and not entry.failed
            assert abs(entry.measured - entry.pinned) < 1e-3


def test_the_papers_numbers_do_not_count_them() -> None:
    results = find_results([PROJECT / "results" / "practice" / "clinc150"])
    assert judge_results(results, everything=False) == []
    assert not {each.experiment for each in load_baselines()} & {cell.experiment for cell in load_all_cells()}


def test_check_fails_when_a_number_moves(tmp_path: Path) -> None:
    path = tmp_path / "practice" / "clinc150"
    path.mkdir(parents=True)
    results = read_results(PROJECT / "results" / "practice" / "clinc150" / "results.json")
    (path / "results.json").write_text(encode_results(results))
    good = CliRunner().invoke(check_command, [str(tmp_path)], standalone_mode=False)
    assert good.return_value == 0
    assert "of 3 numbers of other systems, ours are above 2 and below 1" in good.output
    results["runs"]["ngrams"]["measures"]["reject.in_scope_accuracy"] -= 0.06
    (path / "results.json").write_text(encode_results(results))
    moved = CliRunner().invoke(check_command, [str(tmp_path)], standalone_mode=False)
    assert moved.return_value == 1
    assert (
        "FAILED clinc150[fastText][in-scope accuracy][ngrams]: pinned 93.2, now 93.14 (above)" in moved.output
    )
    as_json = CliRunner().invoke(check_command, [str(tmp_path), "--json", "-q"], standalone_mode=False)
    marks = {mark["id"]: mark["failed"] for mark in json.loads(as_json.stdout)["baselines"]}
    assert sorted(marks.values()) == [False, True, True]
