"""Vocabularies of the real Reuters-21578, where it is at hand."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from tests.text.documents import SmallDocument
from textcat.text import CountedDocuments, TextSettings, Vectorizer, VectorSettings, count_terms


def between(tag: str, text: str) -> str:
    found = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return unescape(found[1]) if found else ""


def documents_of(archive: Path) -> Iterator[SmallDocument]:
    with tarfile.open(archive) as tar:
        for name in sorted(name for name in tar.getnames() if name.endswith(".sgm")):
            member = tar.extractfile(name)
            assert member is not None
            for text in re.findall("<REUTERS.*?</REUTERS>", member.read().decode("latin-1"), re.DOTALL):
                attributes = dict(re.findall(r'(\w+)="(.*?)"', text[: text.index(">")]))
                side = attributes["LEWISSPLIT"].lower() if attributes["TOPICS"] == "YES" else "unused"
                fields = {"title": between("TITLE", text), "body": between("BODY", text)}
                split = side if side in ("train", "test") else "unused"
                yield SmallDocument(attributes["NEWID"], fields, (), split)


@pytest.fixture(scope="module")
def documents(mirror: Path) -> list[SmallDocument]:
    archive = mirror / "reuters21578.tar.gz"
    if not archive.exists():
        pytest.skip(f"no {archive.name} in the mirror")
    return list(documents_of(archive))


@pytest.fixture(scope="module")
def counted(documents: list[SmallDocument]) -> CountedDocuments:
    return count_terms(documents, TextSettings())


def test_counts_are_those_of_scikit_learn(documents: list[SmallDocument], counted: CountedDocuments) -> None:
    peer = CountVectorizer(token_pattern="[a-z]+")
    texts = [document.fields["title"] + "\n" + document.fields["body"] for document in documents]
    expected = peer.fit_transform(texts)
    expected.sort_indices()
    assert counted.terms == peer.get_feature_names_out().tolist()
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(counted.counts, part), getattr(expected, part))


def test_processes_change_nothing(documents: list[SmallDocument], counted: CountedDocuments) -> None:
    parallel = count_terms(documents, TextSettings(), n_jobs=2, chunk_size=700)
    assert parallel.terms == counted.terms
    assert (parallel.counts != counted.counts).nnz == 0


def test_vocabulary_of_genkin_2004(documents: list[SmallDocument]) -> None:
    """Section 5.2.1 counts 21,989 terms in TITLE and BODY elements, 18,978 of them in training documents."""
    modapte = [document for document in documents if document.split != "unused"]
    chosen = TextSettings(tokenizer="trec", stem="porter_lemur", stop_list="smart")
    news = count_terms(modapte, chosen)
    vectorizer = Vectorizer.fit(news, settings=VectorSettings(weighting="log_tf_idf", cosine=True))
    assert (vectorizer.documents, len(news.ids)) == (9603, 12902)
    assert (len(news.terms), len(vectorizer.terms)) == (21993, 18980)
    norms = np.sqrt((vectorizer.transform(news).power(2)).sum(axis=1))
    in_training = news.in_split("train") & (np.diff(news.counts.indptr) > 0)
    np.testing.assert_allclose(norms[in_training], 1.0)
    assert (norms <= 1 + 1e-12).all()
