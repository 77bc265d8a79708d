"""Labels as scikit-learn has them, one a document or an indicator matrix, as columns of textcat and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

Bools = NDArray[np.bool_]
Kind = Literal["binary", "multiclass", "multilabel"]


@dataclass(frozen=True)
class Labels:
    """What kind of problem it is, its classes in sorted order, and documents x categories.

    A binary problem has one column, that of the second class; of a multi-label problem the classes are the
    numbers of the columns.
    """

    kind: Kind
    classes: NDArray[Any]
    columns: Bools

    def members(self) -> Bools:
        """Documents x classes: of a binary problem both, one column each."""
        return np.hstack([~self.columns, self.columns]) if self.kind == "binary" else self.columns


def read_labels(y: Any) -> Labels:
    """The labels of training documents; a ValueError where they are not of classification."""
    given: Any = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = column_or_1d(given, warn=True)
    check_classification_targets(given)
    if type_of_target(given) == "multilabel-indicator":
        return Labels("multilabel", np.arange(given.shape[1]), given != 0)
    if given.ndim != 1:
        raise ValueError("y with several columns must be an indicator matrix of 0 and 1")
    classes, numbers = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"there is only one class to learn, {classes.tolist()}, among the documents with a sample_weight "
            "above 0; a classifier needs two classes"
        )
    columns = numbers.reshape(-1, 1) == np.arange(len(classes))
    return (
        Labels("binary", classes, columns[:, 1:])
        if len(classes) == 2
        else Labels("multiclass", classes, columns)
    )


def named(kind: Kind, classes: NDArray[Any], accepted: Bools, scores: NDArray[np.float64]) -> NDArray[Any]:
    """Predictions as they were given for training: of one class a document the one with the highest score."""
    if kind == "multilabel":
        return accepted.astype(np.int64)
    chosen = accepted[:, 0].astype(np.intp) if kind == "binary" else np.argmax(scores, axis=1)
    return np.asarray(classes[chosen])
