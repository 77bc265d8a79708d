"""TextCategorizer as scikit-learn users use it: clone, search, cross-validation, pipelines, pickles, wrong input."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import (
    check_estimator_cloneable,
    check_estimator_repr,
    check_estimator_tags_renamed,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    check_valid_tag_types,
)

from tests.experiment.own_table import table
from tests.loops import for_each
from textcat import Categorizer
from textcat.sklearn import TextCategorizer


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Any]:
    folder = tmp_path_factory.mktemp("rows")
    table(folder, documents=120, single=True)
    found = [line.split(",") for line in (folder / "documents.csv").read_text().splitlines()[1:]]
    return [row[1] for row in found], np.array([row[2] for row in found])


CHECKS = [
    check_estimator_cloneable,
    check_estimator_repr,
    check_estimator_tags_renamed,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    check_valid_tag_types,
]


@for_each("check", CHECKS)
def test_it_passes_the_checks_that_apply_to_text(check: Any) -> None:
    check("TextCategorizer", TextCategorizer())


def test_its_numbers_are_those_of_the_categorizer(rows: Any, tmp_path: Path) -> None:
    texts, y = rows
    fitted = TextCategorizer().fit(texts, y)
    theirs = Categorizer.fit(texts, y.tolist())
    assert fitted.classes_.tolist() == list(theirs.categories)
    assert np.array_equal(fitted.predict_proba(texts), theirs.predict_proba(texts))
    assert fitted.predict(texts).tolist() == theirs.predict(texts)
    assert fitted.score(texts, y) > 0.8
    fitted.save(tmp_path / "model")
    assert Categorizer.load(tmp_path / "model").predict(texts) == fitted.predict(texts).tolist()


@for_each("names", [[10, 9, 100], [0.5, 1.0, 2.0], [True, False, True], ["b", "a", "c"]])
def test_classes_keep_their_type_and_order(rows: Any, names: list[Any]) -> None:
    texts, y = rows
    targets = np.array([names[["red", "green", "blue"].index(label)] for label in y])
    if targets.dtype == float:
        targets = targets.astype(object)
        targets = np.array([str(value) for value in targets])
    fitted = TextCategorizer().fit(texts, targets)
    assert fitted.classes_.tolist() == sorted(set(targets.tolist()))
    assert fitted.predict(texts).dtype == targets.dtype
    assert (fitted.predict(texts) == targets).mean() > 0.8
    assert (
        fitted.classes_[fitted.predict_proba(texts).argmax(axis=1)].tolist() == fitted.predict(texts).tolist()
    )
    scores = fitted.decision_function(texts)
    assert scores.ndim == (1 if len(fitted.classes_) == 2 else 2)


def test_it_can_be_cloned_searched_pickled_and_put_in_a_pipeline(rows: Any) -> None:
    texts, y = rows
    search = GridSearchCV(
        TextCategorizer("linear", calibration=False),
        {"parameters": [{"loss": "logistic", "cost": 0.001}, {"loss": "logistic", "cost": 10}]},
        cv=3,
    ).fit(texts, y)
    assert search.best_params_ == {"parameters": {"loss": "logistic", "cost": 10}}
    assert cross_val_score(clone(search.best_estimator_), texts, y, cv=3).mean() > 0.6
    upper = make_pipeline(FunctionTransformer(lambda X: [text.upper() for text in X]), TextCategorizer())
    assert (upper.fit(texts, y).predict(texts) == TextCategorizer().fit(texts, y).predict(texts)).all()
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(texts) == search.best_estimator_.predict(texts)).all()


def test_wrong_input_is_a_value_error(rows: Any) -> None:
    texts, y = rows
    with pytest.raises(NotFittedError):
        TextCategorizer().predict(texts)
    for X, target, message in (
        ("one text", y, "sequence of texts"),
        (np.zeros((4, 2)), y[:4], "sequence of texts"),
        ([1, 2], y[:2], "document 0 is int"),
        ([], y[:0], "0 sample"),
        (texts[:3], y[:2], "inconsistent numbers"),
        (texts[:2], ["a", "a"], "only one class"),
        (texts[:2], None, "target y is None"),
        (texts[:2], [0.5, 1.5], "continuous"),
    ):
        with pytest.raises(ValueError, match=message):
            TextCategorizer().fit(X, target)
    with pytest.raises(ValueError, match="no learner"):
        TextCategorizer("svm").fit(texts, y)
    with pytest.raises(ValueError, match="give learner"):
        TextCategorizer(parameters={"cost": 1}).fit(texts, y)
    with pytest.raises(AttributeError, match="no probabilities"):
        hinge = {"loss": "squared_hinge", "cost": 1}
        TextCategorizer("linear", parameters=hinge, calibration=False).fit(texts, y).predict_proba(texts)


@for_each("method", ["temperature", "platt", "isotonic"])
def test_it_answers_as_its_saved_model(method: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    y = draw.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1])
    words = [draw.choice([f"{label}{k}" for k in range(9)] + list("pqrstuvw"), 4) for label in y]
    texts = [" ".join(each) for each in words]
    fitted = TextCategorizer(calibration={"method": method}).fit(texts, y)
    fitted.save(tmp_path / "model")
    unseen = [" ".join(draw.choice(["a1", "b2", "c3", *"pqrstuvw"], 3)) for _ in range(400)]
    answers = fitted.predict(unseen)
    assert answers.tolist() == Categorizer.load(tmp_path / "model").predict(unseen)
    by_score = fitted.classes_[fitted.decision_function(unseen).argmax(axis=1)]
    assert (answers == by_score).all() == (method == "temperature")
