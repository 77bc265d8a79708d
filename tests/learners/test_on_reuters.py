"""The learners on real stories: optimality against scikit-learn, and what zhang_2000 saw of the Winnows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from tests.learners.reuters_words import binary_words
from textcat.learners.naive_bayes import fit_multiclass_naive_bayes, fit_naive_bayes
from textcat.learners.smo import fit_svm
from textcat.learners.winnow import fit_dual_svm, fit_large_margin_winnow, fit_perceptron, fit_winnow

TOPICS = ["earn", "acq", "crude", "corn", "no such topic"]


@pytest.fixture(scope="module")
def problem(mirror):
    X, Y = binary_words(mirror, TOPICS)
    assert Y[:, :4].sum(axis=0).min() > 10
    return X, Y


def test_the_free_threshold_svm_has_libsvms_objective(problem):
    X, Y = problem
    lam = 1e-3
    model = fit_svm(X, Y, lam, tol=1e-8)
    for k in range(4):
        machine = SVC(kernel="linear", C=1 / (2 * lam * len(Y)), tol=1e-8).fit(X, Y[:, k])
        weights = machine.coef_.toarray().ravel()
        dual = 2 * lam * (np.abs(machine.dual_coef_).sum() - weights @ weights / 2)
        assert model.certificate[k].objective == pytest.approx(dual, rel=1e-6)
        assert model.certificate[k].gap <= 1e-8 * model.certificate[k].objective
    assert not model.coef[:, 4].any()
    assert (model.scores(X)[:, 4] == -1).all()


def test_both_winnows_make_the_same_mistakes(problem):
    X, Y = problem
    plain, normalized = fit_winnow(X, Y, passes=30), fit_winnow(X, Y, normalized=True, passes=30)
    for k in range(5):
        scale = plain.coef[:, k] @ normalized.coef[:, k] / max(plain.coef[:, k] @ plain.coef[:, k], 1e-300)
        np.testing.assert_allclose(normalized.coef[:, k], scale * plain.coef[:, k], atol=1e-12)
    assert [e.passes for e in plain.certificate] == [e.passes for e in normalized.certificate]


@pytest.mark.parametrize("normalized", [False, True])
def test_large_margin_winnow_closes_its_gap(problem, normalized):
    X, Y = problem
    few, many = (
        fit_large_margin_winnow(X, Y, C=0.3, normalized=normalized, passes=passes) for passes in (5, 60)
    )
    for early, late in zip(few.certificate, many.certificate, strict=True):
        assert 0 <= late.gap < 0.15 * late.objective + 1e-9
        assert late.gap < early.gap or late.gap < 1e-6


def test_every_learner_fits_the_stories_it_was_trained_on(problem):
    X, Y = problem
    models = {
        "naive Bayes 2": fit_naive_bayes(X, Y),
        "SVM": fit_svm(X, Y),
        "Perceptron": fit_perceptron(X, Y),
        "SVM by dual ascent": fit_dual_svm(X, Y, C=0.05, passes=50),
        "UWin": fit_winnow(X, Y),
        "LM-UWin": fit_large_margin_winnow(X, Y, C=0.3, passes=50),
        "LM-NWin": fit_large_margin_winnow(X, Y, C=0.3, normalized=True, passes=50),
    }
    for name, model in models.items():
        scores = model.scores(X)
        for k in range(4):
            positives = int(Y[:, k].sum())
            top = np.argsort(-scores[:, k], kind="stable")[:positives]
            assert Y[top, k].mean() > 0.85, (name, TOPICS[k])


def test_multiclass_naive_bayes_finds_the_class_of_stories_that_have_one(problem):
    X, Y = problem
    single = Y[:, :3].sum(axis=1) == 1
    model = fit_multiclass_naive_bayes(X[single], Y[single, :3])
    assert (model.scores(X[single]).argmax(axis=1) == Y[single, :3].argmax(axis=1)).mean() > 0.97
