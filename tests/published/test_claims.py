from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.published.claim_tests import _compute_welch_p
from textcat.published.claims import (
    count_outcomes,
    evaluate_claim,
    list_claim_experiments,
    load_claims,
    validate_claims,
)
from textcat.published.printed_tables import PAPERS, load_all_cells
from textcat.published.verdicts import read_printed
from textcat.yaml_reader import parse_yaml


def printed_results() -> dict[str, dict[str, dict[str, float | None]]]:
    """Printed numbers in the form of results."""
    results: dict[str, dict[str, dict[str, float | None]]] = {}
    for cell in load_all_cells():
        if cell.printed is not None and cell.unit != "text" and cell.over is None:
            runs = results.setdefault(cell.experiment, {}).setdefault(cell.run, {})
            runs[cell.measure] = read_printed(cell.printed, cell.unit).value
    return results


def test_no_claim_fails_on_the_printed_numbers():
    printed = printed_results()
    outcomes = [evaluate_claim(claim, printed) for claim in load_claims()]
    assert {result.claim.id for result in outcomes if result.outcome == "fails"} == set()
    held = [result for result in outcomes if result.outcome == "holds"]
    assert len(held) == 55


def test_every_paper_has_claims_and_statements_are_unique():
    claims = load_claims()
    assert {claim.paper for claim in claims} == set(PAPERS)
    assert len({claim.statement for claim in claims}) == len(claims) == 91


def test_without_results_no_claim_holds():
    results = [evaluate_claim(claim, {}) for claim in load_claims()]
    assert {result.outcome for result in results} == {"not run"}
    text = json.dumps([result.describe() for result in results], allow_nan=False)
    assert "not run" in text


def test_every_claim_needs_an_experiment():
    assert all(list_claim_experiments(claim) for claim in load_claims())


CLAIM = """
- id: zhang_2000.some_claim
  paper: zhang_2000
  statement: S
  where: W
  tests:
    - {test}
"""


def outcome(test: str, **measures: float) -> str:
    (claim,) = validate_claims(parse_yaml(CLAIM.format(test=test), "test").data, "test")
    return evaluate_claim(claim, {"e": {"r": measures}}).outcome


def pick(*names: str, minus: str = "") -> str:
    extra = f", minus: {minus}" if minus else ""
    return f"{{experiment: e, run: r, measure: [{', '.join(names)}]{extra}}}"


AB, CD, C = pick("a", "b"), pick("c", "d"), pick("c")
MINUS = "minus: {experiment: e, run: r, measure: %s}"
LOSES_MORE = (
    f"{{compare: pairs, left: {{experiment: e, run: r, measure: a, {MINUS % 'b'}}}, "
    f"right: {{experiment: e, run: r, measure: c, {MINUS % 'd'}}}, above: 1}}"
)


@for_each(
    ("test", "measures", "expected"),
    [
        (f"{{compare: extremes, left: {AB}, right: {CD}}}", {"a": 5, "b": 4, "c": 3, "d": 1}, "holds"),
        (f"{{compare: extremes, left: {AB}, right: {CD}}}", {"a": 5, "b": 2, "c": 3, "d": 1}, "fails"),
        (f"{{compare: extremes, left: {AB}, right: {CD}}}", {"a": 5, "b": 3, "c": 3, "d": 1}, "fails"),
        (f"{{compare: extremes, left: {AB}, right: {C}, above: 2}}", {"a": 5, "b": 4, "c": 3}, "fails"),
        (f"{{compare: pairs, left: {AB}, right: {CD}}}", {"a": 5, "b": 2, "c": 3, "d": 1}, "holds"),
        (f"{{compare: pairs, left: {AB}, right: {CD}}}", {"a": 5, "b": 1, "c": 3, "d": 1}, "fails"),
        (
            f"{{compare: pairs, left: {AB}, right: {C}, at_least: 1}}",
            {"a": 5, "b": 1, "c": 3},
            "holds",
        ),
        (
            f"{{compare: distance, left: {AB}, right: {CD}, high: 1}}",
            {"a": 5, "b": 1, "c": 4, "d": 2},
            "holds",
        ),
        (
            f"{{compare: distance, left: {AB}, right: {CD}, high: 1}}",
            {"a": 5, "b": 1, "c": 4, "d": 3},
            "fails",
        ),
        (f"{{compare: range, left: {AB}, high: 1}}", {"a": 5, "b": 4}, "holds"),
        (f"{{compare: range, left: {AB}, high: 1}}", {"a": 5, "b": 3.9}, "fails"),
        (f"{{compare: numbers, left: {AB}, low: 1, high: 5}}", {"a": 5, "b": 1}, "holds"),
        (f"{{compare: numbers, left: {AB}, low: 1, high: 5}}", {"a": 5.1, "b": 1}, "fails"),
        (
            f"{{compare: pairs, left: {AB}, right: {CD}, low: -1, high: 1}}",
            {"a": 5, "b": 1, "c": 4, "d": 2},
            "holds",
        ),
        (
            f"{{compare: pairs, left: {AB}, right: {CD}, low: 0, high: 1}}",
            {"a": 5, "b": 1, "c": 4, "d": 2},
            "fails",
        ),
        (LOSES_MORE, {"a": 9, "b": 4, "c": 5, "d": 2}, "holds"),
        (LOSES_MORE, {"a": 9, "b": 4, "c": 5, "d": 1}, "fails"),
        (LOSES_MORE, {"a": 9, "b": 9, "c": 5, "d": 4}, "fails"),
        (
            f"{{compare: ratios, left: {AB}, right: {C}, low: 1, high: 2}}",
            {"a": 6, "b": 3, "c": 3},
            "holds",
        ),
        (
            f"{{compare: ratios, left: {AB}, right: {C}, low: 1, high: 2}}",
            {"a": 7, "b": 3, "c": 3},
            "fails",
        ),
        (
            f"{{compare: ratios, left: {AB}, right: {C}, low: 1, high: 2}}",
            {"a": 6, "b": 3, "c": 0},
            "fails",
        ),
        (f"{{compare: ratios, left: {AB}, right: {C}, low: 1}}", {"a": 6, "b": 3, "c": 3}, "holds"),
        (f"{{compare: ratios, left: {AB}, right: {C}, low: 1}}", {"a": 6, "b": 3, "c": 0}, "fails"),
        (f"{{compare: steps, left: {AB}}}", {"a": 1, "b": 2}, "holds"),
        (f"{{compare: steps, left: {AB}}}", {"a": 2, "b": 2}, "fails"),
        (f"{{compare: steps, left: {AB}, low: 0}}", {"a": 2, "b": 2}, "holds"),
        (f"{{compare: steps, left: {pick('a', 'b', 'c')}, low: -1}}", {"a": 1, "b": 0.5, "c": 2}, "holds"),
        (f"{{compare: steps, left: {pick('a', 'b', 'c')}, low: -1}}", {"a": 1, "b": -0.5, "c": 2}, "fails"),
        (f"{{compare: range, left: {AB}, right: {CD}}}", {"a": 1, "b": 4, "c": 9, "d": 7}, "holds"),
        (f"{{compare: range, left: {AB}, right: {CD}}}", {"a": 1, "b": 4, "c": 9, "d": 6}, "fails"),
        (f"{{compare: numbers, left: {AB}, below: 0.05}}", {"a": 0.01, "b": 0.049}, "holds"),
        (f"{{compare: numbers, left: {AB}, below: 0.05}}", {"a": 0.01, "b": 0.05}, "fails"),
        (f"{{compare: numbers, left: {AB}, low: 0.05}}", {"a": 0.3, "b": 0.05}, "holds"),
        (
            f"{{compare: t_test, below: 0.05, repetitions: 5, left: {AB}, right: {CD}}}",
            {"a": 86.5, "b": 0.4, "c": 85.2, "d": 0.4},
            "holds",
        ),
        (
            f"{{compare: t_test, below: 0.05, repetitions: 5, left: {AB}, right: {CD}}}",
            {"a": 85.45, "b": 0.4, "c": 85.23, "d": 0.4},
            "fails",
        ),
        (
            f"{{compare: t_test, below: 0.05, repetitions: 5, left: {AB}, right: {CD}}}",
            {"a": 85.2, "b": 0.4, "c": 86.5, "d": 0.4},
            "fails",
        ),
        (
            f"{{compare: extremes, left: {pick('a', minus='b')}, right: {pick('c', minus='d')}}}",
            {"a": 9, "b": 5, "c": 9, "d": 6},
            "holds",
        ),
    ],
)
def test_kinds_of_test(test, measures, expected):
    assert outcome(test, **measures) == expected
    for name in measures:
        assert outcome(test, **{**measures, name: math.nan}) == "not run"
        without = {other: value for other, value in measures.items() if other != name}
        assert outcome(test, **without) == "not run"


def test_the_t_test_is_that_of_scipy():
    expected = stats.ttest_ind_from_stats(86.0, 0.4, 5, 85.2, 0.7, 5, equal_var=False).pvalue
    assert _compute_welch_p(0.8, 0.4, 0.7, 5) == pytest.approx(expected)


def test_claims_that_cannot_fail_are_counted_apart():
    claims = [claim for claim in load_claims() if claim.identity]
    assert [claim.id for claim in claims] == [
        "zhang_jin_2003.objective_is_bounded",
        "zhang_2000.plain_winnows_coincide",
    ]
    printed = printed_results()
    outcomes = [evaluate_claim(claim, printed) for claim in load_claims()]
    counts = count_outcomes(outcomes)
    assert counts["cannot fail"] == 1
    assert counts["holds"] == sum(each.outcome == "holds" for each in outcomes) - 1
    assert counts["holds"] + counts["fails"] + counts["not run"] == len(outcomes) - len(claims)


def test_a_failing_test_decides_even_if_another_was_not_run():
    text = CLAIM.format(test=f"{{compare: numbers, left: {pick('a')}, low: 0, high: 1}}")
    text += f"    - {{compare: numbers, left: {pick('b')}, low: 0, high: 1}}\n"
    (claim,) = validate_claims(parse_yaml(text, "test").data, "test")
    assert evaluate_claim(claim, {"e": {"r": {"a": 2.0}}}).outcome == "fails"
    result = evaluate_claim(claim, {"e": {"r": {"a": 0.5}}})
    assert result.outcome == "not run"
    assert [(place.measure, value) for place, value in result.evidence.items()] == [("a", 0.5), ("b", None)]


@given(st.lists(st.sampled_from([0.5, 2.0, math.nan, None]), min_size=1, max_size=5))
def test_the_worst_outcome_decides(values):
    """0.5 is inside the bounds, 2.0 outside, and NaN and a missing number cannot be judged."""
    first, *others = (
        f"{{compare: numbers, left: {pick(f'm{k}')}, low: 0, high: 1}}" for k in range(len(values))
    )
    text = CLAIM.format(test=first) + "".join(f"    - {other}\n" for other in others)
    (claim,) = validate_claims(parse_yaml(text, "test").data, "test")
    measures = {f"m{k}": value for k, value in enumerate(values) if value is not None}
    found = evaluate_claim(claim, {"e": {"r": measures}}).outcome
    expected = "not run" if any(value != 0.5 for value in values) else "holds"
    assert found == ("fails" if 2.0 in values else expected)


def test_lists_multiply_in_the_order_written():
    text = CLAIM.format(
        test="{compare: range, high: 1, left: {experiment: [e, f], run: [r, s], measure: [a, b]}}"
    )
    (claim,) = validate_claims(parse_yaml(text, "test").data, "test")
    places = claim.tests[0].left.list_places()
    assert [(p.experiment, p.run, p.measure) for p in places] == [
        (e, r, m) for e in ("e", "f") for r in ("r", "s") for m in ("a", "b")
    ]
    assert list_claim_experiments(claim) == ["e", "f"]


@for_each(
    ("old", "new", "message"),
    [
        ("id: zhang_2000", "id: zhang_2001", "does not start with"),
        ("    - T\n", "    []\n", "has no test"),
        ("compare: range", "test: witin", "invalid claims"),
        ("high: 1", "tolerance: 1", "invalid claims"),
        ("statement: S", "statement: S\n  colour: red", "invalid claims"),
        ("compare: range", "compare: pairs", "needs `right`"),
        ("compare: range", "compare: t_test", "needs `right`"),
        ("high: 1", "repetitions: 5", "for a t_test"),
    ],
)
def test_invalid_claims_are_refused(old, new, message):
    test = f"{{compare: range, left: {AB}, high: 1}}"
    text = CLAIM.format(test="T" if old.strip() == "- T" else test)
    assert old in text
    with pytest.raises(UsageError, match=message):
        validate_claims(parse_yaml(text.replace(old, new), "test").data, "test")


def test_duplicate_ids_are_refused():
    one = CLAIM.format(test=f"{{compare: range, left: {AB}, high: 1}}")
    with pytest.raises(UsageError, match="same id"):
        validate_claims(parse_yaml(one + one, "test").data, "test")
