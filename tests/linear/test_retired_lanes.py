"""Converged categories leave their lanes; the numbers of the others do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.linear import fit


@pytest.mark.parametrize("stop", ["scores", "optimality"])
@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_fifty_categories_stop_one_by_one_as_each_does_alone(prior: str, stop: str) -> None:
    generator = np.random.default_rng(11)
    X = sp.csr_matrix(generator.random((300, 60)) * (generator.random((300, 60)) < 0.1))
    Y = generator.random((300, 50)) < np.linspace(0.004, 0.5, 50)
    settings: dict[str, Any] = {"prior": prior, "lam": np.geomspace(1e-1, 1e-5, 50), "tol": 1e-5}
    together = fit(X, Y, options={"stop": stop}, **settings)
    passes = [each.passes for each in together.certificate]
    assert max(passes) > 3 * min(passes)
    for category in range(0, 50, 7):
        alone = fit(
            X, Y[:, [category]], options={"stop": stop}, **{**settings, "lam": settings["lam"][category]}
        )
        np.testing.assert_array_equal(together.coef[:, category], alone.coef[:, 0])
        assert together.certificate[category].passes == alone.certificate[0].passes
        assert together.certificate[category].objective == pytest.approx(alone.certificate[0].objective)
