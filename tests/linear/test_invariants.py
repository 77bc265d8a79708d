"""What must hold whatever the data: monotone descent, feasible duals, equivariance, independence of
other categories and jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.problems import Small, make, smalls
from textcat.linear import fit, fit_path
from textcat.linear.products import multiply_matrix, multiply_transposed

SMOOTH = ("squared", "squared_hinge", "logistic", "modified_logistic")
ALL = [(loss, "column", prior) for loss in SMOOTH for prior in ("gaussian", "laplace")]
ALL += [(loss, "row", "gaussian") for loss in (*SMOOTH, "hinge")]
ALL += [(loss, "conjugate_gradient", "gaussian") for loss in SMOOTH]
PASSES: dict[str, Any] = {"options": {"stop": "passes"}}


@settings(max_examples=40, deadline=None)
@given(
    smalls,
    st.sampled_from(SMOOTH),
    st.sampled_from(["gaussian", "laplace"]),
    st.sampled_from([1e-6, 0.01, 1.0]),
)
def test_column_relaxation_never_raises_the_objective(
    small: Small, loss: str, prior: str, lam: float
) -> None:
    last = np.full(small.Y.shape[1], np.inf)
    for passes in (1, 2, 3, 5, 8):
        model = fit(small.X, small.Y, loss=loss, prior=prior, lam=lam, max_passes=passes, **PASSES)
        now = np.array([each.objective for each in model.certificate])
        assert (now <= last * (1 + 1e-12) + 1e-15).all()
        last = now


@settings(max_examples=40, deadline=None)
@given(smalls, st.sampled_from((*SMOOTH, "hinge")), st.sampled_from([1e-6, 0.01, 1.0]))
def test_row_relaxation_stays_feasible_with_a_gap_of_zero_or_more(
    small: Small, loss: str, lam: float
) -> None:
    options = {"stop": "passes", "keep_dual": True}
    model = fit(small.X, small.Y, loss=loss, algorithm="row", lam=lam, max_passes=4, options=options)
    assert model.dual is not None
    if loss != "squared":
        assert (model.dual <= 0).all()
    if loss in ("hinge", "logistic", "modified_logistic"):
        assert (model.dual >= -1).all()
    for each in model.certificate:
        assert each.gap is not None
        assert each.gap >= -1e-9 * max(1.0, each.objective)


@pytest.mark.parametrize(("loss", "algorithm", "prior"), ALL)
def test_other_categories_and_jobs_change_nothing(loss: str, algorithm: str, prior: str) -> None:
    small = make(31, documents=30, features=12, categories=70)
    known: dict[str, Any] = {
        "loss": loss,
        "algorithm": algorithm,
        "prior": prior,
        "lam": 0.01,
        "max_passes": 25,
    }
    one = fit(small.X, small.Y, **known)
    two = fit(small.X, small.Y, n_jobs=2, **known)
    np.testing.assert_array_equal(one.coef, two.coef)
    np.testing.assert_array_equal(one.intercept, two.intercept)
    some = [3, 40, 69]
    alone = fit(small.X, small.Y[:, some], **known)
    np.testing.assert_allclose(alone.coef, one.coef[:, some], rtol=1e-9, atol=1e-12)
    assert [each.passes for each in alone.certificate] == [one.certificate[k].passes for k in some]


@pytest.mark.parametrize(("loss", "algorithm", "prior"), ALL)
def test_permuting_permutes(loss: str, algorithm: str, prior: str) -> None:
    small = make(32)
    rng = np.random.default_rng(0)
    documents, features, categories = (rng.permutation(k) for k in (*small.X.shape, small.Y.shape[1]))
    known: dict[str, Any] = {
        "loss": loss, "algorithm": algorithm, "prior": prior, "lam": 0.02, "tol": 1e-10, "max_passes": 5000
    }  # fmt: skip
    straight = fit(small.X, small.Y, **known)
    moved = fit(small.X[documents][:, features], small.Y[documents][:, categories], **known)
    scores = straight.scores(small.X)[documents][:, categories]
    np.testing.assert_allclose(moved.scores(small.X[documents][:, features]), scores, atol=2e-3)
    if algorithm == "column" and prior == "gaussian":
        same = fit(small.X, small.Y[:, categories], **known)
        np.testing.assert_array_equal(same.coef, straight.coef[:, categories])


@pytest.mark.parametrize(("loss", "algorithm", "prior"), ALL)
def test_mask_is_training_on_the_selected_features(loss: str, algorithm: str, prior: str) -> None:
    small = make(33, features=20)
    mask = np.random.default_rng(1).random((20, 4)) < 0.6
    known: dict[str, Any] = {
        "loss": loss,
        "algorithm": algorithm,
        "prior": prior,
        "lam": 0.01,
        "max_passes": 30,
    }
    masked = fit(small.X, small.Y, mask=mask, **known)
    assert not masked.coef[~mask].any()
    for k in range(4):
        cut = fit(small.X[:, mask[:, k]], small.Y[:, k], **known)
        np.testing.assert_allclose(masked.coef[mask[:, k], k], cut.coef[:, 0], atol=1e-7)
        assert masked.intercept[k] == pytest.approx(cut.intercept[0], abs=1e-7)
        assert masked.certificate[k].objective == pytest.approx(cut.certificate[0].objective)


@pytest.mark.parametrize(("loss", "algorithm", "prior"), ALL)
def test_weight_of_two_is_a_document_twice(loss: str, algorithm: str, prior: str) -> None:
    small = make(34, documents=12, features=8)
    twice = sp.vstack([small.X, small.X[:5]]).tocsr()
    weight = np.where(np.arange(12) < 5, 2.0, 1.0)
    known: dict[str, Any] = {
        "loss": loss,
        "algorithm": algorithm,
        "prior": prior,
        "tol": 1e-9,
        "max_passes": 20_000,
    }
    weighted = fit(small.X, small.Y, lam=0.02 * 17 / 12, sample_weight=weight, **known)
    repeated = fit(twice, np.vstack([small.Y, small.Y[:5]]), lam=0.02, **known)
    np.testing.assert_allclose(weighted.scores(small.X), repeated.scores(small.X), atol=2e-3)
    for a, b in zip(weighted.certificate, repeated.certificate, strict=True):
        assert a.objective * 12 == pytest.approx(b.objective * 17, rel=1e-6)


def test_class_weights_are_sample_weights_by_side() -> None:
    small = make(35)
    side = np.where(small.Y[:, 2], 3.0, 0.5)
    by_class = fit(small.X, small.Y[:, 2], class_weight={True: 3.0, False: 0.5})
    by_sample = fit(small.X, small.Y[:, 2], sample_weight=side)
    np.testing.assert_array_equal(by_class.coef, by_sample.coef)
    balanced = fit(small.X, small.Y[:, 2], class_weight="balanced")
    members, n = small.Y[:, 2].sum(), small.Y.shape[0]
    by_hand = fit(
        small.X, small.Y[:, 2], class_weight={True: n / (2 * members), False: n / (2 * (n - members))}
    )
    np.testing.assert_array_equal(balanced.coef, by_hand.coef)


@pytest.mark.parametrize("algorithm", ["column", "row"])
def test_single_precision_reaches_nearly_the_same_optimum(algorithm: str) -> None:
    small = make(36, documents=60)
    for loss in ("squared_hinge", "logistic"):
        known: dict[str, Any] = {"loss": loss, "algorithm": algorithm, "lam": 0.01, "max_passes": 400}
        double = fit(small.X, small.Y, options={"stop": "passes"}, **known)
        single = fit(small.X, small.Y, options={"stop": "passes", "precision": "float32"}, **known)
        for a, b in zip(double.certificate, single.certificate, strict=True):
            assert b.gap is not None
            assert a.objective - 1e-12 <= b.objective <= a.objective * (1 + 1e-5)
            assert b.objective - a.objective <= b.gap + 1e-9


@pytest.mark.parametrize("algorithm", ["column", "row", "conjugate_gradient"])
def test_path_arrives_where_each_fit_does_and_sooner(algorithm: str) -> None:
    small = make(37)
    lams = [0.1, 0.05, 0.03, 0.02]
    known: dict[str, Any] = {"algorithm": algorithm, "tol": 1e-8, "max_passes": 5000}
    path = fit_path(small.X, small.Y, lams, **known)
    for lam, model in zip(lams, path, strict=True):
        cold = fit(small.X, small.Y, lam=lam, **known)
        for a, b in zip(model.certificate, cold.certificate, strict=True):
            assert a.objective == pytest.approx(b.objective, rel=1e-7)
    assert sum(c.passes for c in path[-1].certificate) <= sum(c.passes for c in cold.certificate)


@settings(max_examples=15, deadline=None)
@given(smalls)
def test_least_squares_is_linear_in_labels(small: Small) -> None:
    """Complementing a category turns the sign of its weights, for every loss that only sees the margin."""
    for loss in SMOOTH:
        known: dict[str, Any] = {"loss": loss, "lam": 0.05, "max_passes": 30, **PASSES}
        straight, turned = fit(small.X, small.Y, **known), fit(small.X, ~small.Y, **known)
        np.testing.assert_allclose(turned.coef, -straight.coef, atol=1e-8)


def test_products_and_descents_do_not_hang_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    some = sp.random(38, 30, density=0.2, format="csr", random_state=1)
    matrix = sp.csr_matrix(sp.vstack([some[:5], sp.csr_matrix((15, 30)), some[5:]]))
    for width in (2, 4, 7):
        dense, aside = generator.normal(size=(30, width)), generator.normal(size=(53, width))
        for jobs in (2, 3, 60):
            assert np.array_equal(multiply_matrix(matrix, dense, jobs), multiply_matrix(matrix, dense))
            columns = sp.csc_matrix(matrix)
            assert np.array_equal(
                multiply_transposed(columns, aside, jobs), multiply_transposed(columns, aside)
            )
    monkeypatch.setattr("textcat.linear.papers.conjugate_gradient.DOCUMENTS_PER_PART", 10)
    Y = generator.random((53, 3)) < 0.4
    known = {"lam": 0.01, "algorithm": "conjugate_gradient", "loss": "logistic"}
    one, two = (fit(matrix, Y, n_jobs=jobs, **known) for jobs in (1, 2))
    assert np.array_equal(one.coef, two.coef)
