from __future__ import annotations

from textcat.published.check import measured_cells
from textcat.published.claims import evaluate_all, load_claims
from textcat.published.needed import absent_runs, needed
from textcat.published.tables import all_cells

CELLS, CLAIMS = all_cells(), load_claims()
ASKED = needed(CELLS, CLAIMS)


def test_an_experiment_with_all_that_is_needed_leaves_nothing_open():
    results = {
        experiment: {run: dict.fromkeys(measures, 1.0) for run, measures in runs.items()}
        for experiment, runs in ASKED.items()
    }
    found = measured_cells(CELLS, results)
    assert set(found) == {cell.id for cell in CELLS}
    assert None not in found.values()
    assert "not run" not in {result.outcome for result in evaluate_all(CLAIMS, results)}


def test_nothing_is_asked_for_in_vain():
    asked = [(e, r, m) for e, runs in ASKED.items() for r, measures in runs.items() for m in measures]
    from_cells = needed(CELLS, [])
    from_claims = needed([], CLAIMS)
    for experiment, run, measure in asked:
        in_cells = measure in from_cells.get(experiment, {}).get(run, [])
        assert in_cells or measure in from_claims[experiment][run]


def test_runs_that_an_experiment_does_not_make():
    runs = list(ASKED["reuters_modapte"])
    assert absent_runs(ASKED, {"reuters_modapte": runs, "elsewhere": []}) == {}
    assert absent_runs(ASKED, {"reuters_modapte": runs[1:]}) == {"reuters_modapte": runs[:1]}


def test_shares_need_their_divisor_and_differences_what_is_subtracted():
    assert "category.earn.train_seconds" in ASKED["zhang_jin_2003/table2_reuters"]["svm"]
    assert "micro.f1" in ASKED["reuters_modapte"]["logistic"]
    assert "accuracy.sd" in ASKED["zhang_oles_2001/table5_webkb"]["svm"]
