"""A linear model: scores with dense and sparse weights, storage."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from tests.loops import for_each
from textcat.errors import BadDataError, UsageError
from textcat.linear.certificate import Certificate
from textcat.linear.model import LinearModel

COEF = np.array([[1.0, -2.0], [0.5, 0.0], [0.0, 0.0]])
INTERCEPT = np.array([0.1, 0.2])
CERTIFICATES = [
    Certificate(0.5, 1e-9, 1e-7, 12, 0.01, "optimality"),
    Certificate(None, None, None, 3, 0.0, "no mistakes"),
]
X = sp.csr_matrix([[1.0, 3.0, 0.0], [0.0, 0.0, 4.0]])


def stored_and_read(model: LinearModel) -> LinearModel:
    return LinearModel.from_arrays(model.to_arrays(), json.loads(json.dumps(model.describe())))


@for_each("weights", [np.asarray, sp.csc_matrix])
@for_each("documents", [sp.csr_matrix, lambda X: X.toarray()])
def test_scores_and_storage_do_not_depend_on_how_weights_are_held(weights, documents):
    model = LinearModel(weights(COEF), INTERCEPT, CERTIFICATES, {"lam": 1e-3}, kind="svm-smo")
    again = stored_and_read(model)
    expected = X.toarray() @ COEF + INTERCEPT
    for one in (model, again):
        assert one.scores(documents(X)).tolist() == expected.tolist()
    assert sp.issparse(again.coef) == sp.issparse(model.coef)
    assert again.describe() == model.describe()
    assert again.certificate == model.certificate


def test_a_joint_certificate_is_not_stored():
    model = LinearModel(COEF, INTERCEPT, settings={"learner": "softmax"}, joint_certificate=CERTIFICATES[0])
    assert "certificate" not in model.describe()
    assert stored_and_read(model).joint_certificate is None


def test_documents_with_another_vocabulary_are_refused():
    with pytest.raises(UsageError, match="2 features, the model was trained on 3"):
        LinearModel(COEF, INTERCEPT).scores(np.zeros((1, 2)))


@for_each("missing", ["coef", "intercept"])
def test_arrays_without_weights_are_refused(missing):
    arrays = {"coef": COEF, "intercept": INTERCEPT}
    with pytest.raises(BadDataError, match=f"without {missing}"):
        LinearModel.from_arrays({name: arrays[name] for name in arrays if name != missing}, {})


@for_each(
    "change",
    [
        {"coef.indices": np.array([0, 1, 9])},
        {"coef.indices": np.array([0.0, 1.0, 0.0])},
        {"coef.indptr": np.array([0, 2])},
        {"coef.indptr": np.array([0, 2, 99])},
        {"coef.indptr": np.array([0, 3, 2])},
        {"coef.data": np.array([1.0])},
        {"coef.shape": np.array([3])},
        {"coef.shape": np.array([1, 2])},
    ],
)
def test_sparse_arrays_that_form_no_matrix_are_refused(change):
    """Compiled kernels do not check positions."""
    arrays = LinearModel(sp.csc_matrix(COEF), INTERCEPT).to_arrays()
    with pytest.raises(BadDataError, match="no sparse matrix"):
        LinearModel.from_arrays(arrays | change, {})


@for_each("taken", [[False, False], [True, False], [True, True]])
def test_categories_are_taken_over_with_their_certificates(taken):
    one = LinearModel(COEF, INTERCEPT, CERTIFICATES, {"lam": 1}, kind="own")
    other = LinearModel(-COEF, -INTERCEPT, CERTIFICATES[::-1], {"lam": 2})
    mixed = one.replace_categories(other, np.array(taken))
    signs = np.where(taken, -1.0, 1.0)
    assert np.array_equal(mixed.coef, COEF * signs)
    assert np.array_equal(mixed.intercept, INTERCEPT * signs)
    assert list(mixed.certificate) == [
        CERTIFICATES[::-1][k] if taken[k] else CERTIFICATES[k] for k in range(2)
    ]
    assert (mixed.settings, mixed.kind) == ({"lam": 1}, "own")
