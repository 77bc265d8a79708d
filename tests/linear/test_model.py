"""A linear model: scores with dense and sparse weights, storage."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

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


@pytest.mark.parametrize("weights", [np.asarray, sp.csc_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("documents", [sp.csr_matrix, lambda X: X.toarray()], ids=["sparse", "dense"])
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


def test_a_learner_without_a_violation_stores_none():
    assert "violation" in CERTIFICATES[0].as_dict()
    assert list(CERTIFICATES[1].as_dict()) == ["objective", "gap", "passes", "seconds", "reason"]


@pytest.mark.parametrize(
    ("description", "settings", "certificates"),
    [
        ({"kind": "linear", "settings": {"loss": "logistic"}, "certificate": []}, {"loss": "logistic"}, 0),
        (
            {
                "kind": "svm-smo",
                "settings": {"lam": 0.5},
                "certificate": [
                    {"objective": None, "gap": None, "passes": 3, "seconds": 0.0, "reason": "no mistakes"}
                ],
            },
            {"lam": 0.5},
            1,
        ),
        ({"kind": "multiclass", "settings": {"learner": "softmax"}}, {"learner": "softmax"}, 0),
    ],
)
def test_descriptions_are_read(description, settings, certificates):
    model = LinearModel.from_arrays({"coef": COEF, "intercept": INTERCEPT}, description)
    assert (model.kind, model.settings) == (description["kind"], settings)
    assert len(model.certificate) == certificates


def test_documents_with_another_vocabulary_are_refused():
    with pytest.raises(UsageError, match="2 features, the model was trained on 3"):
        LinearModel(COEF, INTERCEPT).scores(np.zeros((1, 2)))


@pytest.mark.parametrize("missing", ["coef", "intercept"])
def test_arrays_without_weights_are_refused(missing):
    arrays = {"coef": COEF, "intercept": INTERCEPT}
    with pytest.raises(BadDataError, match=f"without {missing}"):
        LinearModel.from_arrays({name: arrays[name] for name in arrays if name != missing}, {})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_weights_keep_their_precision_and_form(dtype):
    weights = sp.csc_matrix(COEF.astype(dtype))
    again = stored_and_read(LinearModel(weights, INTERCEPT))
    assert again.coef.dtype == dtype
    assert (again.coef != weights).nnz == 0
    assert again.coef.shape == (3, 2)
    assert again.intercept.dtype == np.float64


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("weights", [np.asarray, sp.csc_matrix], ids=["dense", "sparse"])
def test_the_weights_of_a_category_are_a_dense_vector(weights):
    model = LinearModel(weights(COEF), INTERCEPT)
    for category in range(2):
        assert model.category_weights(category).tolist() == COEF[:, category].tolist()


@pytest.mark.parametrize("taken", [[False, False], [True, False], [True, True]])
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


def test_optional_fields_of_a_certificate_are_stored_only_where_they_are():
    pruned = Certificate(0.5, 0.0, 0.1, 2, 0.3, "optimality", 0.25, 0.0)
    assert pruned.as_dict() == {
        "objective": 0.5, "violation": 0.0, "gap": 0.1, "passes": 2, "seconds": 0.3, "reason": "optimality",
        "pruned_share": 0.25, "pruned_change": 0.0,
    }  # fmt: skip
    assert Certificate(**pruned.as_dict()) == pruned
    bare = Certificate(None)
    assert bare.as_dict() == {"objective": None, "gap": None, "passes": 0, "seconds": 0.0, "reason": ""}
    assert Certificate(**bare.as_dict()) == bare
