"""Train label trees: divide the labels, then train the classifiers of every node on the documents that reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.learners.checks import as_documents, as_labels
from textcat.learners.label_clusters import compute_centroids, divide_labels
from textcat.learners.label_tree import LabelTree, LabelTreeSettings
from textcat.linear import fit
from textcat.linear.model import LinearModel
from textcat.linear.regularization import lam_from_c
from textcat.parallel.threads import run_in_threads

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Node:
    """Clusters of labels, each with the number of its node, or single labels of a leaf."""

    clusters: list[Ints]
    children: list[int]


def fit_label_tree(X: Any, Y: Any, settings: LabelTreeSettings, *, seed: int = 0, jobs: int = 1) -> LabelTree:
    """Train trees on documents x features and documents x labels, dense or sparse.

    Labels without documents are left out.
    """
    rows = as_documents(X)
    labels: Any = Y if sp.issparse(Y) else as_labels(Y, rows.shape[0])
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
    work = partial(_train_node, rows, positive, settings, frozenset(roots), nodes)
    models = run_in_threads(jobs, [partial(work, number) for number in range(len(nodes))])
    return _join(nodes, roots, models, settings, positive.shape[1])


def _divide(
    nodes: list[_Node],
    centroids: sp.csr_matrix,
    labels: Ints,
    settings: LabelTreeSettings,
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


def _train_node(
    X: sp.csr_matrix,
    Y: sp.csc_matrix,
    settings: LabelTreeSettings,
    roots: frozenset[int],
    nodes: list[_Node],
    number: int,
) -> LinearModel:
    """Train the classifiers of a node on the documents with a label below it, a root on all documents."""
    node = nodes[number]
    below = Y[:, np.concatenate(node.clusters)]
    documents = np.arange(Y.shape[0]) if number in roots else np.unique(below.indices)
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
    settings: LabelTreeSettings,
    categories: int,
) -> LabelTree:
    sizes = [len(node.children) for node in nodes]
    described: Mapping[str, Any] = {"learner": "label_tree", **asdict(settings)}
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
