"""Trees of linear splits, one per category: the model, and growing it level by level.

Problem:  a tree per category that separates its documents from the others by recursive linear splits.
Inputs:   features, labels, a learner of linear splits, the greatest depth.
Outputs:  BinaryTrees.
Paper:    gao_2003 section 2.2, figure 1, equation 2.1 (a split says Yes where w.x - w0 > 0). The paper does not
          say when a node is no longer split; here a node is a leaf when its documents all have the same label,
          when the greatest depth is reached, when it has all documents of its parent (the same split would be
          learned again), or when the learned split makes no fewer training errors than the node's own label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse

from textcat.errors import BadDataError
from textcat.learners.checks import Bools, as_labels, require_positive
from textcat.matrices import check_matrix
from textcat.parallel.executors import limit_to_one_thread, run_in_threads

FeatureMatrix = npt.NDArray[np.float32] | scipy.sparse.csr_matrix

LEAF = -1
ROWS_PER_CHUNK = 4096
COLUMNS_AT_ONCE = 48
"""The most columns that are learned together; they are at most half of all, so that two threads have work."""

LANES = 16
SMALL_NODE = 8
"""A node with fewer than 1 / SMALL_NODE of the documents is learned from its own rows only, which is faster."""


@dataclass(frozen=True)
class LinearNodes:
    """Linear discriminant functions, one per column: w.x - w0 (equation 2.1)."""

    weights: npt.NDArray[np.float32]
    offsets: npt.NDArray[np.float32]

    def values(self, X: FeatureMatrix) -> npt.NDArray[np.float32]:
        """Return w.x - w0, documents x columns."""
        values = np.asarray(X @ self.weights)
        values -= self.offsets
        return values

    def select_columns(self, chosen: npt.NDArray[np.int64]) -> LinearNodes:
        """Return some of the columns."""
        return LinearNodes(np.ascontiguousarray(self.weights[:, chosen]), self.offsets[chosen])

    def copy(self) -> LinearNodes:
        """Return a copy whose arrays can be changed."""
        return LinearNodes(self.weights.copy(), self.offsets.copy())

    @classmethod
    def join(cls, parts: Sequence[LinearNodes]) -> LinearNodes:
        """Return the columns of all parts."""
        return cls(
            np.concatenate([part.weights for part in parts], axis=1),
            np.concatenate([part.offsets for part in parts]),
        )


@dataclass(frozen=True)
class BinaryTrees:
    """The trees of all categories in flat arrays; node k < categories is the root of category k.

    A score is the value of the last split on the document's path, so a document belongs to a category exactly
    when its score is above 0. A category whose training documents all have the same label is a single leaf of
    score 1 or -1.
    """

    yes: npt.NDArray[np.int32]
    no: npt.NDArray[np.int32]
    split: npt.NDArray[np.int32]
    label: Bools
    splits: LinearNodes
    categories: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, X: FeatureMatrix) -> npt.NDArray[np.float64]:
        """Return the value of the last split on the path of each document, documents x categories."""
        check_matrix(X)
        if X.shape[1] != self.splits.weights.shape[0]:
            raise BadDataError(
                f"the documents have {X.shape[1]} features, the trees {self.splits.weights.shape[0]}",
                where="binary_tree",
                hint="Transform new documents as the training documents were.",
            )
        with limit_to_one_thread():
            parts = [
                self._descend(X[at : at + ROWS_PER_CHUNK]) for at in range(0, X.shape[0], ROWS_PER_CHUNK)
            ]
        return np.concatenate(parts) if parts else np.zeros((0, self.categories))

    def _descend(self, X: FeatureMatrix) -> npt.NDArray[np.float64]:
        values = self.splits.values(X)
        node = np.tile(np.arange(self.categories), (X.shape[0], 1))
        scores = np.where(self.label[node], 1.0, -1.0)
        row, column = np.nonzero(self.split[node] != LEAF)
        while row.size:
            parent = node[row, column]
            value = values[row, self.split[parent]]
            scores[row, column] = value
            child = np.where(value > 0, self.yes[parent], self.no[parent])
            node[row, column] = child
            inner = self.split[child] != LEAF
            row, column = row[inner], column[inner]
        return scores

    def select_trees(self, chosen: npt.NDArray[np.int64]) -> BinaryTrees:
        """Return the trees of some categories, with their nodes in the order in which they would be grown alone."""
        order = [int(root) for root in chosen]
        for node in order:
            if self.split[node] != LEAF:
                order += [int(self.yes[node]), int(self.no[node])]
        nodes = np.array(order, dtype=np.int64)
        inner = self.split[nodes] != LEAF
        position = np.full(self.split.size + 1, LEAF, dtype=np.int32)
        position[nodes] = np.arange(nodes.size)
        return BinaryTrees(
            yes=position[self.yes[nodes]],
            no=position[self.no[nodes]],
            split=np.where(inner, np.cumsum(inner) - 1, LEAF).astype(np.int32),
            label=self.label[nodes],
            splits=self.splits.select_columns(self.split[nodes][inner].astype(np.int64)),
            categories=len(chosen),
            settings=self.settings,
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` needs."""
        return {
            "yes": self.yes,
            "no": self.no,
            "split": self.split,
            "label": self.label,
            "weights": self.splits.weights,
            "offsets": self.splits.offsets,
        }

    def describe(self) -> dict[str, Any]:
        """Return kind and settings as JSON-able data."""
        return {"kind": "binary_trees", "categories": self.categories, "settings": dict(self.settings)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], description: Mapping[str, Any]
    ) -> BinaryTrees:
        """Rebuild the trees from their arrays and description; check the nodes, which `scores` trusts."""
        trees = cls(
            yes=arrays["yes"],
            no=arrays["no"],
            split=arrays["split"],
            label=arrays["label"],
            splits=LinearNodes(arrays["weights"], arrays["offsets"]),
            categories=int(description["categories"]),
            settings=dict(description["settings"]),
        )
        if not trees._is_sound():
            raise BadDataError(
                "the nodes of the model do not form trees", where="binary_tree", hint="Train the model again."
            )
        return trees

    def _is_sound(self) -> bool:
        """Check that every array fits and every split leads to later nodes."""
        nodes, columns = self.split.size, self.splits.offsets.size
        of_integers = all(np.issubdtype(part.dtype, np.integer) for part in (self.yes, self.no, self.split))
        shapes = {part.shape for part in (self.yes, self.no, self.split, self.label)} == {(nodes,)}
        if not (of_integers and shapes and self.label.dtype == np.bool_ and 0 <= self.categories <= nodes):
            return False
        if not all(part.dtype.kind == "f" for part in vars(self.splits).values()):
            return False
        if self.splits.weights.ndim != 2 or self.splits.weights.shape[1:] != self.splits.offsets.shape:
            return False
        inner = np.flatnonzero(self.split != LEAF)
        children = np.concatenate([self.yes[inner], self.no[inner]])
        later = (children > np.tile(inner, 2)) & (children < nodes)
        known = (self.split[inner] >= 0) & (self.split[inner] < columns)
        return bool(later.all() and known.all())


class SplitLearner(Protocol):
    """A function that learns one linear split per column from the documents of the column's node."""

    def __call__(
        self, X: FeatureMatrix, positive: Bools, member: Bools, tree: npt.NDArray[np.int64], jobs: int
    ) -> LinearNodes:
        """Return the splits; `positive` and `member` are documents x columns, and positives are members.

        `tree` is the category of each column. The learner may use `jobs` threads.
        """


@dataclass
class _TreeBuilder:
    """The nodes made so far, parents before children."""

    yes: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)
    split: list[int] = field(default_factory=list)
    label: list[bool] = field(default_factory=list)
    learned: list[LinearNodes] = field(default_factory=list)
    splits: int = 0

    def add_leaf(self, label: bool) -> int:
        self.yes.append(LEAF)
        self.no.append(LEAF)
        self.split.append(LEAF)
        self.label.append(label)
        return len(self.label) - 1

    def add_split(self, node: int) -> tuple[int, int]:
        self.split[node] = self.splits
        self.splits += 1
        self.yes[node], self.no[node] = self.add_leaf(True), self.add_leaf(False)
        return self.yes[node], self.no[node]


@dataclass(frozen=True)
class _Level:
    """Nodes that may be split, their categories, and the documents that reach each (documents x nodes)."""

    nodes: npt.NDArray[np.int64]
    category: npt.NDArray[np.int64]
    member: Bools


def grow_trees(
    X: FeatureMatrix,
    Y: Bools,
    learn_split: SplitLearner,
    *,
    max_depth: int = 1,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    shares_groups: bool = False,
) -> BinaryTrees:
    """Grow a tree for each column of Y; depth 1 is a single linear classifier per category.

    Linear algebra has one thread, and `jobs` threads learn splits: the last bits do not depend on their number.
    Groups of large nodes are learned at the same time, or, if `shares_groups`, one after another on all threads.
    """
    check_matrix(X)
    Y = as_labels(Y, X.shape[0])
    require_positive(max_depth=max_depth)
    builder = _TreeBuilder()
    categories = Y.shape[1]
    for column in range(categories):
        builder.add_leaf(bool(Y[:, column].all()))
    level = _Level(np.arange(categories), np.arange(categories), np.ones(Y.shape, dtype=np.bool_))
    for depth in range(max_depth):
        level = _keep_mixed_nodes(level, Y)
        if level.nodes.size == 0:
            break
        with limit_to_one_thread():
            learn = partial(_learn_splits, learn_split, jobs, shares_groups)
            level = _split_level(builder, level, X, Y, learn, depth == 0)
    return _build_trees(builder, X.shape[1], categories, {"max_depth": max_depth, **(settings or {})})


def _keep_mixed_nodes(level: _Level, Y: Bools) -> _Level:
    """Drop the nodes whose documents all have the same label."""
    positives = Y[:, level.category] & level.member
    count, total = positives.sum(axis=0), level.member.sum(axis=0)
    mixed = (count > 0) & (count < total)
    return _Level(level.nodes[mixed], level.category[mixed], level.member[:, mixed])


def _split_level(
    builder: _TreeBuilder,
    level: _Level,
    X: FeatureMatrix,
    Y: Bools,
    learn_splits: Callable[[FeatureMatrix, Bools, _Level], LinearNodes],
    at_root: bool,
) -> _Level:
    """Learn the splits of one level, keep those that reduce errors, and return the new nodes."""
    positive = Y[:, level.category] & level.member
    learned = learn_splits(X, positive, level)
    says_yes = learned.values(X) > 0
    wrong = level.member & (says_yes != positive)
    labels = np.array([builder.label[node] for node in level.nodes])
    wrong_before = (level.member & (labels != positive)).sum(axis=0)
    kept = np.flatnonzero(np.logical_or(at_root, wrong.sum(axis=0) < wrong_before))
    builder.learned.append(learned.select_columns(kept))
    children = [child for column in kept for child in builder.add_split(int(level.nodes[column]))]
    member = np.empty((Y.shape[0], 2 * kept.size), dtype=np.bool_)
    member[:, 0::2] = level.member[:, kept] & says_yes[:, kept]
    member[:, 1::2] = level.member[:, kept] & ~says_yes[:, kept]
    smaller = member.sum(axis=0) < np.repeat(level.member[:, kept].sum(axis=0), 2)
    below = np.array(children, dtype=np.int64)[smaller]
    return _Level(below, np.repeat(level.category[kept], 2)[smaller], member[:, smaller])


def _learn_splits(
    learn_split: SplitLearner,
    jobs: int,
    shares_groups: bool,
    X: FeatureMatrix,
    positive: Bools,
    level: _Level,
) -> LinearNodes:
    """Learn the splits of large nodes together, and of each small node from its own documents."""
    documents, columns = level.member.shape
    small = level.member.sum(axis=0) * SMALL_NODE < documents
    weights = np.zeros((X.shape[1], columns), dtype=np.float32)
    offsets = np.zeros(columns, dtype=np.float32)

    def learn(jobs: int, group: npt.NDArray[np.int64]) -> None:
        rows = np.flatnonzero(level.member[:, group].any(axis=1))
        part = X if rows.size == documents else X[rows]
        chosen = np.ix_(rows, group)
        learned = learn_split(part, positive[chosen], level.member[chosen], level.category[group], jobs)
        weights[:, group], offsets[group] = learned.weights, learned.offsets

    large = divide_columns(positive, level.member, np.flatnonzero(~small))
    if shares_groups:
        for group in large:
            learn(jobs, group)
        large = []
    groups = [*large, *(np.array([column]) for column in np.flatnonzero(small))]
    run_in_threads(jobs, [partial(learn, 1, group) for group in groups])
    return LinearNodes(weights, offsets)


def divide_columns(
    positive: Bools, member: Bools, columns: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Divide columns into groups, at least two of more than sixteen; equal columns are in the same group."""
    if columns.size == 0:
        return []
    firsts, problem = find_distinct_columns(positive[:, columns], member[:, columns])
    blocks = -(-len(firsts) // LANES)
    groups = min(blocks, 2 * -(-blocks * LANES // (2 * COLUMNS_AT_ONCE)))
    group = np.repeat(
        np.arange(groups), [part.size * LANES for part in np.array_split(np.arange(blocks), groups)]
    )
    return [columns[group[problem] == number] for number in range(groups)]


def find_distinct_columns(positive: Bools, member: Bools) -> tuple[list[int], npt.NDArray[np.int64]]:
    """Return the first column of each pair of columns of two bool arrays, and the position there of each column."""
    packed = np.packbits(np.concatenate([positive, member]), axis=0)
    seen: dict[bytes, int] = {}
    problem = [seen.setdefault(packed[:, column].tobytes(), len(seen)) for column in range(positive.shape[1])]
    return [problem.index(number) for number in range(len(seen))], np.array(problem, dtype=np.int64)


def _build_trees(
    builder: _TreeBuilder, features: int, categories: int, settings: Mapping[str, Any]
) -> BinaryTrees:
    none = LinearNodes(np.zeros((features, 0), dtype=np.float32), np.zeros(0, dtype=np.float32))
    learned = [none, *builder.learned]
    return BinaryTrees(
        yes=np.array(builder.yes, dtype=np.int32),
        no=np.array(builder.no, dtype=np.int32),
        split=np.array(builder.split, dtype=np.int32),
        label=np.array(builder.label, dtype=np.bool_),
        splits=LinearNodes.join(learned),
        categories=categories,
        settings=settings,
    )
