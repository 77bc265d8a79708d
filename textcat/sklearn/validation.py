"""What all estimators share: checked documents, labels, sample and class weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from textcat.errors import TextcatError

Bools = NDArray[np.bool_]
TargetKind = Literal["binary", "multiclass", "multilabel"]


@dataclass(frozen=True)
class TargetLabels:
    """What kind of problem it is, its classes in sorted order, and documents x categories.

    A binary problem has one column, that of the second class; of a multi-label problem the classes are the
    numbers of the columns.
    """

    kind: TargetKind
    classes: NDArray[Any]
    columns: Bools

    def members(self) -> Bools:
        """Documents x classes: of a binary problem both, one column each."""
        return np.hstack([~self.columns, self.columns]) if self.kind == "binary" else self.columns


def read_labels(y: Any) -> TargetLabels:
    """The labels of training documents; a ValueError where they are not of classification."""
    given: Any = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = column_or_1d(given, warn=True)
    check_classification_targets(given)
    if type_of_target(given) == "multilabel-indicator":
        return TargetLabels("multilabel", np.arange(given.shape[1]), given != 0)
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
        TargetLabels("binary", classes, columns[:, 1:])
        if len(classes) == 2
        else TargetLabels("multiclass", classes, columns)
    )


def format_predictions(
    kind: TargetKind, classes: NDArray[Any], accepted: Bools, scores: NDArray[np.float64]
) -> NDArray[Any]:
    """Predictions as they were given for training: of one class a document the one with the highest score."""
    if kind == "multilabel":
        return accepted.astype(np.int64)
    chosen = accepted[:, 0].astype(np.intp) if kind == "binary" else np.argmax(scores, axis=1)
    return np.asarray(classes[chosen])


Floats = NDArray[np.float64]
SettingsModel = TypeVar("SettingsModel", bound=BaseModel)


@contextmanager
def raise_value_errors() -> Iterator[None]:
    """Turn a message of textcat into the ValueError that scikit-learn's users expect."""
    try:
        yield
    except TextcatError as error:
        raise ValueError(str(error)) from error


def check_training_documents(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """X as float64, dense or CSR, and y as it came, both checked; the names of features are noted."""
    checked: tuple[Any, Any] = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, reset=True
    )
    return checked


def check_new_documents(estimator: Any, X: Any) -> Any:
    """Documents for an estimator that was fitted, with the same features."""
    check_is_fitted(estimator)
    return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=False)


def validate_settings(kind: type[SettingsModel], **given: Any) -> SettingsModel:
    """Settings of textcat from an estimator's parameters; what is wrong with them is one line."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        faults = [f"{fault['loc'][0]}={fault['input']!r}: {fault['msg'].lower()}" for fault in error.errors()]
        raise ValueError("; ".join(dict.fromkeys(faults))) from error


def copy_as_canonical(X: Any) -> sp.csr_array:
    """A copy as CSR with sorted indices and each entry once."""
    matrix = sp.csr_array(X, copy=True)
    matrix.sum_duplicates()
    return matrix


def count_stored_values(X: Any) -> int:
    """How many values a matrix stores."""
    return int(getattr(X, "nnz", X.size))


def drop_zero_weight_documents(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
    """Without the documents of weight 0, and the weights of the others."""
    weights = check_sample_weights(sample_weight, X.shape[0])
    if weights is None or weights.all():
        return X, y, weights
    return X[weights > 0], y[weights > 0], weights[weights > 0]


def check_sample_weights(given: Any, documents: int) -> Floats | None:
    """One weight of 0 or more a document, not all of them 0."""
    if given is None:
        return None
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (documents,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; it must be 1D, one number for each of {documents} documents"
        )
    if (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, and not zero for all documents")
    return np.asarray(weights)


def compute_class_weights(
    given: str | Mapping[Any, float] | None, labels: TargetLabels, weights: Floats | None
) -> Floats | None:
    """The weights of documents that carry one class each, times the weight of their class.

    "balanced" gives each class the same total.
    """
    if given is None:
        return weights
    ones = np.ones(len(labels.columns)) if weights is None else weights
    members = labels.members()
    if given == "balanced":
        totals = ones @ members
        by_class = ones.sum() / (len(totals) * np.where(totals > 0, totals, 1.0))
    elif isinstance(given, Mapping):
        strange = set(given) - set(labels.classes.tolist())
        if strange:
            raise ValueError(f"class_weight names {sorted(map(str, strange))}, which no document has")
        by_class = np.array([given.get(name, 1.0) for name in labels.classes.tolist()], dtype=np.float64)
    else:
        raise ValueError(f'class_weight is "balanced", a mapping of weights by class or None, not {given!r}')
    return np.asarray(ones * (members @ by_class))
