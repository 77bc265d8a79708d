"""The stand-in for RCV1-v2: its format, its statistics beside the collection's, and that it can be learnt."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from textcat.corpora import Document, open_corpus
from textcat.corpora.collections.rcv1 import load_topics
from textcat.corpora.generate import GenerationReport, generate_rcv1_like
from textcat.errors import UsageError

DOCUMENTS, TRAINING = 8_000, 5_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> GenerationReport:
    return generate_rcv1_like(tmp_path_factory.mktemp("made"), DOCUMENTS, 1, training=TRAINING)


@pytest.fixture(scope="module")
def documents(made: GenerationReport) -> list[Document]:
    return list(open_corpus("rcv1", made.folder).documents())


def test_it_is_read_like_the_collection(made: GenerationReport, documents: list[Document]) -> None:
    assert [path.name for path in sorted(made.folder.iterdir())] == [
        *(f"lyrl2004_tokens_test_pt{part}.dat.gz" for part in range(4)),
        "lyrl2004_tokens_train.dat.gz",
        "rcv1-v2.topics.qrels.gz",
    ]
    assert Counter(document.split for document in documents) == {
        "train": TRAINING,
        "test": DOCUMENTS - TRAINING,
    }
    assert len({document.id for document in documents}) == DOCUMENTS
    assert sum(len(document.fields["body"].split()) for document in documents) == made.tokens
    longest = max(len(line) for document in documents for line in document.fields["body"].splitlines())
    assert longest < 150


def test_its_statistics_are_those_of_the_collection(documents: list[Document]) -> None:
    lengths = np.array([len(document.fields["body"].split()) for document in documents])
    distinct = np.array([len(set(document.fields["body"].split())) for document in documents])
    assert 118 < lengths.mean() < 132
    assert 70 < distinct.mean() < 80
    vocabulary = {word for document in documents for word in document.fields["body"].split()}
    # Heaps' law through 47,236 terms in 23,149 documents and 288,062 in 804,414.
    assert len(vocabulary) == pytest.approx(282 * DOCUMENTS**0.5095, rel=0.1)


def test_topics_have_their_real_shares_and_parents(documents: list[Document]) -> None:
    found = Counter(label for document in documents for label in document.labels)
    parents = {topic.code: topic.parent for topic in load_topics()}
    for topic in load_topics():
        expected = topic.documents / 804_414 * DOCUMENTS
        if expected > 200:
            assert found[topic.code] == pytest.approx(expected, rel=0.25)
    for document in documents:
        labels = set(document.labels)
        assert labels
        assert all(parents[label] in labels | {"Root"} for label in labels)
    trained = {label for document in documents if document.split == "train" for label in document.labels}
    assert trained.isdisjoint({"E312", "GMIL"})


def test_topics_can_be_learnt(documents: list[Document]) -> None:
    X = CountVectorizer(token_pattern=r"\S+", min_df=3).fit_transform(
        [document.fields["body"] for document in documents]
    )
    y = np.array(["CCAT" in document.labels for document in documents])
    guessed = MultinomialNB().fit(X[:TRAINING], y[:TRAINING]).predict(X[TRAINING:])
    share = max(y[TRAINING:].mean(), 1 - y[TRAINING:].mean())
    assert (guessed == y[TRAINING:]).mean() > share + 0.2


def digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    digests = []
    for number, seed in enumerate((3, 3, 4)):
        generate_rcv1_like(tmp_path / str(number), 100, seed)
        digests.append(digest(tmp_path / str(number)))
    assert digests[0] == digests[1] != digests[2]


def test_progress_and_default_share(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = generate_rcv1_like(tmp_path, 700, 1, progress=lambda *each: seen.append(each))
    assert report.training_documents == 20
    assert seen[-1] == (700, 700)


@pytest.mark.parametrize(("documents", "training"), [(10, 10), (10, 0), (100_000, 50_000)])
def test_impossible_sizes_are_refused(tmp_path: Path, documents: int, training: int) -> None:
    with pytest.raises(UsageError, match="training documents"):
        generate_rcv1_like(tmp_path, documents, 1, training=training)
