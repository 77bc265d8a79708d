"""A categorizer of raw text as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from textcat.errors import UsageError
from textcat.serving.categorizer import Categorizer
from textcat.sklearn.validation import Floats, raise_value_errors


class TextCategorizer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify raw texts, one class each: count words, weigh them, train, and calibrate on held-out scores.

    learner, parameters, text, vector, selection and calibration are the keys of a run in an experiment file; None
    means the settings that `textcat init` writes, and `calibration=False` leaves the calibration out. The numbers
    are those of `textcat.Categorizer.fit`.

    Fitted: classes_, categorizer_ (a `textcat.Categorizer`, whose `save` writes a model directory).
    """

    def __init__(
        self,
        learner: str | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        text: Mapping[str, Any] | None = None,
        vector: Mapping[str, Any] | None = None,
        selection: Mapping[str, Any] | None = None,
        calibration: Mapping[str, Any] | bool | None = None,
        random_state: int = 1,
        n_jobs: int = 1,
    ) -> None:
        self.learner = learner
        self.parameters = parameters
        self.text = text
        self.vector = vector
        self.selection = selection
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> TextCategorizer:
        """Train on texts and their classes."""
        texts = _check_texts(X)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        targets = column_or_1d(y, warn=True)
        check_classification_targets(targets)
        if len(targets) != len(texts):
            raise ValueError(
                f"inconsistent numbers of samples: {len(texts)} texts and {len(targets)} classes"
            )
        self.classes_, numbers = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the documents have only one class, {self.classes_.tolist()}; two are needed")
        names = [str(name) for name in self.classes_.tolist()]
        if len(set(names)) < len(names):
            raise ValueError("two classes have the same text")
        with raise_value_errors():
            self.categorizer_ = Categorizer.fit(
                texts,
                [names[k] for k in numbers],
                self._make_settings(),
                seed=self.random_state,
                jobs=effective_n_jobs(self.n_jobs),
            )
        # The categories of the model are sorted as texts, classes by their own order.
        order = {name: column for column, name in enumerate(self.categorizer_.categories)}
        self._columns = np.array([order[name] for name in names])
        return self

    def _make_settings(self) -> dict[str, Any]:
        if self.learner is None and self.parameters is not None:
            raise ValueError("parameters are those of a learner: give learner, too")
        keys = ("learner", "parameters", "text", "vector", "selection")
        found = {key: value for key in keys if (value := getattr(self, key)) is not None}
        if self.calibration is False:
            found["calibration"] = None
        elif isinstance(self.calibration, Mapping):
            found["calibration"] = dict(self.calibration)
        return found

    def decision_function(self, X: Any) -> Floats:
        """Return scores, texts x classes; for two classes, the second's minus the first's."""
        check_is_fitted(self)
        texts = _check_texts(X)
        documents = self.categorizer_.make_documents(texts)
        scores = self.categorizer_.scores(documents)[:, self._columns]
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each text, by the decision rule of the saved model: the most probable one."""
        check_is_fitted(self)
        accepted = self.categorizer_.decisions(
            self.categorizer_.scores(self.categorizer_.make_documents(_check_texts(X)))
        )
        return np.asarray(self.classes_[accepted[:, self._columns].argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities, texts x classes; those of a text sum to 1."""
        check_is_fitted(self)
        try:
            return self.categorizer_.predict_proba(_check_texts(X))[:, self._columns]
        except UsageError as error:
            raise AttributeError(str(error)) from error

    def save(self, folder: str | Path) -> None:
        """Write a model directory, for `textcat predict` and `textcat.Categorizer.load`."""
        check_is_fitted(self)
        self.categorizer_.save(folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _check_texts(X: Any) -> list[str]:
    """Return texts as a list; raise ValueError for anything but a sequence of texts."""
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1:
        raise ValueError("X must be a sequence of texts, one for each document")
    texts = list(X)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"document {number} is {type(text).__name__}, not text")
    if not texts:
        raise ValueError("found array with 0 sample(s) while a minimum of 1 is required")
    return [str(text) for text in texts]
