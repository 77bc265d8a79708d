"""The stand-in for RCV1-v2: its format, its statistics beside the collection's, and that it can be learnt."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.generate import (
    GenerationReport,
    generate,
    generate_many_labels,
    generate_rcv1_like,
    write_generated_labels,
)
from tests.conftest import PROJECT
from tests.loops import for_each
from textcat.cli.main import group
from textcat.corpora import Document, open_corpus
from textcat.corpora.collections.rcv1 import load_topics
from textcat.corpora.vector_files import open_svmlight
from textcat.errors import UsageError

DOCUMENTS, TRAINING = 8_000, 5_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> GenerationReport:
    return generate_rcv1_like(tmp_path_factory.mktemp("made"), DOCUMENTS, 1, training=TRAINING)


@pytest.fixture(scope="module")
def documents(made: GenerationReport) -> list[Document]:
    return list(open_corpus("rcv1", made.folder).documents())


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


def digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    digests = []
    for number, seed in enumerate((3, 3, 4)):
        generate_rcv1_like(tmp_path / str(number), 100, seed)
        digests.append(digest(tmp_path / str(number)))
    assert digests[0] == digests[1] != digests[2]


@for_each(("documents", "training"), [(10, 10), (10, 0), (100_000, 50_000)])
def test_impossible_sizes_are_refused(tmp_path: Path, documents: int, training: int) -> None:
    with pytest.raises(UsageError, match="training documents"):
        generate_rcv1_like(tmp_path, documents, 1, training=training)


def run_generate(folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(generate, [*arguments, "--to", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_an_experiment_runs_on_a_generated_collection(tmp_path: Path) -> None:
    """Run configs/rcv1_like.yaml on fewer documents, without fetching anything."""
    assert "300 documents" in run_generate(tmp_path / "data" / "rcv1-like", "rcv1-like", "--documents", "300")
    (tmp_path / "configs").mkdir()
    experiment = tmp_path / "configs" / "rcv1_like.yaml"
    experiment.write_text((PROJECT / "configs" / "rcv1_like.yaml").read_text())
    where = ["--data", str(tmp_path / "data"), "--results", str(tmp_path / "results"), "--offline", "-j", "1"]
    result = CliRunner().invoke(group, ["run", str(experiment), *where])
    assert result.exit_code == 0, result.output
    [written] = (tmp_path / "results").rglob("results.json")
    corpus = json.loads(written.read_text())["corpus"]
    assert corpus["name"] == "rcv1-like"
    assert corpus["train_documents"] + corpus["test_documents"] == 300
    assert "Ridge logistic" in result.output


def test_many_labels_are_the_generated_vectors(tmp_path: Path) -> None:
    """The files hold what the generator drew; weights have six digits."""
    folder = tmp_path / "many"
    printed = run_generate(folder, "many-labels", "--documents", "660", "--seed", "4")
    assert "660 documents (600 training), 90 labels" in printed
    made, read = generate_many_labels(600, 4), open_svmlight(folder / "train.svm", test="test.svm")
    assert read.split.tolist() == ["train"] * 600 + ["test"] * 60
    drawn = [sorted(str(k + 1) for k in made.Y[[row]].indices) for row in range(600)]
    assert [sorted(read.categories[k] for k in read.Y[[row]].indices) for row in range(600)] == drawn
    width = read.X.shape[1]
    np.testing.assert_allclose(read.X[600:].toarray(), made.held_rows[:, :width].toarray(), atol=1e-6)
    with pytest.raises(UsageError, match="too few"):
        write_generated_labels(folder, 9, 1)
