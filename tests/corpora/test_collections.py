"""The other collections: on small made files everywhere, on the real archives where this machine has them."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from textcat.corpora import Corpus, fetch_corpus, load_card, open_corpus, open_vectors
from textcat.corpora.collection_files import PACKED_FILE
from textcat.corpora.collections.ohsumed import load_heart_diseases, parse_headings, read_medline_records
from textcat.corpora.collections.rcv1 import SAMPLE_SIZE, TEST_SIZE, Rcv1Split, load_topics, read_qrels
from textcat.corpora.markup import extract_text, extract_title, remove_header
from textcat.errors import BadDataError, DataNotAvailableError, UsageError


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    return folder


MESSAGE = "From: a@b\nSubject: Re: Cars\nLines: 2\n\nFirst line.\n\nSecond: line.\n"
PAGE = (
    "Date: Thu, 07 Nov 1996\r\nContent-type: text/html\r\n\r\n<TITLE>A &amp;\nB</TITLE>"
    "<script>var x = '<p>';</script><!-- a\ncomment --><h1 class='x'>Caf&eacute;</h1>1 < 2<p>End<!WA0><br"
)


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    return written(
        tmp_path,
        {"rec.autos/2": MESSAGE, "rec.autos/10": "no header", "alt.atheism/7": MESSAGE, "README": "x"},
    )


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        ("dropped", {"body": "First line.\n\nSecond: line.\n"}),
        ("subject", {"subject": "Re: Cars", "body": "First line.\n\nSecond: line.\n"}),
        ("kept", {"headers": MESSAGE.partition("\n\n")[0], "body": "First line.\n\nSecond: line.\n"}),
    ],
)
def test_newsgroup_headers_are_dropped_or_kept(groups: Path, headers: str, fields: dict[str, str]) -> None:
    corpus = open_corpus("20newsgroups", groups, headers=headers)
    found = list(corpus.documents())
    assert [document.id for document in found] == ["alt.atheism/7", "rec.autos/10", "rec.autos/2"]
    assert found[0].fields == fields
    assert found[2].labels == ("rec.autos",)
    assert corpus.categories == ("alt.atheism", "rec.autos")


def test_pages_become_text() -> None:
    page = remove_header(PAGE)
    assert page.startswith("<TITLE>")
    assert extract_title(page) == "A &\nB"
    assert extract_text(page).split() == ["Café", "1", "<", "2", "End"]
    assert remove_header("<html>Note: this\n\nstays") == "<html>Note: this\n\nstays"
    assert remove_header("Server: only\na header") == ""


def test_webkb_subsets(tmp_path: Path) -> None:
    names = ["course/misc/x", "course/texas/x", "department/texas/x", "other/cornell/http_^^a.b^c.html"]
    folder = written(tmp_path, dict.fromkeys(names, PAGE))
    assert [document.id for document in open_corpus("webkb", folder).documents()] == names
    found = [document.id for document in open_corpus("webkb", folder, subset="4-universities").documents()]
    assert found == names[1:]
    univ6 = open_corpus("webkb", folder, subset="univ-6")
    assert [document.labels for document in univ6.documents()] == [("course",), ("other",)]
    assert univ6.categories == ("course", "other")
    chosen = open_corpus("webkb", folder, classes=["department"])
    assert [document.fields["title"] for document in chosen.documents()] == ["A &\nB"]
    assert univ6.fingerprint() == chosen.fingerprint()
    with pytest.raises(UsageError, match="one of course, department"):
        open_corpus("webkb", folder, classes=["dean"])


def test_a_document_in_two_folders_has_two_labels(tmp_path: Path) -> None:
    files = {"training/C01/0007": "T.\n a\n b", "training/C03/0007": "T.\n a\n b", "test/C02/0001": "U."}
    corpus = open_corpus("ohsumed-23", written(tmp_path, files))
    first, second = corpus.documents()
    assert (first.id, first.labels, first.split) == ("0007", ("C01", "C03"), "train")
    assert first.fields == {"title": "T.", "body": " a\n b"}
    assert (second.labels, second.split) == (("C02",), "test")
    with pytest.raises(BadDataError, match="validation"):
        list(open_corpus("ohsumed-23", written(tmp_path, {"validation/C01/1": "x"})).documents())


def test_industry_sectors_are_the_folders_of_pages(tmp_path: Path) -> None:
    folder = written(tmp_path, {"energy/oil/a.html": PAGE, "energy/coal/b.html": PAGE, "tech/c.html": PAGE})
    corpus = open_corpus("industry-sector", folder)
    assert corpus.categories == ("energy/coal", "energy/oil", "tech")
    assert [document.labels for document in corpus.documents()] == [
        ("energy/coal",),
        ("energy/oil",),
        ("tech",),
    ]


MEDLINE = """.I 1
.U
87049375
.S
ASAIO Trans 8703; 32(1):515-20
.M
Animal; Heart Arrest/*TH; Myocardial Infarction/*/CO; Support, U.S. Gov't, P.H.S..
.T
A title.
.P
JOURNAL ARTICLE.
.W
An abstract.
.A
Grasel TG.
.I 2
.U
88000001
.S
Alcohol 8801; 1:1
.M
Heart Arrest.
.T
No abstract.
.P
LETTER.
.A
B C.
.I 3
.U
90000001
.S
X 9012; 1
.M
Heart Arrest/*.
.T
Later.
.W
Text.
"""


@pytest.mark.parametrize("name", ["ohsumed.88-91", "ohsumed.all.gz"])
def test_medline_records_and_years_from_the_source(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(MEDLINE.encode()) if name.endswith(".gz") else MEDLINE.encode())
    first, second, third = read_medline_records(path)
    assert (first.number, first.year, first.title) == ("87049375", 1987, "A title.")
    assert first.mesh == ("Animal", "Heart Arrest", "Myocardial Infarction", "Support, U.S. Gov't, P.H.S.")
    assert first.abstract == "An abstract."
    assert (second.abstract, second.year, third.year) == ("", 1988, 1990)
    assert parse_headings("") == ()


def test_ohsumed_split_and_categories(tmp_path: Path) -> None:
    (tmp_path / "ohsumed.87").write_text(MEDLINE)
    corpus = open_corpus("ohsumed", tmp_path, min_train=1)
    assert [document.split for document in corpus.documents()] == ["train", "unused", "train"]
    assert corpus.categories == ("Heart Arrest", "Myocardial Infarction")
    (tmp_path / "ohsumed.87").rename(tmp_path / "ohsumed.88-91")
    corpus = open_corpus("ohsumed", tmp_path, min_train=1, complete_only=False)
    assert [document.split for document in corpus.documents()] == ["train", "train", "test"]
    corpus = open_corpus("ohsumed", tmp_path, min_train=1, categories=["Animal"])
    assert [document.labels for document in corpus.documents()] == [("Animal",), (), ()]
    (tmp_path / "ohsumed.88-91").write_text(".I 5\n.T\nNo number.\n")
    with pytest.raises(BadDataError, match="record 5"):
        list(corpus.documents())


def test_the_list_of_heart_diseases_states_its_source() -> None:
    found = load_heart_diseases()
    assert len(found) > 100
    assert {"Heart Diseases", "Myocardial Infarction", "Wolff-Parkinson-White Syndrome"} <= found


def test_the_real_medline_sample(mirror: Path, tmp_path: Path) -> None:
    with tarfile.open(mirror / "ohsumed87-444-records-with-mesh.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    found = [record for path in tmp_path.rglob("*.txt") for record in read_medline_records(path)]
    assert len(found) == 444
    assert {record.year for record in found} == {1987}
    assert sum(bool(record.abstract) for record in found) == 289
    assert all(record.mesh and record.title for record in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["20newsgroups", "webkb", "ohsumed-23"])
def test_real_collections_have_their_published_counts(mirror: Path, fetched: Path, name: str) -> None:
    report = fetch_corpus(name, fetched, mirror=mirror, offline=True)
    card = load_card(name)
    assert {what: report.counts[what] for what in card.counts} == card.counts
    assert report.verified == "sha256 of every file and published counts"
    assert report.fingerprint in card.fingerprints
    assert (report.folder / PACKED_FILE).is_file()
    corpus = open_corpus(name, report.folder)
    assert isinstance(corpus, Corpus)
    ids = Counter(document.id for document in corpus.documents())
    assert len(ids) == ids.total() == card.documents
    assert len(corpus.categories) == card.categories


def test_vector_lines_are_read_like_scikit_learn_does(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    lines = [
        ",".join(map(str, sorted(random.choice(5, random.integers(1, 4), replace=False))))
        + "".join(
            f" {term}:{random.normal():.6g}"
            for term in np.sort(random.choice(np.arange(1, 50), 8, replace=False))
        )
        for _ in range(300)
    ]
    path = tmp_path / "x.svm"
    path.write_text("\n".join(lines) + "\n")
    X, labels = load_svmlight_file(str(path), multilabel=True, dtype=np.float32, zero_based=False)
    ours = open_vectors("svmlight", path, ratio=None)
    assert abs(ours.X - X).max() < 1e-6
    assert [tuple(str(int(each)) for each in found) for found in labels] == [
        tuple(np.array(ours.categories)[row]) for row in ours.Y.toarray()
    ]


def test_packed_and_unpacked_trees_read_the_same(groups: Path, tmp_path_factory) -> None:
    packed = tmp_path_factory.mktemp("packed")
    with zipfile.ZipFile(packed / PACKED_FILE, "w") as archive:
        for path in sorted(groups.rglob("*"), reverse=True):
            if path.is_file():
                archive.write(path, path.relative_to(groups).as_posix())
    one, other = open_corpus("20newsgroups", packed), open_corpus("20newsgroups", groups)
    assert list(one.documents()) == list(other.documents())
    assert one.fingerprint() == other.fingerprint()
    (groups / "rec.autos" / "10").write_text("changed")
    assert one.fingerprint() != other.fingerprint()


# RCV1-v2

TOKENS = ".I 2286\n.W\nrecov recov excit\nbring mexic\n\n.I 26151\n.W\nsecond stori\n\n"
QRELS = "E11 2286 1\nECAT 2286 1\nGCAT 26151 1\n"


def rcv1(folder: Path, tokens: str = TOKENS, qrels: str = QRELS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "lyrl2004_tokens_train.dat").write_text(tokens)
    (folder / "rcv1-v2.topics.qrels.gz").write_bytes(gzip.compress(qrels.encode()))
    return folder


def test_rcv1_tokens_and_topics(tmp_path: Path) -> None:
    corpus = open_corpus("rcv1", rcv1(tmp_path))
    first, second = corpus.documents()
    assert first.fields["body"].split() == ["recov", "recov", "excit", "bring", "mexic"]
    assert (first.id, first.labels, first.split) == ("2286", ("E11", "ECAT"), "train")
    assert (second.labels, second.split) == (("GCAT",), "test")
    assert len(corpus.categories) == 103
    swapped = open_corpus("rcv1", tmp_path, split="swapped")
    assert [document.split for document in swapped.documents()] == ["test", "train"]


@pytest.mark.parametrize(
    ("tokens", "qrels", "problem"),
    [
        (TOKENS, "E11 2286 1\n", "26151 is damaged: it has no topics"),
        (".I 2286\nrecov\n", QRELS, "2286 is damaged: it has no .W line"),
        (TOKENS, "E11 2286 1\nE11 2286\n", r"qrels\.gz:2: not a line LABEL NUMBER 1"),
        (TOKENS, "E11 2286 1\nECAT 2286 0\n", r"qrels\.gz:2"),
    ],
)
def test_damaged_rcv1_files_are_bad_data(tmp_path: Path, tokens: str, qrels: str, problem: str) -> None:
    with pytest.raises(BadDataError, match=problem):
        list(open_corpus("rcv1", rcv1(tmp_path, tokens, qrels)).documents())


def test_rcv1_without_its_files(tmp_path: Path) -> None:
    with pytest.raises(DataNotAvailableError, match="lyrl2004_tokens_train"):
        open_corpus("rcv1", tmp_path)
    with pytest.raises(UsageError, match="vectors"):
        open_vectors("rcv1", tmp_path)
    with pytest.raises(UsageError, match="text"):
        open_corpus("rcv1-subset", tmp_path)
    with pytest.raises(UsageError, match="lyrl2005"):
        open_corpus("rcv1", rcv1(tmp_path), split="lyrl2005")


def test_the_sample_of_test_documents_is_fixed_by_its_seed() -> None:
    numbers = [str(number) for number in range(20_000, 40_000)]
    sides = [Rcv1Split("lyrl2004-sample", order, 1) for order in (numbers, numbers[::-1])]
    for number in numbers:
        assert sides[0].of(number) == sides[1].of(number)
    found = Counter(sides[0].of(number) for number in numbers)
    assert found["train"] == 6151
    assert found["test"] == round(13_849 * SAMPLE_SIZE / TEST_SIZE)
    other = Rcv1Split("lyrl2004-sample", numbers, 2)
    assert any(sides[0].of(number) != other.of(number) for number in numbers)


@pytest.mark.slow
def test_the_real_qrels_agree_with_the_list_of_topics(mirror: Path) -> None:
    labels = read_qrels(mirror / "rcv1" / "rcv1-v2.topics.qrels.gz")
    assert len(labels) == 804_414
    whole = Counter(topic for found in labels.values() for topic in found)
    assert whole.total() == 2_606_875
    assert {topic.code: topic.documents for topic in load_topics()} == whole
    training = Counter(topic for number, found in labels.items() if int(number) <= 26_150 for topic in found)
    assert {topic.code for topic in load_topics() if not topic.training_documents} == {"E312", "GMIL"}
    assert all(topic.training_documents == training[topic.code] for topic in load_topics())
    sample = Rcv1Split("lyrl2004-sample", tuple(labels), 2004)
    assert len(sample.sample) == 77_993


@pytest.mark.slow
def test_the_real_subset_of_vectors(mirror: Path, fetched: Path) -> None:
    report = fetch_corpus("rcv1-subset", fetched, mirror=mirror, offline=True)
    corpus = open_vectors("rcv1-subset", report.folder)
    assert corpus.X.shape == (17_189, 47_236)
    assert corpus.X.dtype == np.float32
    assert np.allclose(np.sqrt(corpus.X.multiply(corpus.X).sum(axis=1)), 1, atol=1e-4)
    assert corpus.X.has_canonical_format
    assert len(corpus.categories) == 102
    assert corpus.Y.shape == (17_189, 102)
    assert corpus.Y[:, [corpus.categories.index("CCAT")]].sum() > 5000
    parents = {topic.code: topic.parent for topic in load_topics()}
    labels = corpus.Y.toarray()
    for number, topic in enumerate(corpus.categories):
        if parents[topic] in corpus.categories:
            above = corpus.categories.index(parents[topic])
            assert not (labels[:, number] & ~labels[:, above]).any()
    assert len(corpus.rows("test")) == round(17_189 / 2)
    assert len(corpus.rows("train")) + len(corpus.rows("test")) == 17_189


def test_official_vector_files(tmp_path: Path) -> None:
    rcv1(tmp_path)
    (tmp_path / "lyrl2004_vectors_train.dat").write_text("2286  3:0.6 1:0.8\n")
    (tmp_path / "lyrl2004_vectors_test_pt0.dat.gz").write_bytes(gzip.compress(b"26151  5:1.0\n"))
    corpus = open_vectors("rcv1-vectors", tmp_path)
    assert corpus.X.toarray().tolist() == [
        [np.float32(0.8), 0, np.float32(0.6), 0, 0],
        [0, 0, 0, 0, 1],
    ]
    assert corpus.ids == ("2286", "26151")
    assert corpus.split.tolist() == ["train", "test"]
    assert corpus.terms == ("1", "2", "3", "4", "5")
    assert np.diff(corpus.Y.indptr).tolist() == [2, 1]


@pytest.mark.parametrize("line", ["7  3:0.6 x:1", "7  3:0.6 0:1", "7  3:0.6 4", "7  3:a"])
def test_bad_vector_lines_are_located(tmp_path: Path, line: str) -> None:
    rcv1(tmp_path)
    (tmp_path / "lyrl2004_vectors_train.dat").write_text(f"2286  3:0.6\n{line}\n")
    with pytest.raises(BadDataError, match=r"train\.dat:2: .* is not TERM:WEIGHT"):
        open_vectors("rcv1-vectors", tmp_path)
