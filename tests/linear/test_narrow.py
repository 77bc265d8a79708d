"""A category solved on its own features only equals the category solved together with all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.linear import fit
from textcat.linear import training as narrow
from textcat.linear.problem import make_matrix_with_bias, split_into_blocks
from textcat.linear.training import ALGORITHMS, FitSettings, make_problem

SETTINGS: list[dict[str, Any]] = [
    {"loss": "squared", "algorithm": "column"},
    {"loss": "squared_hinge", "algorithm": "column", "options": {"continuation": 5}},
    {"loss": "logistic", "prior": "laplace", "algorithm": "column"},
    {"loss": "hinge", "algorithm": "row"},
    {"loss": "logistic", "algorithm": "conjugate_gradient", "penalize_bias": False},
]


def masked(documents: int = 200, terms: int = 300, categories: int = 40, kept: int = 6) -> Any:
    generator = np.random.default_rng(7)
    X = sp.random_array((documents, terms), density=0.05, format="csr", random_state=generator)
    Y = generator.random((documents, categories)) < 0.2
    mask = np.zeros((terms, categories), dtype=bool)
    for category in range(categories):
        mask[generator.choice(terms, kept if category else terms // 2, replace=False), category] = True
    return X, Y, mask


def posed(mask: Any, X: Any, Y: Any) -> Any:
    settings = FitSettings(mask=mask)
    return make_problem(X, Y, settings, settings.read_algorithm_options())


def test_few_features_each_are_solved_apart_and_shared_ones_together() -> None:
    X, Y, mask = masked()
    blocks = split_into_blocks(Y.shape[1])
    apart = narrow.divide_blocks(posed(mask, X, Y), blocks)
    assert [part.start for part in apart[1:]] == [part.stop for part in apart[:-1]]
    assert apart[0].start == 0 and apart[-1].stop == Y.shape[1] and len(apart) > len(blocks)
    everything = np.ones_like(mask)
    assert narrow.divide_blocks(posed(everything, X, Y), blocks) == blocks
    assert narrow.divide_blocks(posed(None, X, Y), blocks) == blocks


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: f"{each['loss']}-{each['algorithm']}")
def test_weights_and_certificates_are_those_of_the_whole(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y, mask = masked()
    options = {"stop": "passes", **settings.get("options", {})}
    chosen = {**settings, "options": options, "lam": 1e-3, "max_passes": 12, "mask": mask, "seed": 3}
    small = fit(X, Y, **chosen)
    monkeypatch.setattr(narrow, "divide_blocks", lambda problem, blocks: blocks)
    monkeypatch.setattr(narrow, "solve_on_used_features", lambda solve, *rest, dual: solve(*rest))
    whole = fit(X, Y, **chosen)
    np.testing.assert_allclose(small.coef, whole.coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(small.intercept, whole.intercept, rtol=1e-9, atol=1e-12)
    assert not small.coef[~mask].any()
    for one, other in zip(small.certificate, whole.certificate, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-12)
        assert one.passes == other.passes


def test_a_prior_of_single_weights_follows_its_features() -> None:
    from textcat.linear.priors import Prior

    X, Y, mask = masked()
    mode = np.linspace(-0.5, 0.5, X.shape[1])
    prior = Prior("gaussian", mode=mode, variance=np.linspace(0.1, 2.0, X.shape[1]))
    model = fit(X, Y, mask=mask, prior=prior, tol=1e-9)
    one = mask[:, 1]
    alone = Prior("gaussian", mode=mode[one], variance=np.linspace(0.1, 2.0, X.shape[1])[one])
    rows = make_matrix_with_bias(X, 0.0)
    expected = fit(rows[:, one], Y[:, [1]], prior=alone, tol=1e-9)
    np.testing.assert_allclose(model.coef[one, 1], expected.coef[:, 0], atol=1e-6)


def test_only_the_fast_way_looks_after_itself() -> None:
    assert [name for name, each in ALGORITHMS.items() if not each.narrow] == ["fast"]
