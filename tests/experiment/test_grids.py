"""Grids of runs: what `for` stands for is what is written out, and mistakes are named with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from textcat.errors import UsageError
from textcat.experiment.spec.loading import load_experiment

HEAD = "title: t\ncorpus: {name: reuters21578}\nselection: {folds: once}\n"
GRID = """runs:
  plain: {learner: CLS}
  svm_{size}_{way}:
    for:
      size: [100, 200]
      way:
        - {way: tuned, threshold: {rule: tuned, cross_validated: true}, lam: 1.0e-3}
        - {way: own, threshold: {rule: default}, lam: 1.0e-4}
    title: "{size} features, {way}"
    learner: smo
    parameters: {lam: "{lam}"}
    selection: {features: "{size}"}
    threshold: "{threshold}"
"""
WRITTEN_OUT = """runs:
  plain: {learner: CLS}
""" + "".join(
    f"""  svm_{size}_{way}:
    title: {size} features, {way}
    learner: smo
    parameters: {{lam: {lam}}}
    selection: {{features: {size}}}
    threshold: {threshold}
"""
    for size in (100, 200)
    for way, lam, threshold in (
        ("tuned", 0.001, "{rule: tuned, cross_validated: true}"),
        ("own", 0.0001, "{rule: default}"),
    )
)


def test_a_grid_is_its_runs_written_out_in_order(tmp_path: Path) -> None:
    grid, out = tmp_path / "grid.yaml", tmp_path / "out.yaml"
    grid.write_text(HEAD + "name: n\n" + GRID)
    out.write_text(HEAD + "name: n\n" + WRITTEN_OUT)
    assert load_experiment(grid) == load_experiment(out)
    assert list(load_experiment(grid).runs) == list(load_experiment(out).runs)


def test_a_file_that_extends_a_grid_changes_and_removes_single_runs(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(HEAD + GRID)
    above = tmp_path / "above.yaml"
    above.write_text(
        "extends: grid.yaml\nruns: {plain: null, svm_100_own: null, svm_200_own: {parameters: {lam: 0.5}}}\n"
    )
    runs = load_experiment(above).runs
    assert list(runs) == ["svm_100_tuned", "svm_200_tuned", "svm_200_own"]
    assert runs["svm_200_own"].parameters == {"lam": 0.5}
    assert runs["svm_200_tuned"].parameters == {"lam": 0.001}


@pytest.mark.parametrize(
    ("run", "place", "message"),
    [
        ("a_{x}: {for: {x: 3}, learner: CLS}", "5:11", "`for` names lists of values"),
        ("a_{x}: {for: {x: []}, learner: CLS}", "5:11", "`for` names lists of values"),
        ("a_{y}: {for: {x: [1]}, learner: CLS}", "5:3", r"\{y\} is no name of `for`"),
        ('a_{x}: {for: {x: [1]}, learner: CLS, title: "by {z}"}', "5:40", r"\{z\} is no name of `for`"),
        ("a_{x}: {for: {x: [[1]]}, learner: CLS}", "5:3", r"\{x\} has no text"),
        ("a: {for: {x: [1, 2]}, learner: CLS}", "5:3", "'a' is written twice"),
        (f"a_{{x}}: {{for: {{x: {list(range(1001))}}}, learner: CLS}}", "5:11", "more than 1000 runs"),
        ('a_{x}: {for: {x: [oops]}, learner: CLS, parameters: {lam: "{x}"}}', "5:56", "lam: "),
    ],
)
def test_a_mistake_in_a_grid_is_named_with_its_place(
    tmp_path: Path, run: str, place: str, message: str
) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(HEAD + f"runs:\n  {run}\n")
    with pytest.raises(UsageError, match=message) as caught:
        load_experiment(path)
    assert f"grid.yaml:{place}" in str(caught.value)
