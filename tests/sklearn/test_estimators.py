"""The estimators as scikit-learn users use them: pipelines, searches, pandas, sparse input, pickles, names."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.learners.softmax import fit_softmax
from textcat.linear import fit
from textcat.linear.regularization import lam_from_c
from textcat.selection import SelectionSettings, select_features
from textcat.sklearn import (
    FeatureSelector,
    OneVsRestLinearClassifier,
    PolytomousLinearClassifier,
    TermWeighting,
    ThresholdTuner,
)
from textcat.text.counting import count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings


def topics(documents: int = 240, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray[Any, Any]]:
    """Counts of 60 terms and indicators of 4 topics, of which a document may have several or none."""
    rng = np.random.default_rng(seed)
    Y = rng.random((documents, 4)) < 0.25
    rates = np.full((documents, 60), 0.15) + Y @ np.kron(np.eye(4), np.full((1, 15), 0.6))
    return sp.csr_matrix(rng.poisson(rates)), Y.astype(int)


X, Y = topics()
ONE = Y.argmax(axis=1)
ESTIMATORS = [
    OneVsRestLinearClassifier(),
    PolytomousLinearClassifier(),
    FeatureSelector(features=20),
    TermWeighting(),
    ThresholdTuner(OneVsRestLinearClassifier()),
]


@for_each("algorithm", ["fast", "column", "row", "conjugate_gradient"])
@for_each("C", [0.1, 10.0])
def test_the_numbers_are_those_of_fit(algorithm: str, C: float) -> None:
    ours = OneVsRestLinearClassifier(algorithm=algorithm, C=C, tol=1e-6).fit(X, Y)
    model = fit(X, Y, lam=lam_from_c(C, len(Y)), algorithm=algorithm, tol=1e-6)
    assert np.array_equal(ours.coef_, model.coef.T)
    assert np.array_equal(ours.intercept_, model.intercept)
    assert np.array_equal(ours.decision_function(X), model.scores(X))
    assert ours.certificate_[0].objective == model.certificate[0].objective


@for_each("prior", ["gaussian", "laplace"])
def test_the_numbers_are_those_of_fit_softmax(prior: Any) -> None:
    ours = PolytomousLinearClassifier(prior, C=3.0, tol=1e-9).fit(X, ONE)
    labels = np.arange(4) == ONE[:, None]
    dense = sp.csr_matrix(X, dtype=float)
    model = fit_softmax(dense, labels, prior=prior, lam=lam_from_c(3.0, len(Y), prior), tol=1e-9)
    assert np.array_equal(ours.coef_, model.coef.T)


def test_weights_are_repeated_documents_for_the_softmax_too() -> None:
    weights = np.arange(len(ONE)) % 3
    weighted = PolytomousLinearClassifier(class_weight={0: 2.0}).fit(X, ONE, weights)
    again = np.repeat(np.arange(len(ONE)), weights * np.where(ONE == 0, 2, 1))
    repeated = PolytomousLinearClassifier().fit(X[again], ONE[again])
    assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    assert weighted.certificate_.gap < 1e-9


@for_each("weighting", ["binary", "tf", "log_tf", "tf_idf", "log_tf_idf", "entropy_share", "bm25"])
def test_weights_of_terms_are_those_of_the_vectorizer(weighting: Any) -> None:
    documents = [_document(k, text) for k, text in enumerate(["a b b c", "b c c d", "a a a e", "d"])]
    counted = count_terms(documents, TextSettings(fields=("body",)))
    vectorizer = Vectorizer.fit(counted, settings=VectorSettings(weighting=weighting, cosine=True))
    ours = TermWeighting(weighting).fit_transform(counted.counts)
    assert isinstance(ours, sp.csr_array)
    assert np.array_equal(ours.toarray(), vectorizer.transform(counted).toarray())
    assert np.array_equal(TermWeighting(weighting).fit_transform(counted.counts.toarray()), ours.toarray())


def _document(number: int, text: str) -> Any:
    from textcat.corpora import Document

    return Document(str(number), {"body": text}, (), "train")


@for_each("rank_by", ["gini_gain", "information_gain", "bi_normal_separation", "pearson"])
def test_selected_features_are_those_of_select(rank_by: Any) -> None:
    ours = FeatureSelector(rank_by, 12, scope="mean").fit(X, Y)
    mask = select_features(
        sp.csr_array(X), Y > 0, SelectionSettings(score=rank_by, features=12, scope="mean")
    )
    assert np.array_equal(ours.get_support(), mask[:, 0])
    assert np.array_equal(ours.transform(X).toarray(), X.toarray()[:, mask[:, 0]])


@for_each("rule", ["tuned", "scut", "break-even", "scut-fbr", "rcut", "pcut", "expected-f1", "default"])
@for_each("inner", [OneVsRestLinearClassifier(), RandomForestClassifier(20, random_state=0)])
@for_each("cv", [5, None])
def test_every_rule_with_any_scores(rule: str, inner: Any, cv: int | None) -> None:
    predicted = ThresholdTuner(inner, rule=rule, cv=cv).fit(X, Y).predict(X)
    assert predicted.shape == Y.shape
    assert f1_score(Y, predicted, average="micro") > 0.5
    if rule == "rcut":
        assert set(predicted.sum(axis=1)) == {1}


def test_weights_reach_the_estimator_of_a_tuner() -> None:
    weights = np.where(ONE == 0, 5.0, 1.0)
    tuner = ThresholdTuner(LogisticRegression()).fit(X, ONE == 0, sample_weight=weights)
    alone = LogisticRegression().fit(X, ONE == 0, sample_weight=weights)
    assert np.array_equal(tuner.estimator_.coef_, alone.coef_)
    with config_context(enable_metadata_routing=True):
        asked = LogisticRegression().set_fit_request(sample_weight=True)
        routed = ThresholdTuner(asked).fit(X, ONE == 0, sample_weight=weights)
    assert np.array_equal(routed.thresholds_, tuner.thresholds_)


def test_a_pipeline_and_a_grid_search() -> None:
    pipeline = make_pipeline(
        TermWeighting(), FeatureSelector(features=30), ThresholdTuner(OneVsRestLinearClassifier(), cv=2)
    )
    grid = {
        "termweighting__weighting": ["binary", "log_tf_idf"],
        "featureselector__features": [10, "all"],
        "thresholdtuner__estimator__C": [0.1, 10.0],
    }
    search = GridSearchCV(pipeline, grid, cv=2, scoring="f1_micro", error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.5
    assert f1_score(Y, search.predict(X), average="micro") > 0.7


def test_pandas_in_and_pandas_out() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"term{k}" for k in range(X.shape[1])]
    frame = pandas.DataFrame(X.toarray(), columns=names)
    labels = pandas.DataFrame(Y, columns=list("abcd"))
    selector = FeatureSelector(features=5).set_output(transform="pandas").fit(frame, labels)
    assert list(selector.transform(frame).columns) == list(selector.get_feature_names_out())
    assert set(selector.get_feature_names_out()) < set(names)
    weighting = TermWeighting().set_output(transform="pandas").fit(frame)
    assert list(weighting.transform(frame).columns) == names
    model = OneVsRestLinearClassifier().fit(frame, labels)
    assert list(model.feature_names_in_) == names
    assert np.allclose(
        model.decision_function(frame), OneVsRestLinearClassifier().fit(X, Y).decision_function(X)
    )
    assert ThresholdTuner(model, cv=2).fit(frame, labels).predict(frame).shape == Y.shape


@for_each("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, np.asarray])
def test_any_matrix_gives_the_same(kind: Any) -> None:
    given = kind(X.toarray())
    expected = OneVsRestLinearClassifier().fit(X, Y).decision_function(X)
    assert np.allclose(
        OneVsRestLinearClassifier().fit(given, sp.csr_matrix(Y)).decision_function(given), expected
    )


@for_each("estimator", ESTIMATORS)
def test_clones_and_pickles(estimator: Any) -> None:
    labels = ONE if isinstance(estimator, PolytomousLinearClassifier) else Y
    fitted = clone(estimator).fit(X, labels)
    method = "predict" if hasattr(fitted, "predict") else "transform"
    stream = io.BytesIO()
    joblib.dump(fitted, stream)
    stream.seek(0)
    for again in (joblib.load(stream), pickle.loads(pickle.dumps(fitted))):
        one, other = getattr(fitted, method)(X), getattr(again, method)(X)
        assert np.array_equal(
            one.toarray() if sp.issparse(one) else one, other.toarray() if sp.issparse(other) else other
        )


@for_each(
    ("estimator", "message"),
    [
        (OneVsRestLinearClassifier("hinge", "laplace"), "hinge loss has a corner"),
        (OneVsRestLinearClassifier("quartic"), "no loss 'quartic'"),
        (OneVsRestLinearClassifier(C=-1), "C must be above 0"),
        (OneVsRestLinearClassifier(features=0), "features=0"),
        (FeatureSelector("luck"), "score='luck'"),
        (ThresholdTuner(OneVsRestLinearClassifier(), rule="luck"), "rule='luck'"),
    ],
)
def test_impossible_parameters_are_value_errors_in_one_line(estimator: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as caught:
        estimator.fit(X, Y)
    assert not isinstance(caught.value, UsageError)


def test_textcat_does_not_import_scikit_learn_unless_asked() -> None:
    code = "import sys, textcat.cli.stage_commands, textcat.linear; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
