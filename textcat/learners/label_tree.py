"""Label trees for thousands of labels (Parabel, Prabhu et al., WWW 2018; Bonsai, Khandagale et al., 2020).

Labels are divided into balanced clusters, clusters with more than `leaf_labels` labels again. A node has a linear
classifier for each of its clusters or labels, one against the rest, trained by the fast solver on the documents with
a label below the node (the root: on all documents). With a margin m each classifier contributes log sigmoid(3 m) to
the log probability of the labels below it. Prediction follows the `beam` nodes of highest log probability at each
level. A score is the log odds of the probability, the mean over trees, so that 0 means one half; labels that no beam
reaches have the score UNREACHED.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError, UsageError
from textcat.linear.certificate import Certificate
from textcat.linear.model import sparse_from_arrays, sparse_to_arrays
from textcat.linear.products import SparseWeights
from textcat.matrices import check_matrix
from textcat.parallel.executors import run_in_threads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARPNESS = 3.0
UNREACHED = -100.0
# Documents that are scored together.
CHUNK = 2000
# Node x feature places up to which the products of all nodes are kept for the next documents.
_MAX_KEPT_PLACES = 50_000_000
_STRUCTURE = ("starts", "children", "labels", "roots")


@dataclass(frozen=True)
class LabelTree:
    """All trees in flat arrays.

    Node k has the outputs starts[k] : starts[k + 1]. Output c leads to node children[c], or to labels[c] where
    children[c] is -1. A child has a larger number than its parent. `weights` is features x outputs.
    """

    weights: sp.csc_matrix
    offsets: Floats
    starts: Ints
    children: Ints
    labels: Ints
    roots: Ints
    categories: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    certificate: Sequence[Certificate] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: cached values are not sent to workers."""
        return {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}

    def scores(self, X: Any) -> Floats:
        """Return scores, documents x categories."""
        found = self.find_labels(X)
        dense = np.full(found.shape, UNREACHED)
        rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        dense[rows, found.indices] = found.data
        return dense

    def split_scores(self, scores: sp.csr_matrix, width: int) -> Iterator[tuple[int, Floats]]:
        """Yield the scores of `find_labels` as dense blocks of `width` categories, UNREACHED where a label has none."""
        found = sp.csc_matrix(scores)
        for first in range(0, self.categories, width):
            part = found[:, first : first + width]
            dense = np.full(part.shape, UNREACHED)
            dense[part.indices, np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))] = part.data
            yield first, dense

    def find_labels(self, X: Any, jobs: int = 1) -> sp.csr_matrix:
        """Return the scores of the `most_labels` best labels that a beam reaches in each document."""
        check_matrix(X)
        if X.shape[1] != self.weights.shape[0]:
            raise UsageError(
                f"the documents have {X.shape[1]} features, the model was trained on {self.weights.shape[0]}",
                hint="Count the documents over the terms that the model was trained with.",
            )
        rows = sp.csr_matrix(X)
        chunks = [rows[first : first + CHUNK] for first in range(0, rows.shape[0], CHUNK)]
        parts = run_in_threads(jobs, [partial(self._score_chunk, chunk) for chunk in chunks])
        if not parts:
            return sp.csr_matrix((0, self.categories))
        return sp.csr_matrix(sp.vstack(parts, format="csr"))

    def _score_chunk(self, X: sp.csr_matrix) -> sp.csr_matrix:
        number = X.shape[0]
        places, certain, unlikely = [], [], []
        for root in self.roots:
            documents, labels, logs = self._descend(X, int(root))
            places.append(documents * self.categories + labels)
            certain.append(np.exp(logs))
            unlikely.append(-np.expm1(logs))
        keys, position = np.unique(np.concatenate(places), return_inverse=True)
        trees = len(self.roots)
        likely = np.bincount(position, np.concatenate(certain), len(keys)) / trees
        # A tree that does not reach a label gives it the probability 0.
        missed = trees - np.bincount(position, minlength=len(keys))
        rest = (np.bincount(position, np.concatenate(unlikely), len(keys)) + missed) / trees
        tiny = np.finfo(np.float64).tiny
        scores = np.log(np.maximum(likely, tiny)) - np.log(np.maximum(rest, tiny))
        scores = np.maximum(scores, UNREACHED + 1.0)
        documents, labels = np.divmod(keys, self.categories)
        kept = _find_best(documents, scores, int(self.settings["most_labels"]))
        return sp.csr_matrix((scores[kept], (documents[kept], labels[kept])), shape=(number, self.categories))

    def _descend(self, X: sp.csr_matrix, root: int) -> tuple[Ints, Ints, Floats]:
        """Return document, label and log probability of all labels that the beam reaches from a root."""
        everyone = np.arange(X.shape[0])
        level = [(root, everyone, np.zeros(len(everyone)))]
        leaves: list[tuple[Ints, Ints, Floats]] = []
        while level:
            documents, nodes, logs = [], [], []
            for node, rows, before in level:
                outputs = slice(self.starts[node], self.starts[node + 1])
                margins = self._multiply(node, X if len(rows) == X.shape[0] else X[rows])
                reached = before[:, None] + log_sigmoid(SHARPNESS * margins)
                inner = self.children[outputs] >= 0
                leaf = np.flatnonzero(~inner)
                leaves.append((
                    np.repeat(rows, len(leaf)),
                    np.tile(self.labels[outputs][leaf], len(rows)),
                    reached[:, leaf].ravel(),
                ))  # fmt: skip
                documents.append(np.repeat(rows, np.count_nonzero(inner)))
                nodes.append(np.tile(self.children[outputs][inner], len(rows)))
                logs.append(reached[:, inner].ravel())
            level = self._choose_beam(np.concatenate(documents), np.concatenate(nodes), np.concatenate(logs))
        return (
            np.concatenate([part[0] for part in leaves]),
            np.concatenate([part[1] for part in leaves]),
            np.concatenate([part[2] for part in leaves]),
        )

    def _choose_beam(self, documents: Ints, nodes: Ints, logs: Floats) -> list[tuple[int, Ints, Floats]]:
        """Return the nodes of the next level, each with its documents and their log probabilities."""
        kept = _find_best(documents, logs, int(self.settings["beam"]))
        documents, nodes, logs = documents[kept], nodes[kept], logs[kept]
        order = np.lexsort((documents, nodes))
        documents, nodes, logs = documents[order], nodes[order], logs[order]
        ends = np.flatnonzero(np.diff(nodes, append=-1)) + 1
        return [
            (int(nodes[first]), documents[first:last], logs[first:last])
            for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
        ] if len(nodes) else []  # fmt: skip

    def _multiply(self, node: int, X: sp.csr_matrix) -> Floats:
        outputs = slice(self.starts[node], self.starts[node + 1])
        return self._get_product(node).multiply(X) + self.offsets[outputs]

    def _get_product(self, node: int) -> SparseWeights:
        if node not in self._products:
            product = SparseWeights(self.weights[:, self.starts[node] : self.starts[node + 1]])
            if len(self.starts) * self.weights.shape[0] > _MAX_KEPT_PLACES:
                return product
            self._products[node] = product
        return self._products[node]

    @cached_property
    def _products(self) -> dict[int, SparseWeights]:
        return {}

    def category_weights(self, column: int) -> Floats:
        """Return the sum of the weights on the way from the root to a category, the mean over trees."""
        total = np.zeros(self.weights.shape[0])
        for output in self._find_path(column):
            total += self.weights[:, [output]].toarray()[:, 0]
        return SHARPNESS * total / len(self.roots)

    @cached_property
    def intercept(self) -> Floats:
        """The sum of the constants on the way from the root to each category, the mean over trees."""
        sums = [self.offsets[self._find_path(column)].sum() for column in range(self.categories)]
        return SHARPNESS * np.array(sums) / len(self.roots)

    def _find_path(self, column: int) -> list[int]:
        """Return the outputs that lead to a category, in all trees."""
        found = []
        for leaf in self._outputs_of_labels.get(column, ()):
            output: int | None = leaf
            while output is not None:
                found.append(output)
                node = int(np.searchsorted(self.starts, output, side="right")) - 1
                output = self._parents.get(node)
        return found

    @cached_property
    def _parents(self) -> dict[int, int]:
        return {int(self.children[c]): int(c) for c in np.flatnonzero(self.children >= 0)}

    @cached_property
    def _outputs_of_labels(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for output in np.flatnonzero(self.children < 0):
            found.setdefault(int(self.labels[output]), []).append(int(output))
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers as arrays."""
        weights = sparse_to_arrays("weights", self.weights)
        return {**weights, "offsets": self.offsets, **{name: getattr(self, name) for name in _STRUCTURE}}

    def describe(self) -> dict[str, Any]:
        """Return kind, settings and certificates as JSON-able data."""
        return {
            "kind": "label_tree", "categories": self.categories, "settings": dict(self.settings),
            "certificate": [entry.as_dict() for entry in self.certificate],
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> LabelTree:
        """Rebuild the trees from their arrays and description; check what `scores` trusts."""
        try:
            tree = cls(
                weights=sparse_from_arrays("weights", arrays),
                offsets=arrays["offsets"],
                starts=arrays["starts"],
                children=arrays["children"],
                labels=arrays["labels"],
                roots=arrays["roots"],
                categories=int(description["categories"]),
                settings=dict(description["settings"]),
                certificate=[Certificate(**entry) for entry in description["certificate"]],
            )
            tree._check()
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise BadDataError(
                f"the weights and nodes do not form a label tree: {error}",
                where="model arrays",
                hint="Train the model again.",
            ) from error
        return tree

    def _check(self) -> None:
        """Raise ValueError if an array does not fit, or a node does not lead to later nodes."""
        outputs, nodes = self.weights.shape[1], len(self.starts) - 1
        whole = all(np.issubdtype(getattr(self, name).dtype, np.integer) for name in _STRUCTURE)
        if (
            not whole
            or self.offsets.shape != (outputs,)
            or not np.issubdtype(self.offsets.dtype, np.floating)
        ):
            raise ValueError("an array has another shape or type")
        if self.children.shape != (outputs,) or self.labels.shape != (outputs,) or nodes < 1:
            raise ValueError("the numbers of outputs differ")
        if self.starts[0] != 0 or self.starts[-1] != outputs or (np.diff(self.starts) < 1).any():
            raise ValueError("the outputs of nodes overlap")
        owner = np.repeat(np.arange(nodes), np.diff(self.starts))
        inner = self.children >= 0
        if (self.children[inner] <= owner[inner]).any() or (self.children >= nodes).any():
            raise ValueError("a node does not lead to later nodes")
        leaf = self.labels[~inner]
        if len(leaf) and not 0 <= leaf.min() <= leaf.max() < self.categories:
            raise ValueError("a label is out of range")
        if not len(self.roots) or self.roots.min() < 0 or self.roots.max() >= nodes:
            raise ValueError("a root is not a node")
        if int(self.settings["beam"]) < 1 or int(self.settings["most_labels"]) < 1:
            raise ValueError("the beam is empty")


def log_sigmoid(values: Floats) -> Floats:
    """Return log(1 / (1 + exp(-value))) without overflow."""
    return np.asarray(-np.logaddexp(0.0, -values))


def _find_best(groups: Ints, values: Floats, most: int) -> Ints:
    """Return the places of the `most` largest values of each group; ties are in order of place."""
    places = _drop_small_values(groups, values, most)
    order = places[np.lexsort((places, -values[places], groups[places]))]
    sorted_groups = groups[order]
    first = np.searchsorted(sorted_groups, sorted_groups, side="left")
    return np.asarray(order[np.arange(len(order)) - first < most])


def _drop_small_values(groups: Ints, values: Floats, most: int) -> Ints:
    """Return the places of the values that reach the `most`-th largest of their group, so that few need sorting."""
    sizes = np.bincount(groups)
    widest = int(sizes.max(initial=0))
    # With groups of very different sizes the table would be larger than what is sorted.
    if widest <= 2 * most or widest * len(sizes) > 4 * len(values):
        return np.arange(len(values))
    in_order = bool((groups[1:] >= groups[:-1]).all())
    order = np.arange(len(groups)) if in_order else np.argsort(groups, kind="stable")
    starts = np.cumsum(sizes) - sizes
    table = np.full((len(sizes), widest), -np.inf)
    table[groups[order], np.arange(len(order)) - starts[groups[order]]] = values[order]
    limits = np.partition(table, widest - most, axis=1)[:, widest - most]
    return np.flatnonzero(values >= limits[groups])
