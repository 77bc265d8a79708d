"""Conclusions of gao_2003, genkin_2004 and zhang_jin_2003 hold on a part of Reuters-21578."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse

from textcat.experiment.spec.experiment import ProjectionSettings
from textcat.experiment.steps.features import scale_projection
from textcat.learners.gpd import GpdSettings
from textcat.learners.lsi import learn_axes
from textcat.learners.mfom import fit_mfom, fit_mfom_at
from textcat.learners.perceptron_tree import PerceptronSettings, fit_perceptron_trees
from textcat.learners.softmax import SoftmaxProblem, certify, fit_softmax

FILES = 4
TOPICS = ["earn", "acq", "money-fx", "grain", "crude", "trade"]
RECORD = re.compile(r"<TOPICS>(.*?)</TOPICS>.*?<TEXT(.*?)</TEXT>", re.S)


class News(NamedTuple):
    weighted: scipy.sparse.csr_matrix
    labels: np.ndarray
    training: np.ndarray


@pytest.fixture(scope="module")
def news(mirror: Path) -> News:
    """The first documents of the collection, weighted by (1 - entropy) * share of the document."""
    from sklearn.feature_extraction.text import CountVectorizer

    archive = mirror / "reuters21578.tar.gz"
    if not archive.is_file():
        pytest.skip("reuters21578.tar.gz is not in the mirror")
    texts, topics = [], []
    with tarfile.open(archive) as inside:
        for number in range(FILES):
            member = next(m for m in inside if m.name.endswith(f"reut2-{number:03d}.sgm"))
            source = inside.extractfile(member)
            assert source is not None
            for labels, text in RECORD.findall(source.read().decode("latin-1")):
                if labels:
                    topics.append(re.findall("<D>(.*?)</D>", labels))
                    texts.append(text)
    counts = CountVectorizer(token_pattern="[a-z]+", stop_words="english", min_df=3).fit_transform(texts)
    training = np.arange(len(texts)) % 3 != 0
    shares = counts.multiply(1 / np.maximum(counts.sum(axis=1), 1)).tocsr()
    spread = counts[training].multiply(1 / np.maximum(counts[training].sum(axis=0), 1)).tocsr()
    spread.data *= np.log(spread.data)
    weights = 1 + np.asarray(spread.sum(axis=0))[0] / np.log(training.sum())
    return News(
        shares.multiply(weights).tocsr(),
        np.array([[topic in each for topic in TOPICS] for each in topics]),
        training,
    )


@pytest.fixture(scope="module")
def features(news: News) -> tuple[np.ndarray, np.ndarray]:
    axes = learn_axes(news.weighted[news.training], 150)
    settings = ProjectionSettings(dimensions="full")
    train, test = (
        scale_projection(axes.transform(news.weighted[rows]), settings, axes.singular_values)
        for rows in (news.training, ~news.training)
    )
    return train, test


def micro_f1(decisions: np.ndarray, labels: np.ndarray) -> float:
    return float(2 * (decisions & labels).sum() / (decisions.sum() + labels.sum()))


def test_mfom_learns_the_large_topics(news: News, features: tuple[np.ndarray, np.ndarray]) -> None:
    train, test = features
    labels, held_out = news.labels[news.training], news.labels[~news.training]
    by_f1 = fit_mfom(train, labels, GpdSettings(iterations=200))
    by_error = fit_mfom(train, labels, GpdSettings(merit="mce", iterations=200))
    assert micro_f1(by_f1.scores(test) > 0, held_out) > 0.90
    assert micro_f1(by_f1.scores(train) > 0, labels) > micro_f1(by_error.scores(train) > 0, labels)
    assert micro_f1(by_f1.scores(test) > 0, held_out) > micro_f1(by_error.scores(test) > 0, held_out)


def test_training_f1_settles_after_some_hundred_iterations(
    news: News, features: tuple[np.ndarray, np.ndarray]
) -> None:
    train, _ = features
    labels = news.labels[news.training]
    models = fit_mfom_at(train, labels, GpdSettings(iterations=300), [20, 150, 300])
    course = {number: micro_f1(model.scores(train) > 0, labels) for number, model in models.items()}
    assert course[20] + 0.05 < course[150]
    assert abs(course[150] - course[300]) < 0.02


def test_perceptron_trees_fit_the_training_documents_closer_with_depth(
    news: News, features: tuple[np.ndarray, np.ndarray]
) -> None:
    train, test = features
    labels, held_out = news.labels[news.training], news.labels[~news.training]
    shallow, deep = (
        fit_perceptron_trees(train, labels, PerceptronSettings(iterations=60), max_depth=depth)
        for depth in (1, 3)
    )
    assert micro_f1(deep.scores(train) > 0, labels) > micro_f1(shallow.scores(train) > 0, labels)
    assert micro_f1(shallow.scores(test) > 0, held_out) > 0.85


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_softmax_comes_with_a_small_gap_and_agrees_with_scikit_learn(news: News, prior: str) -> None:
    from sklearn.linear_model import LogisticRegression

    single = news.training & (news.labels.sum(axis=1) == 1)
    X, Y = 10 * news.weighted[single], news.labels[single]
    model = fit_softmax(X, Y, prior=prior, lam=1e-3, tol=1e-7)  # type: ignore[arg-type]
    found = model.joint_certificate
    assert found is not None
    assert found.gap <= 1e-4 * found.objective
    if prior == "gaussian":
        strength = 1 / (2 * 1e-3 * X.shape[0])
        stacked = scipy.sparse.hstack([X, np.ones((X.shape[0], 1))]).tocsr()
        oracle = LogisticRegression(C=strength, tol=1e-8, max_iter=5000, fit_intercept=False)
        oracle.fit(stacked, Y.argmax(axis=1))
        theirs = certify(SoftmaxProblem(X, Y, "gaussian", 1e-3), oracle.coef_.T, 1e-7, 0, 0.0)
        assert found.objective == pytest.approx(theirs.objective, rel=1e-6)
