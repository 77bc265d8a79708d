from __future__ import annotations

from textcat.published.check import find_cell_values
from textcat.published.claims import evaluate_claims, load_claims
from textcat.published.printed_tables import load_all_cells
from textcat.published.requirements import find_absent_runs, find_required_measures

CELLS, CLAIMS = load_all_cells(), load_claims()
ASKED = find_required_measures(CELLS, CLAIMS)


def test_an_experiment_with_all_that_is_needed_leaves_nothing_open():
    results = {
        experiment: {run: dict.fromkeys(measures, 1.0) for run, measures in runs.items()}
        for experiment, runs in ASKED.items()
    }
    found = find_cell_values(CELLS, results)
    assert set(found) == {cell.id for cell in CELLS}
    assert None not in found.values()
    assert "not run" not in {result.outcome for result in evaluate_claims(CLAIMS, results)}


def test_nothing_is_asked_for_in_vain():
    asked = [(e, r, m) for e, runs in ASKED.items() for r, measures in runs.items() for m in measures]
    from_cells = find_required_measures(CELLS, [])
    from_claims = find_required_measures([], CLAIMS)
    for experiment, run, measure in asked:
        in_cells = measure in from_cells.get(experiment, {}).get(run, [])
        assert in_cells or measure in from_claims[experiment][run]


def test_runs_that_an_experiment_does_not_make():
    runs = list(ASKED["reuters_modapte"])
    assert find_absent_runs(ASKED, {"reuters_modapte": runs, "elsewhere": []}) == {}
    assert find_absent_runs(ASKED, {"reuters_modapte": runs[1:]}) == {"reuters_modapte": runs[:1]}


def test_shares_need_their_divisor_and_differences_what_is_subtracted():
    assert "category.earn.train_seconds" in ASKED["zhang_jin_2003/table2_reuters"]["svm"]
    assert "micro.f1" in ASKED["reuters_modapte"]["logistic"]
    assert "accuracy.sd" in ASKED["zhang_oles_2001/table5_webkb"]["svm"]
