"""Printed numbers as evidence: losses, misfit, certainty and chance, each against a plain computation."""

from __future__ import annotations

import numpy as np
import pytest

from textcat.published.evidence import LARGEST_LOSS, Evidence, compute_losses, count_by_chance, is_evidence
from textcat.published.printed_tables import PublishedCell, load_all_cells
from textcat.published.verdicts import find_measure_kind, judge_number, read_printed

CELLS = [cell for cell in load_all_cells() if is_evidence(cell)]
TABLE2 = tuple(cell for cell in CELLS if cell.table_id == "zhang_oles_2001.table2")
TABLE1 = tuple(cell for cell in CELLS if cell.table_id == "zhang_oles_2001.table1")


def print_of(cell: PublishedCell) -> float:
    return read_printed(str(cell.printed), cell.unit).value


def test_a_loss_is_at_most_one_where_a_number_is_reproduced_and_at_most_two_where_it_is_close() -> None:
    generator = np.random.default_rng(5)
    for cell in CELLS:
        if find_measure_kind(cell.kind).rule in ("sign", "decades"):
            continue
        for factor in (1.0, *generator.uniform(0.7, 1.4, 6)):
            value = print_of(cell) * factor
            [loss] = compute_losses([cell], {cell.id: value})
            verdict = judge_number(value, cell.printed, cell.kind, cell.unit)
            assert 0.0 <= loss <= LARGEST_LOSS
            assert (loss <= 1.0 + 1e-9) == (verdict == "reproduced"), (cell.id, value)
            if find_measure_kind(cell.kind).close is None and verdict == "close":
                assert loss <= 2.0 + 1e-9
        assert compute_losses([cell], {cell.id: print_of(cell)}) == [0.0]
        assert compute_losses([cell], {cell.id: None}) == compute_losses([cell], {}) == [LARGEST_LOSS]


def test_misfit_is_the_mean_within_each_table_and_then_over_tables() -> None:
    evidence = Evidence((*TABLE1, *TABLE2))
    losses = {cell.id: 1.0 for cell in TABLE1} | {cell.id: 0.0 for cell in TABLE2}
    assert evidence.compute_misfit(losses) == pytest.approx(0.5)
    assert evidence.without(cell.id for cell in TABLE2).compute_misfit(losses) == pytest.approx(1.0)


def test_certainty_counts_the_resamples_in_which_a_reading_fits_better() -> None:
    evidence = Evidence(TABLE2)
    worse = dict.fromkeys(evidence.ids, 1.0)
    assert evidence.compare(dict.fromkeys(evidence.ids, 0.5), worse) == (pytest.approx(0.5), 1.0)
    assert evidence.compare(worse, worse) == (0.0, 0.5)
    # One cell of 24 is better: it is drawn in all but (23/24)^24 of the resamples, and the others tie.
    one_better = {**worse, evidence.ids[0]: 0.0}
    gain, share = evidence.compare(one_better, worse)
    missed = (23 / 24) ** 24
    assert gain == pytest.approx(1 / 24)
    assert share == pytest.approx(1 - missed / 2, abs=0.03)
    # Cells that are left out are the same under both.
    assert evidence.compare({evidence.ids[0]: 0.0}, {evidence.ids[0]: 1.0}) == (gain, share)


def test_chance_is_what_permuted_print_reproduces() -> None:
    cells = [replace_print(cell, f"{10 * number}.0") for number, cell in enumerate(TABLE2[:6], start=1)]
    values = {cell.id: print_of(cell) for cell in cells}
    mean, deviation = count_by_chance(cells, values)
    # A random permutation has one fixed point on average, with variance one; all six cells are of one kind.
    assert len({cell.kind for cell in cells}) == 1
    assert mean == pytest.approx(1.0, abs=0.1)
    assert deviation == pytest.approx(1.0, abs=0.15)


def replace_print(cell: PublishedCell, printed: str) -> PublishedCell:
    return cell.model_copy(update={"printed": printed})
