"""What all estimators share: checks of documents, labels and weights, and the base of linear classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from textcat.errors import TextcatError
from textcat.linear.model import LinearModel
from textcat.linear.regularization import lam_from_c
from textcat.matrices import check_matrix

Floats = NDArray[np.float64]
SettingsModel = TypeVar("SettingsModel", bound=BaseModel)
Bools = NDArray[np.bool_]
TargetKind = Literal["binary", "multiclass", "multilabel"]


@dataclass(frozen=True)
class TargetLabels:
    """The kind of problem, its classes in sorted order, and the labels, documents x categories.

    A binary problem has one column, for the second class. The classes of a multi-label problem are the numbers
    of the columns.
    """

    kind: TargetKind
    classes: NDArray[Any]
    columns: Bools

    def members(self) -> Bools:
        """Return labels, documents x classes, with both classes of a binary problem."""
        return np.hstack([~self.columns, self.columns]) if self.kind == "binary" else self.columns


def read_labels(y: Any) -> TargetLabels:
    """Read the labels of training documents. Raise ValueError if they are not for classification."""
    given: Any = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = column_or_1d(given, warn=True)
    check_classification_targets(given)
    if type_of_target(given) == "multilabel-indicator":
        # Scikit-learn calls any matrix of two numbers so, as of -1 and 1.
        if not np.isin(given, (0, 1)).all():
            raise ValueError("y with several columns must be an indicator matrix of 0 and 1")
        return TargetLabels("multilabel", np.arange(given.shape[1]), given != 0)
    if given.ndim != 1:
        raise ValueError("y with several columns must be an indicator matrix of 0 and 1")
    classes, numbers = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"the documents with a sample_weight above 0 have only one class, {classes.tolist()}; a classifier "
            "needs two classes"
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
    """Return predictions in the form of the training labels; of several classes the highest score wins."""
    if kind == "multilabel":
        return accepted.astype(np.int64)
    chosen = accepted[:, 0].astype(np.intp) if kind == "binary" else np.argmax(scores, axis=1)
    return np.asarray(classes[chosen])


@contextmanager
def raise_value_errors() -> Iterator[None]:
    """Raise errors of textcat as ValueError, as scikit-learn's users expect."""
    try:
        yield
    except TextcatError as error:
        raise ValueError(str(error)) from error


def refuse_unsound(**given: Any) -> None:
    """Raise ValueError for a sparse matrix whose indices scikit-learn and scipy would trust."""
    with raise_value_errors():
        for name, value in given.items():
            check_matrix(value, name)


def check_training_documents(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return checked X (float64, dense or CSR) and y; record the names and the number of features."""
    refuse_unsound(X=X, y=y)
    checked: tuple[Any, Any] = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, reset=True
    )
    return checked


def validate_settings(kind: type[SettingsModel], **given: Any) -> SettingsModel:
    """Return settings of textcat from an estimator's parameters. Report all wrong ones in one line."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        faults = [f"{fault['loc'][0]}={fault['input']!r}: {fault['msg'].lower()}" for fault in error.errors()]
        raise ValueError("; ".join(dict.fromkeys(faults))) from error


def copy_as_canonical(X: Any) -> sp.csr_array:
    """Return a CSR copy with sorted indices and no duplicate entries."""
    matrix = sp.csr_array(X, copy=True)
    matrix.sum_duplicates()
    return matrix


def convert_cost(C: float, total: float, prior: str) -> float:
    """Return the lam of cost C for documents of this total weight."""
    if not C > 0:
        raise ValueError(f"C must be above 0, not {C}")
    return lam_from_c(C, total, "laplace" if prior == "laplace" else "gaussian")


def check_sample_weights(given: Any, documents: int) -> Floats | None:
    """Return the weights, one per document, at least 0 and not all 0."""
    if given is None:
        return None
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (documents,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; it must be 1D with one number for each of {documents} documents"
        )
    if (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, and not zero for all documents")
    return np.asarray(weights)


def compute_class_weights(
    given: str | Mapping[Any, float] | None, labels: TargetLabels, weights: Floats | None
) -> Floats | None:
    """Return the weights of documents with one class each, times the weight of their class.

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
        unknown = set(given) - set(labels.classes.tolist())
        if unknown:
            raise ValueError(f"class_weight names {sorted(map(str, unknown))}, which no document has")
        by_class = np.array([given.get(name, 1.0) for name in labels.classes.tolist()], dtype=np.float64)
        if not (np.isfinite(by_class) & (by_class >= 0)).all():
            raise ValueError(f"class_weight must have weights of 0 or more, not {dict(given)!r}")
    else:
        raise ValueError(f'class_weight must be "balanced", weights by class or None, not {given!r}')
    return np.asarray(ones * (members @ by_class))


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that wrap a function which returns a `LinearModel`."""

    model_: LinearModel
    _kind: TargetKind

    def _read_training_set(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, TargetLabels, Floats | None]:
        """Return checked documents, labels and weights without the documents of weight 0."""
        X, y = check_training_documents(self, X, y)
        weights = check_sample_weights(sample_weight, X.shape[0])
        if weights is not None and not weights.all():
            kept = weights > 0
            X, y, weights = X[kept], y[kept], weights[kept]
        return X, read_labels(y), weights

    def _keep_model(self, model: LinearModel, labels: TargetLabels, certificate: Any) -> None:
        """Set the fitted attributes."""
        self.model_ = model
        self._kind = labels.kind
        self.classes_ = labels.classes
        self.coef_ = np.ascontiguousarray(model.coef.T)
        self.intercept_ = model.intercept
        self.certificate_ = certificate

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        refuse_unsound(X=X)
        documents = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.model_.scores(documents)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
