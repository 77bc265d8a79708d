"""A sparse matrix whose indices point outside is refused at every public entry, in one message; a sound one is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import textcat.sklearn as estimators
from textcat.errors import BadDataError
from textcat.learners.gpd import GpdSettings, descend
from textcat.learners.label_tree_training import fit_label_tree
from textcat.learners.lsi import learn_axes
from textcat.learners.mfom import fit_mfom
from textcat.learners.mmlr_cg import fit_mmlr_cg
from textcat.learners.naive_bayes import fit_multiclass_naive_bayes, fit_naive_bayes
from textcat.learners.parameters import LabelTreeParameters
from textcat.learners.perceptron_tree import PerceptronSettings, fit_perceptron_trees
from textcat.learners.smo import fit_svm
from textcat.learners.softmax import fit_softmax
from textcat.learners.winnow import fit_dual_svm, fit_large_margin_winnow, fit_perceptron, fit_winnow
from textcat.linear import fit, fit_path
from textcat.selection import SCORES, SelectionSettings, score_features, select_features

ROWS = np.array(
    [[1, 0, 2, 0], [0, 1, 0, 1], [2, 0, 1, 0], [0, 2, 0, 1], [1, 0, 1, 0], [0, 1, 1, 2]], dtype=float
)
FIRST = np.array([True, False] * 3)
Y = np.column_stack([FIRST, ~FIRST])
SOUND = {form: partial(sp.csr_matrix(ROWS).asformat, form) for form in ("csr", "csc", "coo", "bsr", "lil")}
Entry = Callable[[Any], Any]


def damage(form: str, part: str, change: Callable[[np.ndarray], np.ndarray]) -> sp.spmatrix:
    matrix = sp.csr_matrix(ROWS).asformat(form, copy=True)
    setattr(matrix, part, change(getattr(matrix, part).copy()))
    return matrix


def put(place: int, value: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(values: np.ndarray) -> np.ndarray:
        values[place] = value
        return values

    return change


HOSTILE: dict[str, Callable[[], sp.spmatrix]] = {
    "counted from 1": partial(damage, "csr", "indices", lambda values: values + 1),
    "far": partial(damage, "csr", "indices", put(3, 2**31 - 1)),
    "negative": partial(damage, "csr", "indices", put(0, -1)),
    "far negative": partial(damage, "csr", "indices", put(0, -(2**31))),
    "no whole index": partial(damage, "csr", "indices", lambda values: values.astype(float)),
    "fewer indices": partial(damage, "csr", "indices", lambda values: values[:-1]),
    "fewer values": partial(damage, "csr", "data", lambda values: values[:-1]),
    "complex": partial(damage, "csr", "data", lambda values: values + 1j),
    "objects": partial(damage, "csr", "data", lambda values: values.astype(object)),
    "overlap": partial(damage, "csr", "indptr", put(2, 9)),
    "begins late": partial(damage, "csr", "indptr", put(0, 1)),
    "ends early": partial(damage, "csr", "indptr", put(-1, 5)),
    "ends far": partial(damage, "csr", "indptr", put(-1, 10**6)),
    "fewer rows": partial(damage, "csr", "indptr", lambda values: values[:-1]),
    "row of columns": partial(damage, "csc", "indices", put(-1, 6)),
    "column of places": partial(damage, "coo", "col", put(1, 4)),
    "row of places": partial(damage, "coo", "row", put(1, -1)),
    "block": partial(damage, "bsr", "indices", put(0, 10**6)),
}


def list_entries() -> dict[str, Entry]:
    """Each function that takes documents from outside, by name."""
    X = sp.csr_matrix(ROWS)
    descent, tree = GpdSettings(iterations=2), LabelTreeParameters(cost=1)
    found: dict[str, Entry] = {
        f"fit {name}": partial(fit, Y=Y, algorithm=name)
        for name in ("column", "row", "fast", "conjugate_gradient")
    }
    learners: dict[str, Entry] = {
        "fit_path": lambda M: fit_path(M, Y, [1e-2, 1e-3]),
        "jeffreys": lambda M: fit(M, Y, prior="jeffreys"),
        "pruned": lambda M: fit(M, Y, prune=0.01),
        "naive bayes 1": lambda M: fit_multiclass_naive_bayes(M, Y),
        "naive bayes 2": lambda M: fit_naive_bayes(M, Y),
        "smo": lambda M: fit_svm(M, Y, 0.1),
        "perceptron": lambda M: fit_perceptron(M, Y),
        "winnow": lambda M: fit_winnow(M, Y),
        "dual svm": lambda M: fit_dual_svm(M, Y, C=1.0),
        "large margin": lambda M: fit_large_margin_winnow(M, Y, C=1.0),
        "softmax": lambda M: fit_softmax(M, Y, algorithm="lbfgs"),
        "softmax dual": lambda M: fit_softmax(M, Y, algorithm="dual"),
        "mmlr_cg": lambda M: fit_mmlr_cg(M, Y),
        "mfom": lambda M: fit_mfom(M, Y, descent),
        "descent": lambda M: descend(M, Y, np.ones_like(Y), descent),
        "perceptron trees": lambda M: fit_perceptron_trees(M, Y, PerceptronSettings(3, 0.1)),
        "label tree": lambda M: fit_label_tree(M, Y, tree),
        "labels of a label tree": lambda M: fit_label_tree(ROWS, M, tree),
        "lsi": lambda M: learn_axes(M, 2),
        "selection": lambda M: select_features(M, Y, SelectionSettings(features=2)),
    }
    found |= learners
    found |= {f"score {name}": lambda M, name=name: score_features(name, M, Y) for name in SCORES}
    models = {name: learners[name](X) for name in ("pruned", "softmax", "perceptron trees", "label tree")}
    found |= {f"scores of {name}": model.scores for name, model in models.items()}
    found["projection"] = learners["lsi"](X).transform
    linear, joint = estimators.OneVsRestLinearClassifier(), estimators.PolytomousLinearClassifier()
    tuner = estimators.ThresholdTuner(LogisticRegression(), cv=2)
    for estimator in (
        linear,
        joint,
        tuner,
        estimators.FeatureSelector(features=2),
        estimators.TermWeighting(),
    ):
        name, fitted = type(estimator).__name__, clone(estimator).fit(X, FIRST)
        found[f"{name}.fit"] = lambda M, estimator=estimator: estimator.fit(M, FIRST)
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(fitted, method):
                found[f"{name}.{method}"] = getattr(fitted, method)
    found["labels of an estimator"] = lambda M: linear.fit(ROWS, M)
    return found


def attack(entry: Entry, matrix: Any) -> str:
    """Return "" if an entry refuses a matrix in one message, else what it did."""
    try:
        entry(matrix)
    except (BadDataError, ValueError) as error:
        return "" if "not a sound sparse matrix" in str(error) else str(error)
    return "it was accepted"


def test_every_entry_takes_sound_matrices_and_refuses_the_others() -> None:
    entries = list_entries()
    for name, entry in entries.items():
        if not name.startswith("labels"):
            entry(SOUND["csr"]())
        found = {each: what for each, make in HOSTILE.items() if (what := attack(entry, make()))}
        assert found == {}, name
    # TextCategorizer takes texts.
    attacked = {name.split(".")[0] for name in entries if "." in name}
    assert attacked == set(estimators.__all__) - {"TextCategorizer"}


@pytest.mark.parametrize("form", SOUND)
def test_every_format_is_taken(form: str) -> None:
    expected = fit(ROWS, Y).coef
    assert np.array_equal(fit(SOUND[form](), Y).coef, expected)
