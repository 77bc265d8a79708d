"""GPD: slopes against finite differences, the update against a plain reference, and invariants."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from textcat.errors import UsageError
from textcat.learners.binary_tree import find_distinct_columns
from textcat.learners.gpd import (
    ColumnSides,
    GpdSettings,
    Merit,
    Offset,
    compute_merit_slopes,
    compute_sigmoid_loss,
    compute_window_offset,
    descend,
    descend_to,
    replace_values_by_slopes,
)
from textcat.learners.mfom import fit_mfom, fit_mfom_at
from textcat.learners.perceptron_tree import PerceptronSettings, make_initial_nodes, run_batch_perceptron

Bools = npt.NDArray[np.bool_]


def problem(
    seed: int, documents: int = 60, features: int = 8, categories: int = 4
) -> tuple[np.ndarray, Bools]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((documents, features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = (
        X @ rng.standard_normal((features, categories)) + 0.3 * rng.standard_normal((documents, categories))
        > 0.4
    )
    return X.astype(np.float32), Y


def compute_slopes(
    values: np.ndarray, positive: Bools, member: Bools, chosen: GpdSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Return objective and slopes of values w.x - w0, without the columns that fill a vector register."""
    sides = ColumnSides.from_masks(positive, member, values.dtype)
    lanes = np.zeros(sides.signs.shape, values.dtype)
    lanes[:, : values.shape[1]] = values
    offsets = np.zeros(lanes.shape[1], values.dtype)
    objective, sums = replace_values_by_slopes(lanes, offsets, sides, chosen)
    assert np.allclose(sums, lanes.sum(axis=0), rtol=1e-4, atol=1e-5)
    assert not lanes[:, values.shape[1] :].any()
    return objective[: values.shape[1]], lanes[:, : values.shape[1]]


def plain_objective(values: np.ndarray, sign: np.ndarray, chosen: GpdSettings, beta: float) -> float:
    """Return the objective of one column, term by term from equations 4.3-4.10."""
    loss = [1 / (1 + np.exp(-chosen.alpha * (-s * v + beta))) for v, s in zip(values, sign, strict=True) if s]
    signs = [s for s in sign if s]
    lost_positive = sum(each for each, s in zip(loss, signs, strict=True) if s > 0)
    lost_negative = sum(each for each, s in zip(loss, signs, strict=True) if s < 0)
    positives, negatives = signs.count(1), signs.count(-1)
    true_positive = positives - lost_positive
    if chosen.merit == "f1":
        return -2 * true_positive / (lost_negative + lost_positive + 2 * true_positive)
    return 0.5 * lost_positive / positives + 0.5 * lost_negative / negatives


@pytest.mark.parametrize(("merit", "offset"), list(product(["f1", "mce"], ["zero", "mean", "centred"])))
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.5, 3.0, 20.0]))
@settings(max_examples=15, deadline=None)
def test_slope_is_the_difference_quotient(merit: Merit, offset: Offset, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    chosen = GpdSettings(merit=merit, offset=offset, alpha=alpha)
    values = rng.normal(0, 1 / alpha, (12, 1))
    sign = rng.choice([-1.0, 0.0, 1.0], (12, 1))
    sign[:2, 0] = [1, -1]
    beta = 0.0
    if offset != "zero":
        beta = float((-sign * values).sum() / np.abs(sign).sum()) * (1 if offset == "mean" else -1)
    objective, slope = compute_slopes(values, sign > 0, sign != 0, chosen)
    assert objective[0] == pytest.approx(plain_objective(values[:, 0], sign[:, 0], chosen, beta))
    for row in range(12):
        up, down = values[:, 0].copy(), values[:, 0].copy()
        up[row] += 1e-6
        down[row] -= 1e-6
        quotient = (
            plain_objective(up, sign[:, 0], chosen, beta) - plain_objective(down, sign[:, 0], chosen, beta)
        ) / 2e-6
        assert slope[row, 0] == pytest.approx(quotient, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("merit", ["f1", "mce"])
def test_descent_follows_the_plain_update_rule(merit: Merit) -> None:
    X, Y = problem(3)
    member = np.ones_like(Y)
    chosen = GpdSettings(merit=merit, iterations=5)
    found = descend(X, Y, member, chosen).nodes[5]
    start = make_initial_nodes(X, Y, member)
    weights, offsets = start.weights.astype(float), start.offsets.astype(float)
    for iteration in range(5):
        _, slope = compute_slopes(X @ weights - offsets, Y, member, chosen)
        kappa = 0.05 * (1 - iteration / 5)
        weights = weights - kappa * X.T @ slope
        offsets = offsets + kappa * slope.sum(axis=0)
    assert np.allclose(found.weights, weights, atol=1e-4)
    assert np.allclose(found.offsets, offsets, atol=1e-4)


def test_documents_outside_a_node_do_not_matter() -> None:
    X, Y = problem(5)
    member = np.random.default_rng(0).random(Y.shape) < 0.7
    member[:, 1:] = member[:, :1]
    rows = member[:, 0]
    chosen = GpdSettings(iterations=20)
    masked = descend(X, Y & member, member, chosen).nodes[20]
    apart = descend(X[rows], Y[rows], np.ones_like(Y[rows]), chosen).nodes[20]
    assert np.allclose(masked.weights, apart.weights, atol=1e-4)
    assert np.allclose(masked.offsets, apart.offsets, atol=1e-4)


def test_sparse_and_dense_features_lead_to_the_same_splits() -> None:
    X, Y = problem(6)
    chosen = GpdSettings(iterations=10)
    dense = descend(X, Y, np.ones_like(Y), chosen).nodes[10]
    sparse = descend(scipy.sparse.csr_matrix(X), Y, np.ones_like(Y), chosen).nodes[10]
    assert np.allclose(dense.weights, sparse.weights, atol=1e-4)


def test_permuting_documents_features_and_categories_permutes_the_model() -> None:
    X, Y = problem(8)
    rng = np.random.default_rng(1)
    documents, features, categories = rng.permutation(60), rng.permutation(8), rng.permutation(4)
    chosen = GpdSettings(iterations=30)
    plain = fit_mfom(X, Y, chosen)
    moved = fit_mfom(
        np.ascontiguousarray(X[documents][:, features]), Y[np.ix_(documents, categories)], chosen
    )
    assert np.allclose(moved.splits.weights, plain.splits.weights[np.ix_(features, categories)], atol=1e-3)


@pytest.mark.parametrize("merit", ["f1", "mce"])
def test_checkpoints_are_the_models_of_single_runs(merit: Merit) -> None:
    X, Y = problem(2)
    chosen = GpdSettings(merit=merit, iterations=40)
    models = fit_mfom_at(X, Y, chosen, [10, 20, 40])
    assert sorted(models) == [10, 20, 40]
    for number in (10, 20, 40):
        single = fit_mfom(X, Y, GpdSettings(merit=merit, iterations=number, horizon=40))
        assert np.array_equal(models[number].scores(X), single.scores(X))
        assert models[number].describe() == single.describe()


@pytest.mark.parametrize("merit", ["f1", "mce"])
def test_checkpoints_of_trees_are_trees_that_are_grown_alone(merit: Merit) -> None:
    X, Y = problem(2, documents=300)
    chosen = GpdSettings(merit=merit, iterations=60)
    models = fit_mfom_at(X, Y, chosen, [60, 5, 20], max_depth=4)
    assert max(model.splits.offsets.size for model in models.values()) >= 2 * Y.shape[1]
    for number, model in models.items():
        alone = fit_mfom(X, Y, replace(chosen, iterations=number, horizon=60), max_depth=4)
        for name, values in alone.to_arrays().items():
            assert model.to_arrays()[name] == pytest.approx(values, abs=1e-4), name
        assert model.describe() == alone.describe()


@pytest.mark.parametrize(("merit", "offset"), list(product(["f1", "mce"], ["zero", "mean", "centred"])))
@pytest.mark.parametrize("sparse", [False, True])
def test_a_descent_by_the_values_of_few_documents_is_the_descent_by_weights(
    merit: Merit, offset: Offset, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = problem(9, documents=83)
    member = np.random.default_rng(4).random(Y.shape) < 0.8
    chosen = GpdSettings(merit=merit, offset=offset, iterations=80)
    features, ends = scipy.sparse.csr_matrix(X) if sparse else X, np.array([80, 3, 0, 41])
    alone = descend_to(features, Y & member, member, chosen, ends)
    monkeypatch.setattr("textcat.learners.gpd.FEW_DOCUMENTS", 0)
    together = descend_to(features, Y & member, member, chosen, ends)
    assert alone.weights == pytest.approx(together.weights, abs=1e-5)
    assert alone.offsets == pytest.approx(together.offsets, abs=1e-5)
    course = descend(features, Y & member, member, chosen, keep=ends.tolist())
    for column, end in enumerate(ends):
        assert np.array_equal(together.weights[:, column], course.nodes[end].weights[:, column])


def test_packed_products_and_those_of_the_library_lead_to_the_same_splits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, Y = problem(9, documents=91)
    chosen = GpdSettings(iterations=40)
    packed = descend(X, Y, np.ones_like(Y), chosen).nodes[40]
    monkeypatch.setattr("textcat.learners.gpd.can_multiply_packed", lambda: False)
    plain = descend(X, Y, np.ones_like(Y), chosen).nodes[40]
    assert packed.weights == pytest.approx(plain.weights, abs=1e-6)
    assert packed.offsets == pytest.approx(plain.offsets, abs=1e-6)


def test_equal_columns_are_one_descent_to_their_own_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = problem(9, categories=20)
    monkeypatch.setattr("textcat.learners.gpd.FEW_DOCUMENTS", 0)
    twice, member = np.tile(Y, 2), np.ones((60, 40), dtype=np.bool_)
    member[:5, 3], twice[:5, 3] = False, False
    firsts, numbers = find_distinct_columns(twice, member)
    assert np.array_equal(twice[:, np.array(firsts)[numbers]], twice)
    assert np.array_equal(member[:, np.array(firsts)[numbers]], member)
    assert len(firsts) == 21
    ends = np.repeat([30, 12], 20)
    found = descend_to(X, twice, member, GpdSettings(iterations=30), ends)
    for end in (12, 30):
        apart = descend(X, Y, member[:, 20:], GpdSettings(iterations=30), keep=[end]).nodes[end]
        same = np.flatnonzero((ends == end) & (np.arange(40) != 3))
        assert found.weights[:, same] == pytest.approx(apart.weights[:, same % 20], abs=1e-6)
        assert found.offsets[same] == pytest.approx(apart.offsets[same % 20], abs=1e-6)


@pytest.mark.parametrize("merit", ["f1", "mce"])
def test_descent_improves_the_objective(merit: Merit) -> None:
    X, Y = problem(4, documents=200)
    course = descend(X, Y, np.ones_like(Y), GpdSettings(merit=merit, iterations=300)).objective
    assert np.all(course[-1] < course[0])
    assert np.all(np.diff(course[-50:], axis=0) <= 1e-4)


def test_descent_may_start_from_the_perceptron() -> None:
    X, Y = problem(4)
    member = np.ones_like(Y)
    first = PerceptronSettings(iterations=30)
    chosen = GpdSettings(iterations=15, start="perceptron", perceptron=first)
    start = descend(X, Y, member, chosen, keep=[0]).nodes[0]
    assert np.array_equal(start.weights, run_batch_perceptron(X, Y, member, first).weights)
    assert fit_mfom(X, Y, chosen).describe()["settings"]["perceptron"]["iterations"] == 30


def test_f1_of_an_iteration_is_counted_from_its_splits() -> None:
    X, Y = problem(4)
    found = descend(X, Y, np.ones_like(Y), GpdSettings(iterations=12), keep=[0, 7])
    for iteration in (0, 7):
        accepted = found.nodes[iteration].values(X) > 0
        f1 = 2 * (accepted & Y).sum(axis=0) / (accepted.sum(axis=0) + Y.sum(axis=0))
        assert np.allclose(found.f1[iteration], f1)
    assert found.f1[0] == pytest.approx(found.f1[0].clip(0, 1))


def test_huge_features_give_no_nan() -> None:
    X, Y = problem(4)
    with np.errstate(all="raise", under="ignore"):
        model = fit_mfom(X * np.float32(1e6), Y, GpdSettings(iterations=20))
    assert np.isfinite(model.scores(X)).all()


def test_wrong_settings_and_labels_are_refused() -> None:
    X, Y = problem(1)
    with pytest.raises(UsageError, match="horizon"):
        GpdSettings(iterations=10, horizon=5)
    with pytest.raises(UsageError, match="alpha"):
        GpdSettings(alpha=0)
    with pytest.raises(UsageError, match="has shape"):
        fit_mfom(X, Y[:5])


@pytest.mark.parametrize(
    ("merit", "offset", "kind"), list(product(["f1", "mce"], ["zero", "mean", "centred"], ["f4", "f8"]))
)
def test_slopes_are_the_printed_product(merit: Merit, offset: Offset, kind: str) -> None:
    rng = np.random.default_rng(8)
    chosen = GpdSettings(merit=merit, offset=offset)
    member = rng.random((700, 9)) < 0.8
    positive = member & (rng.random(member.shape) < 0.3)
    values = rng.normal(0, 0.2, member.shape).astype(kind)
    ones, others = positive.astype("f4"), (member & ~positive).astype("f4")
    measure = (others - ones) * values
    beta = compute_window_offset(measure.sum(axis=0), member.astype("f4").sum(axis=0), offset)
    loss = compute_sigmoid_loss(measure, chosen.alpha, beta)
    lost = np.einsum("ij,ij->j", loss, ones), np.einsum("ij,ij->j", loss, others)
    slopes = compute_merit_slopes(merit, *lost, ones.sum(axis=0), others.sum(axis=0))
    weight = others * slopes.negative - ones * slopes.positive
    objective, slope = compute_slopes(values, positive, member, chosen)
    printed = chosen.alpha * loss * (1 - loss) * weight
    if kind == "f8":
        assert objective == pytest.approx(slopes.objective, rel=1e-12)
        assert slope == pytest.approx(printed, rel=1e-12, abs=1e-16)
    else:
        assert objective == pytest.approx(slopes.objective, rel=1e-6)
        assert slope == pytest.approx(printed, rel=2e-5, abs=float(4e-6 * np.abs(weight).max()))
    assert slope.dtype == values.dtype
