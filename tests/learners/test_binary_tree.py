"""Binary trees: scoring, growing and stopping, against the path of one document at a time."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from textcat.errors import BadDataError, UsageError
from textcat.learners.binary_tree import (
    LEAF,
    BinaryTrees,
    LinearNodes,
    divide_columns,
)
from textcat.learners.checks import Bools
from textcat.learners.gpd import GpdSettings
from textcat.learners.mfom import fit_mfom
from textcat.learners.perceptron_tree import (
    PerceptronSettings,
    fit_perceptron_trees,
    make_initial_nodes,
    run_batch_perceptron,
)

RINGS = 160


def rings(seed: int = 0) -> tuple[np.ndarray, Bools]:
    """Return a category between two parallel lines: it takes two splits to separate it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (RINGS, 2)).astype(np.float32)
    return X, (np.abs(X[:, :1]) < 0.4)


def walk(model: BinaryTrees, document: np.ndarray, category: int) -> tuple[float, bool]:
    """Follow the path of one document step by step; return its last value and its leaf's label."""
    node, score = category, 1.0 if model.label[category] else -1.0
    while model.split[node] != LEAF:
        column = model.split[node]
        score = float(document @ model.splits.weights[:, column] - model.splits.offsets[column])
        node = int(model.yes[node] if score > 0 else model.no[node])
    return score, bool(model.label[node])


@given(seed=st.integers(0, 500), depth=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_scores_are_the_last_values_on_the_path_and_their_sign_is_the_leaf(seed: int, depth: int) -> None:
    X, Y = rings(seed)
    Y = np.column_stack([Y, X[:, :1] > 0.2, np.zeros_like(Y), np.ones_like(Y)])
    model = fit_perceptron_trees(X, Y, PerceptronSettings(iterations=30), max_depth=depth)
    scores = model.scores(X)
    for row in range(0, RINGS, 17):
        for category in range(4):
            score, label = walk(model, X[row], category)
            assert scores[row, category] == pytest.approx(score, abs=1e-5)
            assert label == (score > 0)
    assert (scores[:, 2] == -1).all()
    assert (scores[:, 3] == 1).all()


def test_deeper_trees_make_fewer_training_errors() -> None:
    X, Y = rings()
    errors = [
        int(((fit_mfom(X, Y, GpdSettings(iterations=300), max_depth=depth).scores(X) > 0) != Y).sum())
        for depth in (1, 2, 6)
    ]
    assert errors[0] > errors[1] >= errors[2]
    assert errors[2] <= 5


def test_a_perfect_split_ends_the_tree() -> None:
    X, _ = rings()
    Y = X[:, :1] > 0.0
    model = fit_perceptron_trees(X, Y, PerceptronSettings(iterations=2000, rate=0.1), max_depth=5)
    assert np.array_equal(model.scores(X) > 0, Y)
    assert model.yes.size == 3


def test_small_nodes_are_learned_as_they_would_be_among_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = rings(3)
    chosen = GpdSettings(iterations=50)
    apart = fit_mfom(X, Y, chosen, max_depth=4)
    monkeypatch.setattr("textcat.learners.binary_tree.SMALL_NODE", 0)
    together = fit_mfom(X, Y, chosen, max_depth=4)
    assert np.array_equal(apart.split, together.split)
    assert np.allclose(apart.splits.weights, together.splits.weights, atol=1e-3)


@pytest.mark.parametrize("depth", [1, 3])
def test_trees_are_rebuilt_from_arrays_and_description(depth: int) -> None:
    X, Y = rings()
    model = fit_mfom(X, Y, GpdSettings(iterations=20), max_depth=depth)
    again = BinaryTrees.from_arrays(model.to_arrays(), json.loads(json.dumps(model.describe())))
    assert np.array_equal(again.scores(X), model.scores(X))
    assert again.describe() == model.describe()


def test_no_documents_no_scores_and_wrong_shapes_are_refused() -> None:
    X, Y = rings()
    model = fit_mfom(X, Y, GpdSettings(iterations=5))
    assert model.scores(X[:0]).shape == (0, 1)
    assert np.allclose(model.scores(scipy.sparse.csr_matrix(X)), model.scores(X), atol=1e-6)
    with pytest.raises(BadDataError, match="features"):
        model.scores(X[:, :1])
    with pytest.raises(UsageError, match="max_depth"):
        fit_mfom(X, Y, max_depth=0)
    with pytest.raises(UsageError, match="rate"):
        PerceptronSettings(rate=0)


def nodes_by_hand(X: np.ndarray, positive: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, float]:
    """Section 5.3: the mean of the smaller class, and the least projection of its documents."""
    yes, no = X[positive], X[member & ~positive]
    flipped = len(no) < len(yes)
    fewer = no if flipped else yes
    weights = fewer.mean(axis=0) if len(fewer) else np.zeros(X.shape[1])
    lowest = min((document @ weights for document in fewer), default=0.0)
    return (-weights, -lowest) if flipped else (weights, lowest)


@given(seed=st.integers(0, 5000), sparse=st.booleans())
@settings(max_examples=40, deadline=None)
def test_starts_are_the_means_of_the_smaller_class_of_each_node(seed: int, sparse: bool) -> None:
    """Documents outside a node count for nothing; a node may lack positives, negatives or both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 4)).astype(np.float32)
    member = rng.random((12, 3)) < 0.7
    positive = member & (rng.random((12, 3)) < rng.choice([0.0, 0.3, 0.8, 1.0], size=3))
    found = make_initial_nodes(scipy.sparse.csr_matrix(X) if sparse else X, positive, member)
    for k in range(3):
        weights, offset = nodes_by_hand(X.astype(float), positive[:, k], member[:, k])
        np.testing.assert_allclose(found.weights[:, k], weights, atol=1e-5)
        assert found.offsets[k] == pytest.approx(offset, abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("iterations", "rate"), [(1, 0.25), (5, 0.01), (12, 0.25)])
def test_the_batch_perceptron_is_its_ten_line_reference(seed: int, iterations: int, rate: float) -> None:
    """Equation 5.2 with a learning constant that falls linearly, column by column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 3)).astype(np.float32)
    member = rng.random((10, 2)) < 0.8
    positive = member & (rng.random((10, 2)) < 0.4)
    found = run_batch_perceptron(X, positive, member, PerceptronSettings(iterations, rate))
    start = make_initial_nodes(X, positive, member)
    # The start puts a document at 0 up to rounding, so decisions are made on the same float32 values.
    weights, offsets = start.weights.copy(), start.offsets.copy()
    for iteration in range(iterations):
        says_yes = LinearNodes(weights, offsets).values(X) > 0
        step = np.float32(rate * (1 - iteration / iterations))
        for k in range(2):
            for i in range(10):
                if member[i, k] and says_yes[i, k] != positive[i, k]:
                    sign = np.float32(1 if positive[i, k] else -1)
                    weights[:, k] += step * sign * X[i]
                    offsets[k] -= step * sign
    np.testing.assert_allclose(found.values(X), LinearNodes(weights, offsets).values(X), atol=1e-4)


def test_categories_of_all_documents_or_none_need_no_split() -> None:
    """A tree may be a leaf only, so that there are as many nodes as categories."""
    X, Y = rings()
    model = fit_perceptron_trees(X, np.column_stack([np.zeros_like(Y), np.ones_like(Y)]))
    assert model.split.tolist() == [LEAF, LEAF]
    again = BinaryTrees.from_arrays(model.to_arrays(), model.describe())
    assert again.scores(X).tolist() == [[-1.0, 1.0]] * RINGS
    assert again.settings["iterations"] == 500
    assert again.settings["rate"] == 0.01


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("yes", lambda part: np.where(part == LEAF, part, 0)),
        ("no", lambda part: np.where(part == LEAF, part, part.size)),
        ("yes", lambda part: np.where(part == LEAF, part, -5)),
        ("split", lambda part: np.where(part == LEAF, part, 99)),
        ("split", lambda part: np.where(part == LEAF, part, -7)),
        ("split", lambda part: part.astype(float)),
        ("label", lambda part: part.astype(int)),
        ("no", lambda part: part[:-1]),
        ("offsets", lambda part: part[:-1]),
        ("weights", lambda part: part[0]),
    ],
)
def test_nodes_that_form_no_trees_are_refused(name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """A split that leads to itself, back or nowhere would never end or read beyond the arrays."""
    X, Y = rings()
    model = fit_mfom(X, Y, GpdSettings(iterations=20), max_depth=3)
    arrays = model.to_arrays()
    with pytest.raises(BadDataError, match="do not form trees"):
        BinaryTrees.from_arrays({**arrays, name: change(arrays[name])}, model.describe())
    with pytest.raises(BadDataError, match="do not form trees"):
        BinaryTrees.from_arrays(arrays, {**model.describe(), "categories": model.split.size + 1})


def test_trees_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1100, 40)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = X @ rng.normal(size=(40, 35)).astype(np.float32) + rng.normal(0, 0.5, (1100, 35)) > 1
    alone, both = (fit_mfom(X, Y, GpdSettings(iterations=20), max_depth=3, jobs=jobs) for jobs in (1, 2))
    for name, values in alone.to_arrays().items():
        assert np.array_equal(values, both.to_arrays()[name]), name


@given(seed=st.integers(0, 1000), columns=st.integers(0, 70))
@settings(max_examples=25, deadline=None)
def test_equal_columns_are_divided_together(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    member = rng.random((3, columns)) < 0.7
    positive = member & (rng.random((3, columns)) < 0.5)
    groups = divide_columns(positive, member, np.arange(columns))
    assert sorted(int(column) for group in groups for column in group) == list(range(columns))
    kinds = [{(*positive[:, k], *member[:, k]) for k in group} for group in groups]
    assert sum(map(len, kinds)) == len(set().union(*kinds))
    assert len(groups) == (0 if not columns else 2 if len(set().union(*kinds)) > 16 else 1)
