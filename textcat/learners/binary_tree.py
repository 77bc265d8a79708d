"""Trees of linear splits, one a category: a document descends from the root to a Yes or a No leaf.

Paper: gao_2003 section 2.2, figure 1, equation 2.1 (a split says Yes where w.x - w0 > 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from textcat.errors import BadDataError

FeatureMatrix = npt.NDArray[np.float32] | scipy.sparse.csr_matrix
Bools = npt.NDArray[np.bool_]

LEAF = -1
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class LinearNodes:
    """Linear discriminant functions, one a column: w.x - w0 (equation 2.1)."""

    weights: npt.NDArray[np.float32]
    offsets: npt.NDArray[np.float32]

    def values(self, X: FeatureMatrix) -> npt.NDArray[np.float32]:
        """w.x - w0 for every document and column."""
        return np.asarray(X @ self.weights - self.offsets)

    def columns(self, chosen: npt.NDArray[np.int64]) -> LinearNodes:
        """Some of the columns."""
        return LinearNodes(self.weights[:, chosen], self.offsets[chosen])


@dataclass(frozen=True)
class BinaryTrees:
    """The trees of all categories in flat arrays; node k < categories is the root of category k.

    A score is the value of the last split that the document met, so it belongs to a category exactly when its
    score is above 0. A category whose training documents are all alike is a lone leaf of score 1 or -1.
    """

    yes: npt.NDArray[np.int32]
    no: npt.NDArray[np.int32]
    split: npt.NDArray[np.int32]
    label: Bools
    splits: LinearNodes
    categories: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of splits on the longest path of any tree."""
        depths = np.zeros(self.yes.size, dtype=np.int64)
        for node in np.flatnonzero(self.split != LEAF):  # parents stand before their children
            depths[[self.yes[node], self.no[node]]] = depths[node] + 1
        return int(depths.max(initial=0))

    def scores(self, X: FeatureMatrix) -> npt.NDArray[np.float64]:
        """Documents x categories: the value of the last split on each document's way down."""
        if X.shape[1] != self.splits.weights.shape[0]:
            raise BadDataError(
                f"documents of {X.shape[1]} features, trees of {self.splits.weights.shape[0]}",
                where="binary_tree",
                hint="Transform new documents as the training documents were.",
            )
        parts = [self._descend(X[at : at + ROWS_AT_ONCE]) for at in range(0, X.shape[0], ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, self.categories))

    def decisions(self, X: FeatureMatrix) -> Bools:
        """Documents x categories: the label of the leaf that each document reaches."""
        return np.asarray(self.scores(X) > 0)

    def thresholds(self) -> npt.NDArray[np.float64]:
        """The least score of a Yes: the smallest number above 0, as a split says Yes above 0 only."""
        return np.full(self.categories, np.nextafter(0.0, 1.0))

    def _descend(self, X: FeatureMatrix) -> npt.NDArray[np.float64]:
        values = self.splits.values(X)
        node = np.tile(np.arange(self.categories), (X.shape[0], 1))
        scores = np.where(self.label[node], 1.0, -1.0)
        row, column = np.nonzero(self.split[node] != LEAF)
        while row.size:
            here = node[row, column]
            met = values[row, self.split[here]]
            scores[row, column] = met
            below = np.where(met > 0, self.yes[here], self.no[here])
            node[row, column] = below
            going_on = self.split[below] != LEAF
            row, column = row[going_on], column[going_on]
        return scores

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that `from_arrays` needs."""
        return {
            "yes": self.yes,
            "no": self.no,
            "split": self.split,
            "label": self.label,
            "weights": self.splits.weights,
            "offsets": self.splits.offsets,
        }

    def describe(self) -> dict[str, Any]:
        """Kind and settings, JSON-able."""
        return {"kind": "binary_trees", "categories": self.categories, "settings": dict(self.settings)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], description: Mapping[str, Any]
    ) -> BinaryTrees:
        """Rebuild what `to_arrays` and `describe` wrote, checked: a walk down trusts the nodes."""
        trees = cls(
            yes=arrays["yes"],
            no=arrays["no"],
            split=arrays["split"],
            label=arrays["label"],
            splits=LinearNodes(arrays["weights"], arrays["offsets"]),
            categories=int(description["categories"]),
            settings=dict(description["settings"]),
        )
        if not trees._sound():
            raise BadDataError(
                "nodes that do not make trees", where="binary_tree", hint="Train the model again."
            )
        return trees

    def _sound(self) -> bool:
        """Whether every node is whole and every split leads to nodes behind it."""
        nodes, columns = self.split.size, self.splits.offsets.size
        of_integers = all(np.issubdtype(part.dtype, np.integer) for part in (self.yes, self.no, self.split))
        shapes = {part.shape for part in (self.yes, self.no, self.split, self.label)} == {(nodes,)}
        if not (of_integers and shapes and self.label.dtype == np.bool_ and 0 <= self.categories <= nodes):
            return False
        if self.splits.weights.ndim != 2 or self.splits.weights.shape[1:] != self.splits.offsets.shape:
            return False
        inner = np.flatnonzero(self.split != LEAF)
        below = np.concatenate([self.yes[inner], self.no[inner]])
        leads_on = (below > np.tile(inner, 2)) & (below < nodes)
        known = (self.split[inner] >= 0) & (self.split[inner] < columns)
        return bool(leads_on.all() and known.all())
