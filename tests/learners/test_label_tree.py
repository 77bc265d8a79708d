"""Label trees: against a direct computation, within one node against `fit`, from files, and from a run to `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, logit

from tests.experiment.place import Place
from textcat.errors import BadDataError, UsageError
from textcat.experiment.run.results_file import read_results
from textcat.experiment.steps import train
from textcat.experiment.steps.models import load_model, save_model
from textcat.learners import label_tree
from textcat.learners.label_tree import UNREACHED, LabelTree
from textcat.learners.label_tree_training import compute_centroids, divide_labels, fit_label_tree
from textcat.learners.parameters import LabelTreeParameters
from textcat.linear import fit
from textcat.linear.regularization import lam_from_c
from textcat.serving.categorizer import read_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.explain import compute_contributions, find_strongest_terms
from textcat.serving.predict import predict_lines

SMALL = LabelTreeParameters(
    branches=4, leaf_labels=4, prune=0.0, beam=10_000, most_labels=10_000, tolerance=1e-5
)


def make_problem(labels: int = 37, documents: int = 300, seed: int = 1) -> tuple[sp.csr_matrix, Any]:
    """Documents whose words depend on their labels; labels that are near have common words."""
    random = np.random.default_rng(seed)
    Y = random.random((documents, labels)) < 2.5 / labels
    topics = random.random((labels, 120)) < 0.06
    topics |= np.repeat(random.random((labels // 6 + 1, 120)) < 0.05, 6, axis=0)[:labels]
    counts = Y.astype(float) @ topics + (random.random((documents, 120)) < 0.05)
    rows = sp.csr_matrix(counts)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
    return sp.csr_matrix(sp.diags_array(1 / np.maximum(lengths, 1e-9)) @ rows), Y


def compute_directly(tree: LabelTree, X: Any) -> np.ndarray:
    """Score every label of every document along its paths, without a beam."""
    dense = X.toarray()
    margins = dense @ tree.weights.toarray().astype(np.float64) + tree.offsets
    probability = np.zeros((len(dense), tree.categories))
    for root in tree.roots:
        waiting = [(int(root), np.ones(len(dense)))]
        while waiting:
            node, before = waiting.pop()
            for output in range(tree.starts[node], tree.starts[node + 1]):
                here = before / (1.0 + np.exp(-3.0 * margins[:, output]))
                if tree.children[output] >= 0:
                    waiting.append((int(tree.children[output]), here))
                else:
                    probability[:, tree.labels[output]] += here / len(tree.roots)
    with np.errstate(divide="ignore"):
        return np.log(probability) - np.log1p(-probability)


@pytest.mark.parametrize("trees", [1, 3])
@pytest.mark.parametrize("prune", [0.0, 0.05])
def test_with_a_beam_of_all_clusters_scores_are_those_computed_directly(trees: int, prune: float) -> None:
    X, Y = make_problem()
    tree = fit_label_tree(X, Y, LabelTreeParameters(**{**vars(SMALL), "trees": trees, "prune": prune}))
    found, expected = tree.scores(X), compute_directly(tree, X)
    known = np.isfinite(expected)
    assert np.array_equal(known, np.broadcast_to(Y.any(axis=0), known.shape))
    assert np.all(found[~known] == UNREACHED)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-6, atol=1e-6)
    assert np.array_equal(
        np.argsort(-found[:, Y.any(axis=0)], kind="stable"),
        np.argsort(-expected[:, Y.any(axis=0)], kind="stable"),
    )


def test_a_tree_of_one_leaf_is_one_against_the_rest() -> None:
    X, Y = make_problem(labels=6)
    tree = fit_label_tree(X, Y, LabelTreeParameters(**{**vars(SMALL), "leaf_labels": 6}))
    whole = fit(X, Y, loss="squared_hinge", algorithm="fast", lam=lam_from_c(1.0, X.shape[0]), tol=1e-5)
    # Log odds of sigmoid(3 m) are 3 m; weights are kept in single precision.
    np.testing.assert_allclose(tree.scores(X), 3.0 * whole.scores(X), atol=1e-4)


def test_every_node_is_trained_on_the_documents_that_reach_it() -> None:
    X, Y = make_problem()
    tree = fit_label_tree(X, Y, SMALL)
    assert len(tree.starts) > 10 and len(tree.certificate) == tree.weights.shape[1]
    assert all(entry.gap is None or entry.gap < 1e-2 for entry in tree.certificate)
    last = len(tree.starts) - 2
    members = tree.labels[tree.starts[last] : tree.starts[last + 1]]
    reaching = Y[:, members].any(axis=1)
    lam = lam_from_c(1.0, np.count_nonzero(reaching))
    alone = fit(X[np.flatnonzero(reaching)], Y[reaching][:, members], loss="squared_hinge", algorithm="fast",
                lam=lam, tol=1e-5)  # fmt: skip
    ours = tree.weights[:, tree.starts[last] : tree.starts[last + 1]].toarray()
    np.testing.assert_allclose(ours, alone.coef, atol=1e-3)


def test_clusters_are_balanced_and_hold_every_label_once() -> None:
    X, Y = make_problem(labels=61)
    clusters = divide_labels(compute_centroids(X, Y), np.arange(61), 8, np.random.default_rng(0))
    assert sorted(np.concatenate(clusters).tolist()) == list(range(61))
    assert {len(cluster) for cluster in clusters} <= {7, 8}


def test_a_narrow_beam_reaches_fewer_labels_with_the_same_scores() -> None:
    X, Y = make_problem()
    tree = fit_label_tree(X, Y, SMALL)
    narrow = LabelTree(**{**vars(tree), "settings": {**tree.settings, "beam": 2}})
    all_scores, found = tree.scores(X), narrow.scores(X)
    reached = found > UNREACHED
    assert 0 < reached.sum() < (all_scores > UNREACHED).sum()
    assert np.array_equal(found[reached], all_scores[reached])


def test_a_label_that_one_of_two_trees_misses_has_probability_0_in_it() -> None:
    X, Y = make_problem()
    tree = fit_label_tree(X, Y, LabelTreeParameters(**{**vars(SMALL), "trees": 2, "beam": 2}))
    alone = [LabelTree(**{**vars(tree), "roots": tree.roots[[place]]}).scores(X) for place in range(2)]
    reached = [scores > UNREACHED for scores in alone]
    one = reached[0] ^ reached[1]
    assert one.any()
    mean = sum(np.where(known, expit(scores), 0.0) for known, scores in zip(reached, alone, strict=True)) / 2
    np.testing.assert_allclose(tree.scores(X)[one], logit(mean[one]))


def test_blocks_chunks_threads_and_files_give_the_same_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = make_problem()
    settings = LabelTreeParameters(**{**vars(SMALL), "beam": 3, "trees": 2})
    tree = fit_label_tree(X, Y, settings, seed=4)
    expected = tree.scores(X)
    again = fit_label_tree(X, sp.csr_array(Y), settings, seed=4, jobs=2)
    monkeypatch.setattr(label_tree, "CHUNK", 7)
    monkeypatch.setattr(label_tree, "_MAX_KEPT_PLACES", 0)
    assert np.array_equal(again.scores(X), expected)
    blocks = [scores for _, scores in again.split_scores(again.find_labels(X, jobs=2), 10)]
    assert [block.shape[1] for block in blocks] == [10, 10, 10, 7]
    assert np.array_equal(np.hstack(blocks), expected)
    save_model(tmp_path, again)
    loaded = load_model(tmp_path)
    assert isinstance(loaded, LabelTree) and np.array_equal(loaded.scores(X), expected)
    assert loaded.describe() == json.loads(json.dumps(again.describe()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("children", np.zeros_like),
        ("children", lambda values: values[:-1]),
        ("labels", lambda values: values + 1000),
        ("starts", lambda values: values[::-1].copy()),
        ("starts", lambda values: values.astype(float)),
        ("roots", lambda values: values - 1),
        ("offsets", lambda values: values[1:]),
        ("weights.indices", lambda values: values + 10_000),
        ("weights.shape", lambda values: values + 1),
    ],
)
def test_damaged_arrays_are_refused(name: str, change: Any) -> None:
    X, Y = make_problem(documents=80)
    tree = fit_label_tree(X, Y, SMALL)
    arrays = tree.to_arrays()
    with pytest.raises(BadDataError, match=r"do not form a label tree|no sparse matrix"):
        LabelTree.from_arrays({**arrays, name: change(arrays[name])}, tree.describe())


def test_documents_of_other_features_and_labels_of_none_are_refused() -> None:
    X, Y = make_problem(documents=80)
    with pytest.raises(UsageError, match="features"):
        fit_label_tree(X, Y, SMALL).scores(X[:, :-1])
    with pytest.raises(UsageError, match="no training document has a label"):
        fit_label_tree(X, np.zeros_like(Y), SMALL)


def test_a_run_is_trained_predicted_and_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A tree has all labels, however few are trained together one against the rest.
    monkeypatch.setattr(train, "PRUNED_AT_ONCE", 2)
    place = Place(tmp_path)
    head = place.experiment.read_text().partition("runs:")[0].replace("selection: {features: 30}\n", "")
    runs = "runs:\n  tree: {learner: label_tree, parameters: {leaf_labels: 2, trees: 2}, threshold: {rule: default}}\n"
    place.experiment.write_text(head + runs)
    place.textcat("run", str(place.experiment))
    measured = read_results(place.report)["runs"]["tree"]["measures"]
    assert measured["micro.f1"] > 80
    place.textcat("train", str(place.experiment))
    categorizer = read_categorizer(place.data / "models" / "trial" / "tree")
    document = NewDocument("1", {"title": "wheat", "body": "wheat corn harvest"})
    (line,) = predict_lines(categorizer, [document])
    assert json.loads(line)["labels"] == ["grain"]
    assert {part.term for part in find_strongest_terms(categorizer, "grain", 8)[0]} >= {"wheat", "corn"}
    parts = compute_contributions(categorizer, "grain", document)
    tree, column = categorizer.model, list(categorizer.categories).index("grain")
    margins = categorizer.vectors([document]) @ tree.weights.toarray() + tree.offsets
    path = tree._find_path(column)
    assert len(path) > 2
    total = sum(part.weight for part in parts) + tree.intercept[column]
    assert total == pytest.approx(3.0 * margins[0, path].sum() / 2, abs=1e-4)


def test_labels_that_are_stored_as_zero_are_none() -> None:
    X, Y = make_problem()
    stored = sp.csc_matrix(np.ones(Y.shape))
    stored.data = Y.ravel(order="F").astype(np.float64)
    plain, found = (fit_label_tree(X, labels, SMALL) for labels in (sp.csr_matrix(Y), stored))
    assert np.array_equal(found.scores(X), plain.scores(X))
    assert stored.nnz == Y.size
    with pytest.raises(UsageError, match="299 rows of labels for 300 documents"):
        fit_label_tree(X, stored[1:], SMALL)
