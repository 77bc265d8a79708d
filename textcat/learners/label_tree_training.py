"""Train label trees: divide the labels, then train the classifiers of every node on the documents that reach it.

Labels are divided into balanced clusters by repeated bisection of their centroids (Prabhu et al., WWW 2018: Parabel).
The centroid of a label is the normalized sum of its documents, of which the largest entries are kept. A bisection is
2-means on the sphere with two halves of equal size: labels are ordered by the difference of their similarities to both
means. Start and ties depend on the seed only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.learners.checks import as_documents, as_labels
from textcat.learners.label_tree import LabelTree
from textcat.learners.parameters import LabelTreeParameters
from textcat.linear import fit
from textcat.linear.model import LinearModel
from textcat.linear.regularization import lam_from_c
from textcat.matrices import check_matrix
from textcat.parallel import Executor
from textcat.parallel.executors import run_in_threads

Ints = NDArray[np.int64]

MAX_CENTROID_FEATURES = 400
MAX_ROUNDS = 20
_LABELS_AT_ONCE = 1000


def compute_centroids(X: sp.csr_matrix, Y: Any) -> sp.csr_matrix:
    """Return the centroid of each label, labels x features, of length 1; empty for labels without documents."""
    parts = []
    labels = sp.csc_matrix(Y)
    for first in range(0, Y.shape[1], _LABELS_AT_ONCE):
        block = sp.csr_matrix(labels[:, first : first + _LABELS_AT_ONCE].T, dtype=np.float32)
        parts.append(_keep_largest(sp.csr_matrix(block @ X.astype(np.float32))))
    centroids = sp.csr_matrix(sp.vstack(parts, format="csr"))
    lengths = np.sqrt(np.asarray(centroids.multiply(centroids).sum(axis=1))).ravel()
    return sp.csr_matrix(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ centroids)


def _keep_largest(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Keep the largest entries of each row."""
    rows.sort_indices()
    kept = np.ones(rows.nnz, dtype=np.bool_)
    for row in np.flatnonzero(np.diff(rows.indptr) > MAX_CENTROID_FEATURES):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        order = np.argsort(-rows.data[part], kind="stable")
        kept[rows.indptr[row] + order[MAX_CENTROID_FEATURES:]] = False
    rows.data[~kept] = 0.0
    rows.eliminate_zeros()
    return rows


def divide_labels(
    centroids: sp.csr_matrix, labels: Ints, parts: int, random: np.random.Generator
) -> list[Ints]:
    """Return `parts` clusters (a power of two) of labels; their sizes differ by at most one."""
    if parts <= 1 or len(labels) < 2:
        return [np.sort(labels)]
    halves = _bisect(centroids[labels], random)
    return [
        cluster for half in halves for cluster in divide_labels(centroids, labels[half], parts // 2, random)
    ]


def _bisect(rows: Any, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the row numbers of two halves."""
    number = rows.shape[0]
    first, second = random.choice(number, 2, replace=False)
    direction = _as_vector(rows[[first]] - rows[[second]])
    half = (number + 1) // 2
    before = np.zeros(0, dtype=np.int64)
    for _ in range(MAX_ROUNDS):
        order = np.argsort(-(rows @ direction), kind="stable")
        chosen = np.sort(order[:half])
        if np.array_equal(chosen, before):
            break
        before = chosen
        means = [_normalize(_as_vector(rows[part].sum(axis=0))) for part in (order[:half], order[half:])]
        direction = means[0] - means[1]
    return before, np.setdiff1d(np.arange(number), before)


def _as_vector(row: Any) -> NDArray[np.float64]:
    dense = row.toarray() if hasattr(row, "toarray") else row
    return np.asarray(dense, dtype=np.float64).ravel()


def _normalize(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


@dataclass(frozen=True)
class _Node:
    """Clusters of labels, each with the number of its node, or single labels of a leaf."""

    clusters: list[Ints]
    children: list[int]


@dataclass(frozen=True)
class _Training:
    """Inputs that all nodes share."""

    X: sp.csr_matrix
    Y: sp.csc_matrix
    settings: LabelTreeParameters
    roots: frozenset[int]
    nodes: list[_Node]


def fit_label_tree(
    X: Any,
    Y: Any,
    settings: LabelTreeParameters,
    *,
    seed: int = 0,
    jobs: int = 1,
    executor: Executor | None = None,
) -> LabelTree:
    """Train trees on documents x features and documents x labels, dense or sparse.

    Nodes are trained by the executor's workers, or in `jobs` threads. Labels without documents are left out.
    """
    rows = as_documents(X)
    check_matrix(Y, "Y")
    labels = (_copy_sparse_labels if sp.issparse(Y) else as_labels)(Y, rows.shape[0])
    positive = sp.csc_matrix(labels, dtype=np.bool_)
    known = np.flatnonzero(np.diff(positive.indptr))
    if not len(known):
        raise UsageError("no training document has a label", hint="Give labelled documents.")
    centroids = compute_centroids(rows, positive)
    nodes: list[_Node] = []
    roots = []
    for tree in range(settings.trees):
        roots.append(len(nodes))
        _divide(nodes, centroids, known, settings, np.random.default_rng([seed, tree]))
    # The first nodes are the largest: they start first.
    training, numbers = _Training(rows, positive, settings, frozenset(roots), nodes), range(len(nodes))
    if executor is None:
        models = run_in_threads(jobs, [partial(_train_node, training, number) for number in numbers])
    else:
        models = list(executor.map_items(_train_node, training, numbers))
    return _join(nodes, roots, models, settings, positive.shape[1])


def _copy_sparse_labels(Y: Any, documents: int) -> Any:
    """Return sparse labels without those that are stored as false."""
    if Y.shape[0] != documents:
        raise UsageError(
            f"{Y.shape[0]} rows of labels for {documents} documents", hint="Give one row for each document."
        )
    labels = sp.csc_matrix(Y, dtype=np.bool_, copy=True)
    labels.eliminate_zeros()
    return labels


def _divide(
    nodes: list[_Node],
    centroids: sp.csr_matrix,
    labels: Ints,
    settings: LabelTreeParameters,
    random: np.random.Generator,
) -> None:
    """Append the node of some labels, then those below it."""
    waiting = [(labels, _Node([], []))]
    nodes.append(waiting[0][1])
    for labels_here, node in waiting:
        if len(labels_here) <= settings.leaf_labels:
            node.clusters.extend(labels_here[k : k + 1] for k in range(len(labels_here)))
            node.children.extend([-1] * len(labels_here))
            continue
        # Leaves with two thirds of the largest size leave room for uneven numbers of labels.
        wanted = max(2, 2 ** int(np.ceil(np.log2(len(labels_here) / (settings.leaf_labels / 1.5)))))
        for cluster in divide_labels(centroids, labels_here, min(settings.branches, wanted), random):
            child = _Node([], [])
            node.clusters.append(cluster)
            node.children.append(len(nodes))
            nodes.append(child)
            waiting.append((cluster, child))


def _train_node(training: _Training, number: int) -> LinearModel:
    """Train the classifiers of a node on the documents with a label below it, a root on all documents."""
    node, X, settings = training.nodes[number], training.X, training.settings
    below = training.Y[:, np.concatenate(node.clusters)]
    documents = np.arange(X.shape[0]) if number in training.roots else np.unique(below.indices)
    targets = np.zeros((len(documents), len(node.clusters)), dtype=np.bool_)
    cluster_of = np.repeat(np.arange(len(node.clusters)), [len(cluster) for cluster in node.clusters])
    targets[np.searchsorted(documents, below.indices), np.repeat(cluster_of, np.diff(below.indptr))] = True
    part = X[documents]
    # Features that no document here has keep the weight 0.
    used = np.unique(part.indices)
    model = fit(
        part[:, used],
        targets,
        loss=settings.loss,
        prior="gaussian",
        algorithm="fast",
        lam=lam_from_c(settings.cost, part.shape[0]),
        tol=settings.tolerance,
        n_jobs=1,
        prune=settings.prune,
    )
    return replace(model, coef=_spread(model.coef, used, X.shape[1]), settings={})


def _spread(coef: Any, used: NDArray[Any], features: int) -> sp.csc_matrix:
    """Return weights of some features as sparse weights of all features."""
    columns = sp.csc_matrix(coef, dtype=np.float32)
    indices = used[columns.indices].astype(np.int32)
    return sp.csc_matrix((columns.data, indices, columns.indptr), shape=(features, columns.shape[1]))


def _join(
    nodes: list[_Node],
    roots: list[int],
    models: list[LinearModel],
    settings: LabelTreeParameters,
    categories: int,
) -> LabelTree:
    sizes = [len(node.children) for node in nodes]
    described: Mapping[str, Any] = {"learner": "label_tree", **settings.model_dump()}
    children = np.concatenate([node.children for node in nodes]).astype(np.int64)
    labels = np.concatenate([[int(cluster[0]) for cluster in node.clusters] for node in nodes])
    return LabelTree(
        weights=sp.csc_matrix(sp.hstack([model.coef for model in models], format="csc")),
        offsets=np.concatenate([model.intercept for model in models]),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        children=children,
        labels=np.where(children < 0, labels, -1).astype(np.int64),
        roots=np.array(roots, dtype=np.int64),
        categories=categories,
        settings=described,
        certificate=[entry for model in models for entry in model.certificate],
    )
