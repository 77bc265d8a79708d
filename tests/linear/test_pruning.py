"""Pruned models: what is kept, what the certificates say of the rest, and that nothing else changes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear import blocks, fit, fit_path
from textcat.linear.model import LinearModel

GENERATOR = np.random.default_rng(11)
X = sp.random(300, 80, density=0.15, format="csr", random_state=GENERATOR)
Y = GENERATOR.random((300, 37)) < np.linspace(0.4, 0.01, 37)
SETTINGS = {"loss": "squared_hinge", "lam": 1e-3, "algorithm": "fast", "tol": 1e-3}
LIMIT = 0.1


@for_each("bias", [0.0, 2.0])
@for_each("algorithm", ["fast", "column"])
def test_small_weights_are_dropped_and_the_cost_is_certified(algorithm: str, bias: float) -> None:
    settings = {**SETTINGS, "algorithm": algorithm, "bias": bias}
    whole, pruned = fit(X, Y, **settings), fit(X, Y, **settings, prune=LIMIT)
    kept = np.where(np.abs(whole.coef) >= LIMIT, whole.coef, 0).astype(np.float32)
    assert sp.issparse(pruned.coef) and pruned.coef.format == "csc" and pruned.coef.dtype == np.float32
    assert np.array_equal(pruned.coef.toarray(), kept)
    assert np.array_equal(pruned.intercept, whole.intercept)
    shares = [1 - (kept[:, k] != 0).sum() / (whole.coef[:, k] != 0).sum() for k in range(Y.shape[1])]
    assert [one.pruned_share for one in pruned.certificate] == pytest.approx(shares)
    changes = np.abs(whole.scores(X) - pruned.scores(X)).max(axis=0)
    assert [one.pruned_change for one in pruned.certificate] == pytest.approx(changes, abs=1e-5)
    assert 0.1 < np.mean(shares) < 1
    assert changes.max() > 0.01
    for before, after in zip(whole.certificate, pruned.certificate, strict=True):
        assert (before.objective, before.gap) == (after.objective, after.gap)
        assert "pruned_share" not in before.as_dict()


def test_blocks_do_not_change_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**SETTINGS, "algorithm": "column", "prune": LIMIT}
    whole = fit(X, Y, **settings)
    monkeypatch.setattr(blocks, "MAX_BLOCK", 5)
    parts = fit(X, Y, **settings, n_jobs=2)
    assert np.array_equal(whole.coef.toarray(), parts.coef.toarray())
    assert [each.pruned_change for each in whole.certificate] == [
        each.pruned_change for each in parts.certificate
    ]


def test_a_stored_pruned_model_scores_the_same_and_can_be_trained_on() -> None:
    model = fit(X, Y, **SETTINGS, prune=LIMIT)
    again = LinearModel.from_arrays(model.to_arrays(), json.loads(json.dumps(model.describe())))
    assert np.array_equal(again.scores(X), model.scores(X))
    assert again.coef.dtype == np.float32 and str(again.certificate) == str(model.certificate)
    path = fit_path(X, Y, [1e-2, 1e-3], **{k: v for k, v in SETTINGS.items() if k != "lam"}, prune=LIMIT)
    objectives = [each.objective for each in model.certificate]
    assert [each.objective for each in path[1].certificate] == pytest.approx(objectives, rel=2e-3)


@for_each("prune", [-0.1, float("nan"), float("inf")])
def test_thresholds_that_are_none_are_refused(prune: float) -> None:
    with pytest.raises(UsageError, match="prune cannot be"):
        fit(X, Y, **SETTINGS, prune=prune)
    with pytest.raises(UsageError, match="itself"):
        fit(X, Y, prior="jeffreys", prune=0.1)
