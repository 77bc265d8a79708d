"""Real categories of Reuters-21578 against liblinear and a direct least-squares solution."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.linear.oracle import objective
from textcat.linear import fit, load_named_learners
from textcat.linear.regularization import lam_from_c

CATEGORIES = ("earn", "acq", "crude", "grain", "ship")


@dataclass(frozen=True)
class Collection:
    binary: sp.csr_matrix
    weighted: sp.csr_matrix
    Y: np.ndarray


def words_and_topics(text: str) -> list[tuple[set[str], list[str]]]:
    found = []
    for block in re.findall(r"<REUTERS TOPICS=\"YES\".*?</REUTERS>", text, re.DOTALL):
        topics = re.findall(r"<D>(.*?)</D>", re.findall(r"<TOPICS>(.*?)</TOPICS>", block)[0])
        body = re.search(r"<BODY>(.*?)</BODY>", block, re.DOTALL)
        found.append((set(re.findall("[a-z]+", body.group(1).lower() if body else "")), topics))
    return found


@pytest.fixture(scope="module")
def reuters(mirror: Path) -> Collection:
    with tarfile.open(mirror / "reuters21578.tar.gz") as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("reut2-003.sgm"))
        handle = archive.extractfile(member)
        assert handle is not None
        documents = words_and_topics(handle.read().decode("latin-1"))
    occurrence = Counter(word for words, _ in documents for word in words)
    terms = {word: j for j, word in enumerate(sorted(w for w, k in occurrence.items() if k >= 3))}
    rows = [(i, terms[w]) for i, (words, _) in enumerate(documents) for w in words if w in terms]
    shape = (len(documents), len(terms))
    at = tuple(np.array(rows).T)
    binary = sp.csr_matrix((np.ones(len(rows)), at), shape=shape)
    idf = np.log((shape[0] + 1) / (np.asarray(binary.sum(axis=0)).ravel() + 1))
    weighted = sp.csr_matrix(binary.multiply(idf))
    norm = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    weighted = sp.csr_matrix(sp.diags(1 / np.where(norm > 0, norm, 1)) @ weighted)
    Y = np.array([[c in topics for c in CATEGORIES] for _, topics in documents])
    assert shape[0] > 500
    assert (Y.sum(axis=0) >= 5).all()
    return Collection(binary, weighted, Y)


def peer(loss: str, prior: str, C: float) -> Any:
    common = {"C": C, "fit_intercept": False, "tol": 1e-9, "max_iter": 100_000, "random_state": 0}
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", l1_ratio=1.0 if prior == "laplace" else 0.0, **common)
    if loss == "squared_hinge":
        penalty = "l1" if prior == "laplace" else "l2"
        return LinearSVC(loss="squared_hinge", penalty=penalty, dual=False, **common)
    return LinearSVC(loss="hinge", dual=True, **common)


@pytest.mark.parametrize(
    ("loss", "prior", "algorithm", "C"),
    [
        ("logistic", "gaussian", "column", 1.0),
        ("logistic", "gaussian", "row", 1.0),
        ("logistic", "gaussian", "conjugate_gradient", 1.0),
        ("logistic", "laplace", "column", 10.0),
        ("squared_hinge", "gaussian", "column", 1.0),
        ("squared_hinge", "gaussian", "row", 1.0),
        ("squared_hinge", "gaussian", "conjugate_gradient", 1.0),
        ("squared_hinge", "laplace", "column", 1.0),
        ("hinge", "gaussian", "row", 1.0),
    ],
)
def test_objective_within_a_millionth_of_liblinear(
    reuters: Collection, loss: str, prior: str, algorithm: str, C: float
) -> None:
    X, n = reuters.weighted, reuters.weighted.shape[0]
    lam = lam_from_c(C, n, prior)
    model = fit(X, reuters.Y, loss=loss, prior=prior, algorithm=algorithm, lam=lam, tol=5e-7, max_passes=3000)
    constant = sp.hstack([X, np.ones((n, 1))]).tocsr()
    for k in range(len(CATEGORIES)):
        y = np.where(reuters.Y[:, k], 1.0, -1.0)
        theirs = objective(loss, constant, y, peer(loss, prior, C).fit(constant, y).coef_[0], lam, prior)
        ours = objective(loss, constant, y, np.append(model.coef[:, k], model.intercept[k]), lam, prior)
        assert model.certificate[k].reason == "optimality"
        assert ours <= theirs * (1 + 1e-6)


def test_least_squares_within_a_millionth_of_the_normal_equations(reuters: Collection) -> None:
    X, n = reuters.weighted, reuters.weighted.shape[0]
    constant = np.hstack([X.toarray(), np.ones((n, 1))])
    inverse = np.linalg.inv(constant.T @ constant / n + 1e-3 * np.eye(constant.shape[1]))
    signs = np.where(reuters.Y, 1.0, -1.0)
    exact = inverse @ (constant.T @ signs / n)
    for algorithm in ("column", "row", "conjugate_gradient"):
        model = fit(X, reuters.Y, loss="squared", algorithm=algorithm, lam=1e-3, tol=5e-7, max_passes=3000)
        for k in range(len(CATEGORIES)):
            least = objective("squared", constant, signs[:, k], exact[:, k], 1e-3)
            assert model.certificate[k].objective <= least * (1 + 1e-6)


@pytest.mark.parametrize("name", ["CLS", "CMLS", "CLG", "modified-SVM", "CLG-lasso"])
def test_single_precision_scores_as_double_does(reuters: Collection, name: str) -> None:
    """A fixed number of passes over binary words: what the papers ran, in both precisions."""
    settings = {"lam": 1e-3, **load_named_learners()[name]["settings"]}
    runs = []
    for precision in ("float32", "float64"):
        settings["options"] = {**settings["options"], "precision": precision}
        runs.append(fit(reuters.binary, reuters.Y, **settings))
    single, double = (run.scores(reuters.binary) for run in runs)
    assert np.abs(single - double).max() < 2e-3
    for a, b in zip(runs[0].certificate, runs[1].certificate, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-4)
