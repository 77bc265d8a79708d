"""Checks of training data, and models written by earlier versions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.errors import BadDataError, UsageError
from textcat.experiment.steps.models import load_model, save_model
from textcat.learners.checks import as_documents, as_labels, check_one_category_each
from textcat.linear.model import LinearModel

GOLDEN = Path(__file__).parent / "golden"
X = np.array([[1.0, 0, 2], [0, 1, 1], [3, 1, 0], [0, 0, 1], [1, 2, 0]])


@pytest.mark.parametrize(
    ("name", "kind", "setting", "certificates"),
    [("linear_scorer", "svm-smo", ("tol", 1e-5), 2), ("multiclass_model", "multiclass", ("lam", 0.01), 0)],
)
def test_models_of_earlier_versions_are_read_and_written_anew(
    tmp_path: Path, name: str, kind: str, setting: tuple[str, float], certificates: int
) -> None:
    model = load_model(GOLDEN / name)
    assert isinstance(model, LinearModel)
    assert np.array_equal(model.scores(X), np.load(GOLDEN / name / "scores.npy"))
    assert model.kind == kind
    assert model.settings[setting[0]] == setting[1]
    assert [entry.violation for entry in model.certificate] == [None] * certificates
    save_model(tmp_path, model)
    old, new = (json.loads((folder / "model.json").read_text()) for folder in (GOLDEN / name, tmp_path))
    assert new["class"] == "LinearModel"
    assert new["certificate"] == old.get("certificate", [])
    assert new["settings"] == old.get("settings", old.get("parameters"))
    assert np.array_equal(load_model(tmp_path).scores(X), model.scores(X))


def test_a_value_that_is_not_finite_is_refused_with_its_row() -> None:
    with pytest.raises(BadDataError, match="document row 1"):
        as_documents(np.array([[1.0], [np.nan]]))


def test_duplicate_entries_are_summed_without_changing_the_given_matrix() -> None:
    given = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert as_documents(given).toarray() == [[3.0]]
    assert given.nnz == 2


def test_labels_are_bool_and_fit_the_documents() -> None:
    assert as_labels([0, 1], 2).tolist() == [[False], [True]]
    with pytest.raises(UsageError, match="must be bool"):
        as_labels(np.array([-1, 1]), 2)
    with pytest.raises(UsageError, match="shape"):
        as_labels(np.zeros((3, 1), dtype=bool), 2)
    with pytest.raises(UsageError, match="no documents"):
        as_labels(np.zeros((0, 1), dtype=bool), 0)


@pytest.mark.parametrize("wrong", [[[1, 1], [0, 1]], [[0, 0], [0, 1]], [[1], [1]]])
def test_every_document_has_exactly_one_of_at_least_two_categories(wrong: list[list[int]]) -> None:
    check_one_category_each([[1, 0], [0, 1]], 2)
    with pytest.raises(BadDataError, match="exactly one"):
        check_one_category_each(wrong, 2)
