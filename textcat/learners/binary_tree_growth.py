"""Growing binary trees level by level, the splits of one level of all categories learned together.

Problem:  a tree a category that tells its documents from the others by recursive linear splits.
Inputs:   features, labels, a learner of linear splits, the greatest depth.
Outputs:  BinaryTrees.
Paper:    gao_2003 section 2.2. The paper leaves open when a node is no longer split; here a node is a leaf
          when its documents are all alike, when the greatest depth is reached, or when the learned split
          makes no fewer training errors than the node's own label does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from textcat.errors import BadDataError, UsageError
from textcat.learners.binary_tree import LEAF, BinaryTrees, Bools, FeatureMatrix, LinearNodes

SMALL_NODE = 8
"""A node with fewer than a SMALL_NODE-th of the documents is learned from its own rows only: cheaper."""


class SplitLearner(Protocol):
    """Learns one linear split a column from the documents that the column's node holds."""

    def __call__(self, X: FeatureMatrix, positive: Bools, member: Bools) -> LinearNodes:
        """`positive` and `member` are documents x columns; positives are members."""


@dataclass
class _Growth:
    """The nodes so far, in the order of their making: parents before children."""

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
    """Nodes that may be split, their categories, and the documents that reached each (documents x nodes)."""

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
) -> BinaryTrees:
    """Grow a tree for each column of Y; depth 1 is a single linear classifier a category."""
    check_labels(X, Y)
    if max_depth < 1:
        raise UsageError(
            f"max_depth is {max_depth}", where="tree.max_depth", hint="Give 1 or more; 1 is a single split."
        )
    growth = _Growth()
    categories = Y.shape[1]
    for column in range(categories):
        growth.add_leaf(bool(Y.shape[0]) and bool(Y[:, column].all()))
    level = _Level(np.arange(categories), np.arange(categories), np.ones(Y.shape, dtype=np.bool_))
    for depth in range(max_depth):
        level = _mixed_only(level, Y)
        if level.nodes.size == 0:
            break
        level = _split_level(growth, level, X, Y, learn_split, at_root=depth == 0)
    return _finish(growth, X.shape[1], categories, {"max_depth": max_depth, **(settings or {})})


def check_labels(X: FeatureMatrix, Y: Bools) -> None:
    """Refuse labels that do not belong to these documents."""
    if Y.ndim != 2 or Y.shape[0] != X.shape[0] or Y.dtype != np.bool_:
        raise BadDataError(
            f"labels of shape {Y.shape} and type {Y.dtype} for {X.shape[0]} documents",
            where="labels",
            hint="Give labels as a bool array, documents x categories.",
        )


def _mixed_only(level: _Level, Y: Bools) -> _Level:
    """Leave out the nodes whose documents are all alike."""
    positives = Y[:, level.category] & level.member
    count, total = positives.sum(axis=0), level.member.sum(axis=0)
    mixed = (count > 0) & (count < total)
    return _Level(level.nodes[mixed], level.category[mixed], level.member[:, mixed])


def _split_level(
    growth: _Growth, level: _Level, X: FeatureMatrix, Y: Bools, learn_split: SplitLearner, *, at_root: bool
) -> _Level:
    """Learn the splits of one level, keep those that help, and return the nodes they made."""
    positive = Y[:, level.category] & level.member
    learned = _learn_splits(X, positive, level.member, learn_split)
    says_yes = learned.values(X) > 0
    wrong = level.member & (says_yes != positive)
    labels = np.array([growth.label[node] for node in level.nodes])
    wrong_before = (level.member & (labels != positive)).sum(axis=0)
    kept = np.flatnonzero(np.logical_or(at_root, wrong.sum(axis=0) < wrong_before))
    growth.learned.append(learned.columns(kept))
    children = [child for column in kept for child in growth.add_split(int(level.nodes[column]))]
    member = np.empty((Y.shape[0], 2 * kept.size), dtype=np.bool_)
    member[:, 0::2] = level.member[:, kept] & says_yes[:, kept]
    member[:, 1::2] = level.member[:, kept] & ~says_yes[:, kept]
    return _Level(np.array(children, dtype=np.int64), np.repeat(level.category[kept], 2), member)


def _learn_splits(X: FeatureMatrix, positive: Bools, member: Bools, learn_split: SplitLearner) -> LinearNodes:
    """Large nodes together over all documents, small nodes each over its own."""
    documents, columns = member.shape
    small = member.sum(axis=0) * SMALL_NODE < documents
    weights = np.zeros((X.shape[1], columns), dtype=np.float32)
    offsets = np.zeros(columns, dtype=np.float32)
    groups = [np.array([column]) for column in np.flatnonzero(small)]
    if not small.all():
        groups.append(np.flatnonzero(~small))
    for group in groups:
        rows = np.flatnonzero(member[:, group].any(axis=1))
        part = X if rows.size == documents else X[rows]
        learned = learn_split(part, positive[np.ix_(rows, group)], member[np.ix_(rows, group)])
        weights[:, group], offsets[group] = learned.weights, learned.offsets
    return LinearNodes(weights, offsets)


def _finish(growth: _Growth, features: int, categories: int, settings: Mapping[str, Any]) -> BinaryTrees:
    none = LinearNodes(np.zeros((features, 0), dtype=np.float32), np.zeros(0, dtype=np.float32))
    learned = [none, *growth.learned]
    return BinaryTrees(
        yes=np.array(growth.yes, dtype=np.int32),
        no=np.array(growth.no, dtype=np.int32),
        split=np.array(growth.split, dtype=np.int32),
        label=np.array(growth.label, dtype=np.bool_),
        splits=LinearNodes(
            np.concatenate([part.weights for part in learned], axis=1),
            np.concatenate([part.offsets for part in learned]),
        ),
        categories=categories,
        settings=settings,
    )
