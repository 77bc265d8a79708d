"""Parts of dual ascent: sums of losses and dual values by lane, where it starts, when it ends, what folds certify."""

from __future__ import annotations

import numpy as np

from tests.linear.fast.problems import make, objective, solve
from tests.loops import for_each
from textcat.linear.fast.dual import StoppingRule, maximise_dual
from textcat.linear.fast.layout import (
    pack_block,
    pack_rows,
)

LOSSES = ["logistic", "hinge", "squared_hinge"]


def block_of(seed: int = 3, n: int = 200, d: int = 30, k: int = 5, C: float = 2.0):
    X, Y = make(seed, n, d, k)
    rows = pack_rows(X, np.linspace(0.5, 2.0, n))
    return X, Y, rows, pack_block(Y, np.full(k, C), np.arange(k))


@for_each("loss", LOSSES)
@for_each("C", [1.0, 100.0])
def test_a_gap_in_single_precision_is_the_gap_asked_for(loss: str, C: float) -> None:
    X, Y, _, _ = block_of(n=600, k=16)
    rows, block = pack_rows(X, np.ones(600)), pack_block(Y, np.full(16, C), np.arange(16))
    rule = StoppingRule(1e-4, max_passes=10_000)
    found, _ = maximise_dual(rows, block, loss, rule, (0, 0), exact=False)
    best = solve(X, Y, loss=loss, C=C, tol=1e-6)
    coef = found.W[rows.place].astype(np.float64)
    reached = objective(X, Y, coef, loss, "gaussian", C)
    assert np.all(reached - best.objective <= 1.01e-4 * best.objective)
    assert np.all(found.gap <= 1e-4 * found.objective)
    np.testing.assert_allclose(found.objective, reached, rtol=1e-5)
