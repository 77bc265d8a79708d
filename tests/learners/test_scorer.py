"""The linear model survives storage, and refuses what it was not trained for."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.errors import BadDataError, UsageError
from textcat.learners.checks import as_documents, as_labels
from textcat.learners.scorer import LinearScorer, ScorerCertificate


def test_a_model_comes_back_from_arrays_and_json_unchanged(tmp_path):
    model = LinearScorer(
        np.array([[1.0, -2.0], [0.5, 0.0]]),
        np.array([0.1, 0.2]),
        "svm-smo",
        {"lam": 1e-3},
        (
            ScorerCertificate(0.5, 1e-7, 12, 0.01, "gap reached"),
            ScorerCertificate(None, None, 3, 0.0, "no mistakes"),
        ),
    )
    np.savez(tmp_path / "model.npz", **model.to_arrays())
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        again = LinearScorer.from_arrays(dict(arrays), json.loads(json.dumps(model.describe())))
    X = sp.csr_matrix([[1.0, 3.0], [0.0, 0.0]])
    assert (again.scores(X) == model.scores(X.toarray())).all()
    assert again.describe() == model.describe()
    assert again.certificate == model.certificate


def test_a_document_of_another_vocabulary_is_refused():
    with pytest.raises(UsageError, match="3 features, the model was trained on 2"):
        LinearScorer(np.zeros((2, 1)), np.zeros(1), "any").scores(np.zeros((1, 3)))


def test_arrays_without_weights_are_refused():
    with pytest.raises(BadDataError, match="without coef"):
        LinearScorer.from_arrays({"intercept": np.zeros(1)}, {"kind": "any"})


def test_a_value_that_is_not_finite_is_refused_with_its_row():
    with pytest.raises(BadDataError, match="document row 1"):
        as_documents(np.array([[1.0], [np.nan]]))


def test_duplicate_entries_are_summed_without_touching_the_callers_matrix():
    given = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert as_documents(given).toarray() == [[3.0]]
    assert given.nnz == 2


def test_labels_must_be_true_or_false():
    with pytest.raises(UsageError, match="must be bool"):
        as_labels(np.array([-1, 1]), 2)
    assert as_labels([0, 1], 2).tolist() == [[False], [True]]
