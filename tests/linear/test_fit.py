"""Refusals before any work, the table of named learners, shapes, and models in and out of arrays."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import PROJECT
from tests.linear.problems import make
from tests.loops import for_each
from textcat.errors import StageFailedError, UsageError
from textcat.linear import LinearModel, Prior, fit, fit_path, load_named_learners

SMALL = make(41)


@for_each(
    ("settings", "reason"),
    [
        ({"loss": "hinge", "algorithm": "column"}, "has a corner"),
        ({"loss": "hinge", "algorithm": "conjugate_gradient"}, "has a corner"),
        ({"prior": "laplace", "algorithm": "row"}, "dual of a Gaussian prior"),
        ({"prior": "laplace", "algorithm": "conjugate_gradient"}, "corner at 0"),
        ({"prior": "none", "algorithm": "row"}, "dual of a Gaussian prior"),
        ({"algorithm": "row", "penalize_bias": False}, "equality constraint"),
        ({"algorithm": "row", "prior": Prior("gaussian", variance=np.ones(15))}, "one lam for all features"),
        ({"algorithm": "row", "lam": 0.0}, "above 0"),
        ({"algorithm": "fast", "class_weight": "balanced"}, "not of classes"),
        ({"algorithm": "fast", "loss": "squared"}, "no squared loss"),
        ({"algorithm": "fast", "penalize_bias": False}, "the constant included"),
        ({"algorithm": "fast", "options": {"stop": "passes"}}, "goes to the optimum"),
        ({"algorithm": "simplex"}, "no algorithm 'simplex'"),
        ({"prior": "cauchy"}, "no prior 'cauchy'"),
        ({"loss": "cubic"}, "no loss 'cubic'"),
        ({"lam": -1.0}, "0 or more"),
        ({"lam": [1.0, 2.0]}, "one per category"),
        ({"options": {"colour": "red"}}, "has no option 'colour'"),
        ({"options": {"stop": "never"}}, "stop cannot be 'never'"),
        ({"options": {"tol": 1.0}}, "no option 'tol'"),
        ({"options": {"delta": 10.0}, "algorithm": "conjugate_gradient"}, "cannot converge"),
        ({"options": {"precision": "float32"}, "algorithm": "conjugate_gradient"}, "float64 only"),
        ({"algorithm": "row", "options": {"eta": 2.5}}, "between 0 and 2"),
        ({"mask": np.ones((3, 3), dtype=bool)}, "mask has shape"),
        ({"sample_weight": -np.ones(40)}, "0 or more"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"prior": Prior("gaussian", variance=np.zeros(15))}, "above 0"),
        ({"prior": Prior("laplace", variance=np.ones(4))}, "variance has shape"),
        ({"max_passes": 0}, "out of range"),
        ({"bias": np.nan}, "bias must be finite"),
        ({"bias": np.inf, "algorithm": "fast"}, "bias must be finite"),
        ({"class_weight": {"spam": 2.0}}, "for True and False"),
        ({"class_weight": {True: -1.0}}, "0 or more"),
        ({"class_weight": {False: np.nan}}, "0 or more"),
    ],
)
def test_impossible_requests_are_refused_with_a_reason(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        fit(SMALL.X, SMALL.Y, **settings)


@for_each(
    ("X", "Y", "reason"),
    [
        (np.full((40, 3), np.nan), SMALL.Y, "not finite"),
        (SMALL.X, SMALL.Y[:7], "Y has shape"),
        (SMALL.X, np.full((40, 2), 3), "boolean"),
        (SMALL.X, sp.csr_array(SMALL.Y), "toarray"),
        (np.zeros(5), SMALL.Y, "documents x features"),
        (np.zeros((0, 3)), np.zeros((0, 2), dtype=bool), "no documents"),
    ],
)
def test_data_that_cannot_be_learned_from_is_refused(X: Any, Y: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        fit(X, Y)


def test_path_refuses_what_it_sets_itself() -> None:
    with pytest.raises(UsageError, match="sets lam and init"):
        fit_path(SMALL.X, SMALL.Y, [0.1], init=None)


def test_row_starts_only_from_kept_duals() -> None:
    first = fit(SMALL.X, SMALL.Y, algorithm="row", lam=0.1)
    with pytest.raises(UsageError, match="kept no dual"):
        fit(SMALL.X, SMALL.Y, algorithm="row", lam=0.1, init=first)
    kept = fit(SMALL.X, SMALL.Y, algorithm="row", lam=0.1, options={"keep_dual": True})
    again = fit(SMALL.X, SMALL.Y, algorithm="row", lam=0.1, init=kept)
    assert all(each.passes == 1 for each in again.certificate)


@for_each("name", list(load_named_learners()))
def test_every_named_learner_trains(name: str) -> None:
    settings = dict(load_named_learners()[name]["settings"])
    settings.setdefault("lam", 1e-3)
    model = fit(SMALL.X, SMALL.Y, **settings)
    assert np.isfinite(model.coef).all()
    assert all(each.reason == settings["options"]["stop"] for each in model.certificate)
    assert load_named_learners()[name]["paper"] in ("zhang_oles_2001", "genkin_2004", "zhang_jin_2003")


def test_importing_compiles_nothing() -> None:
    program = """
import textcat.linear, textcat.linear.cross_validation, textcat.linear.papers.squeezer, sys
assert "numba" not in sys.modules
import textcat.linear.fast.solver, textcat.linear.papers.row_relaxation
from textcat.compile import LazyKernel
kernels = [k for m in list(sys.modules.values()) if m.__name__.startswith("textcat.linear")
           for k in vars(m).values() if isinstance(k, LazyKernel)]
assert len(kernels) > 15, len(kernels)
assert not any("dispatcher" in vars(k) and k.signatures for k in kernels)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PROJECT)


def test_matrix_form_does_not_matter() -> None:
    forms = [SMALL.X, SMALL.X.tocsc(), SMALL.X.toarray(), sp.csr_array(SMALL.X), SMALL.X.astype(np.int32)]
    first = fit(forms[0], SMALL.Y)
    for form in forms[1:]:
        np.testing.assert_array_equal(fit(form, SMALL.Y).coef, first.coef)


def test_one_column_may_come_flat() -> None:
    flat, column = fit(SMALL.X, SMALL.Y[:, 2]), fit(SMALL.X, SMALL.Y[:, 2:3].astype(int))
    assert flat.coef.shape == (15, 1)
    assert flat.intercept.shape == (1,)
    np.testing.assert_array_equal(flat.coef, column.coef)


def test_no_features_and_no_categories() -> None:
    n, members = SMALL.X.shape[0], SMALL.Y[:, 2].mean()
    bare = fit(np.zeros((n, 0)), SMALL.Y[:, 2], penalize_bias=False, tol=1e-12)
    assert bare.intercept[0] == pytest.approx(np.log(members / (1 - members)), abs=1e-5)
    none = fit(SMALL.X, SMALL.Y[:, :0])
    assert none.coef.shape == (15, 0)
    assert none.certificate == []
    assert none.scores(SMALL.X).shape == (n, 0)


@for_each(
    ("algorithm", "loss"),
    [("fast", "logistic"), ("fast", "squared_hinge"), ("fast", "hinge"), ("row", "logistic"),
     ("conjugate_gradient", "squared_hinge")],
)  # fmt: skip
@for_each("prune", [0.0, 0.1])
def test_features_whose_squares_overflow_never_give_a_model_of_nan(
    algorithm: str, loss: str, prune: float
) -> None:
    with pytest.raises(StageFailedError, match="not finite"), np.errstate(all="ignore"):
        fit(SMALL.X * 1e160, SMALL.Y, loss=loss, algorithm=algorithm, max_passes=20, prune=prune)


@for_each("algorithm", ["column", "row", "conjugate_gradient", "fast"])
def test_a_model_without_any_weight_is_refused(algorithm: str) -> None:
    with pytest.raises(UsageError, match="no weight to train"):
        fit(np.zeros((40, 0)), SMALL.Y, algorithm=algorithm, bias=0.0)


@for_each("algorithm", ["column", "row", "conjugate_gradient", "fast"])
@for_each("loss", ["logistic", "squared_hinge"])
def test_documents_without_any_feature_leave_all_weights_zero(loss: str, algorithm: str) -> None:
    model = fit(sp.csr_matrix((40, 3)), SMALL.Y, loss=loss, algorithm=algorithm, bias=0.0)
    assert model.coef.shape == (3, SMALL.Y.shape[1])
    assert not model.coef.any()
    assert [each.reason for each in model.certificate] == ["optimality"] * SMALL.Y.shape[1]


def test_no_constant_and_a_large_constant() -> None:
    none = fit(SMALL.X, SMALL.Y, bias=0.0)
    assert not none.intercept.any()
    large = fit(SMALL.X, SMALL.Y, bias=100.0, lam=1e-3)
    free = fit(SMALL.X, SMALL.Y[:, 2:], penalize_bias=False, lam=1e-3)
    np.testing.assert_allclose(large.scores(SMALL.X)[:, 2:], free.scores(SMALL.X), atol=2e-2)


def test_strength_of_its_own_for_each_category() -> None:
    lams = np.array([1e-3, 1e-2, 0.1, 1.0])
    for algorithm in ("column", "row", "conjugate_gradient"):
        together = fit(SMALL.X, SMALL.Y, lam=lams, algorithm=algorithm, max_passes=50)
        for k, lam in enumerate(lams):
            alone = fit(SMALL.X, SMALL.Y[:, k], lam=float(lam), algorithm=algorithm, max_passes=50)
            np.testing.assert_allclose(together.coef[:, k], alone.coef[:, 0], atol=1e-9)


def test_model_goes_through_arrays_and_json() -> None:
    model = fit(SMALL.X, SMALL.Y, lam=0.01)
    description = json.loads(json.dumps(model.describe()))
    again = LinearModel.from_arrays(model.to_arrays(), description)
    np.testing.assert_array_equal(again.scores(SMALL.X), model.scores(SMALL.X))
    np.testing.assert_allclose(model.scores(SMALL.X), model.scores(SMALL.X.toarray()))
    assert again.certificate == model.certificate
    assert again.describe() == model.describe()
    assert description["kind"] == "linear"
    with pytest.raises(UsageError, match="features"):
        model.scores(SMALL.X[:, :3])


def test_the_grouped_order_is_that_of_the_positive_documents_before_the_others() -> None:
    known: dict[str, Any] = {"loss": "squared_hinge", "algorithm": "row", "lam": 0.02, "max_passes": 1}
    grouped = fit(SMALL.X, SMALL.Y, options={"order": "grouped"}, **known).coef
    for column in range(SMALL.Y.shape[1]):
        own = np.asarray(SMALL.Y[:, column], dtype=bool)
        order = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
        alone = fit(SMALL.X[order], own[order, None], options={"order": "given"}, **known)
        np.testing.assert_allclose(grouped[:, column], alone.coef[:, 0], atol=1e-12)


def test_grouped_and_shuffled_orders_reach_the_same_optimum() -> None:
    known: dict[str, Any] = {"loss": "squared_hinge", "algorithm": "row", "lam": 0.02, "max_passes": 5000}
    models = [
        fit(SMALL.X, SMALL.Y, options={"order": order}, **known)
        for order in ("given", "random", "shuffled", "grouped")
    ]
    for other in models[1:]:
        for a, b in zip(models[0].certificate, other.certificate, strict=True):
            assert a.objective == pytest.approx(b.objective, rel=2e-6)
