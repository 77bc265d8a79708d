"""Generate collections of any size: `python -m benchmarks.generate rcv1-like|many-labels`.

RCV1-like: labels are drawn from the real label sets with their real frequencies, so topics have their proportions and
hierarchy. Lengths are log-normal. Words are drawn in bursts from a Zipf distribution with a steeper tail (the
vocabulary grows like the real one: 47,000 stems in 23,149 documents, 288,000 in 804,414) and from words of the
document's topics (so that learning works). The words are syllables, not English.

Many labels: Zipf labels in groups, words of labels and of groups. The full size is 200,000 training documents x 30,000
labels, 100,000 features and about 75 nonzeros a document; smaller sizes have proportionally fewer labels and features.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import click
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.cli.main import run_command
from textcat.corpora.collections.rcv1 import LAST_TRAINING_NUMBER, load_topics
from textcat.errors import UsageError

FULL_DOCUMENTS = 804_414
FULL_TRAINING_DOCUMENTS = 23_149
_FIRST_NUMBER = 2286
_MAX_TRAINING = LAST_TRAINING_NUMBER - _FIRST_NUMBER + 1
_TEST_FILES = 4
_CHUNK = 5_000
_LINE_TOKENS = 16
_QRELS = "rcv1-v2.topics.qrels.gz"

# Fitted to the collection: on average 124 tokens and 76 distinct ones per document; growth of the vocabulary.
_LOG_LENGTH_SD = 0.71
_MEAN_BURSTS = 79.0
_BURST_STOP = 0.635
_VOCABULARY = 850_000
_HEAD_RANKS = 2_600
_HEAD_OFFSET = 20
_TAIL_EXPONENT = 1.92
_TOPIC_SHARE = 0.3
_TOPIC_WORDS = 300
_TOPIC_RANKS = (50, 20_000)


@dataclass(frozen=True)
class GenerationReport:
    """The numbers of a generated collection."""

    folder: Path
    documents: int
    training_documents: int
    tokens: int


def generate_rcv1_like(
    folder: Path,
    documents: int,
    seed: int,
    *,
    training: int | None = None,
) -> GenerationReport:
    """Write token files and qrels with the names and formats of RCV1-v2; `open_corpus("rcv1", folder)` reads them.

    Without `training`, the share of training documents is that of RCV1-v2.
    """
    training = (
        max(1, round(documents * FULL_TRAINING_DOCUMENTS / FULL_DOCUMENTS)) if training is None else training
    )
    if not 1 <= training < documents or training > _MAX_TRAINING:
        raise UsageError(
            f"{documents} documents cannot have {training} training documents",
            hint=f"Use 1 to {_MAX_TRAINING} training documents, and at least one test document.",
        )
    model = Rcv1LikeModel(seed)
    tokens = 0
    folder.mkdir(parents=True, exist_ok=True)
    # Without labels a collection cannot be read, so they get their name when everything is written.
    (folder / _QRELS).unlink(missing_ok=True)
    unfinished = folder / f"{_QRELS}.part"
    with _open_gzip(unfinished) as qrels:
        for name, numbers in _plan_files(documents, training):
            with _open_gzip(folder / name) as out:
                for start in range(0, len(numbers), _CHUNK):
                    chunk = numbers[start : start + _CHUNK]
                    tokens += model.write(chunk, out, qrels)
    unfinished.replace(folder / _QRELS)
    return GenerationReport(folder, documents, training, tokens)


def _plan_files(documents: int, training: int) -> Iterator[tuple[str, range]]:
    """Yield name and document numbers of each token file: training, then the test documents in four parts."""
    yield "lyrl2004_tokens_train.dat.gz", range(_FIRST_NUMBER, _FIRST_NUMBER + training)
    first = LAST_TRAINING_NUMBER + 1
    tests = documents - training
    for part in range(_TEST_FILES):
        begin, end = (first + tests * each // _TEST_FILES for each in (part, part + 1))
        yield f"lyrl2004_tokens_test_pt{part}.dat.gz", range(begin, end)


@contextmanager
def _open_gzip(path: Path) -> Iterator[TextIO]:
    # No date and name in the header: equal contents give equal bytes.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 1, file, 0) as packed,
        io.TextIOWrapper(cast(BinaryIO, packed), encoding="ascii", newline="\n") as text,
    ):
        yield text


class Rcv1LikeModel:
    """Distributions of labels, lengths and words, with the random generator that draws from them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.words = np.array(_make_words(_VOCABULARY), dtype=object)
        low, high = _TOPIC_RANKS
        ranks = np.exp(self.random.uniform(np.log(low), np.log(high), (len(load_topics()), _TOPIC_WORDS)))
        self.topic_words = ranks.astype(np.int64)

    @cached_property
    def background(self) -> NDArray[np.float64]:
        """The cumulative probabilities of background words, by rank."""
        rank = np.arange(1, _VOCABULARY + 1, dtype=np.float64)
        head = 1 / (rank + _HEAD_OFFSET)
        tail = (rank / _HEAD_RANKS) ** -_TAIL_EXPONENT / (_HEAD_RANKS + _HEAD_OFFSET)
        return _compute_cumulative(np.where(rank <= _HEAD_RANKS, head, tail))

    @cached_property
    def topic_distribution(self) -> NDArray[np.float64]:
        """The cumulative probabilities of a topic's words, most frequent first."""
        return _compute_zipf(_TOPIC_WORDS, 5.0)

    @cached_property
    def label_sets(self) -> tuple[list[list[int]], NDArray[np.float64], NDArray[np.float64]]:
        """The label sets as topic indices, with cumulative frequencies for test and for training documents.

        Two topics have no training document in the collection; sets with one of them are not drawn for training.
        """
        text = Path(__file__).with_name("rcv1_topic_sets.csv").read_text(encoding="utf-8")
        index = {topic.code: number for number, topic in enumerate(load_topics())}
        untrained = {topic.code for topic in load_topics() if topic.training_documents == 0}
        rows = list(csv.DictReader(text.splitlines()))
        sets = [[index[code] for code in row["topics"].split()] for row in rows]
        weights = np.array([float(row["documents"]) for row in rows])
        trained = np.array([untrained.isdisjoint(row["topics"].split()) for row in rows])
        return sets, _compute_cumulative(weights), _compute_cumulative(weights * trained)

    def write(self, numbers: range, out: TextIO, qrels: TextIO) -> int:
        """Write the documents with these numbers; return their number of tokens."""
        sets = self.draw_label_sets(numbers)
        owner, words, bursts = self.draw_words(sets)
        tokens = np.repeat(self.words[words], bursts)
        ends = np.cumsum(np.bincount(owner, weights=bursts, minlength=len(numbers)).astype(np.int64))
        codes = [topic.code for topic in load_topics()]
        for row, number in enumerate(numbers):
            own = tokens[ends[row - 1] if row else 0 : ends[row]].tolist()
            lines = (" ".join(own[at : at + _LINE_TOKENS]) for at in range(0, len(own), _LINE_TOKENS))
            out.write(f".I {number}\n.W\n" + "\n".join(lines) + "\n\n")
            qrels.write("".join(f"{codes[topic]} {number} 1\n" for topic in sets[row]))
        return len(tokens)

    def draw_label_sets(self, numbers: range) -> list[list[int]]:
        """Draw the topics of the documents with these numbers, as indices of `load_topics()`."""
        sets, test, training = self.label_sets
        cumulative = training if numbers[0] <= LAST_TRAINING_NUMBER else test
        return [sets[each] for each in np.searchsorted(cumulative, self.random.random(len(numbers)))]

    def draw_words(
        self, sets: list[list[int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Draw bursts: arrays of document, word and number of occurrences, grouped by document."""
        mean_log = np.log(_MEAN_BURSTS) - _LOG_LENGTH_SD**2 / 2
        lengths = self.random.lognormal(mean_log, _LOG_LENGTH_SD, len(sets)).astype(np.int64) + 1
        owner = np.repeat(np.arange(len(sets)), lengths)
        words = np.searchsorted(self.background, self.random.random(len(owner)))
        topical = np.flatnonzero(self.random.random(len(owner)) < _TOPIC_SHARE)
        words[topical] = self._draw_topic_words(sets, owner[topical])
        return owner, words, self.random.geometric(_BURST_STOP, len(owner))

    def _draw_topic_words(self, sets: list[list[int]], owner: NDArray[np.int64]) -> NDArray[np.int64]:
        sizes = np.array([len(each) for each in sets])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        flat = np.concatenate([np.asarray(each, dtype=np.int64) for each in sets])
        chosen = flat[starts[owner] + (self.random.random(len(owner)) * sizes[owner]).astype(np.int64)]
        rank = np.searchsorted(self.topic_distribution, self.random.random(len(owner)))
        found: NDArray[np.int64] = self.topic_words[chosen, rank]
        return found


def _compute_cumulative(weights: NDArray[Any]) -> NDArray[np.float64]:
    cumulative: NDArray[np.float64] = np.cumsum(weights)
    cumulative /= cumulative[-1]
    return cumulative


def _make_words(number: int) -> list[str]:
    """Return distinct pronounceable words, first those of two syllables, then of three."""
    syllables = [first + second for first in "bcdfghjklmnprstvwxyz" for second in "aeiou"]
    short = [one + two for one in syllables for two in syllables]
    words = short + [one + two + end for end in syllables for one in syllables for two in syllables]
    if number > len(words):
        raise ValueError(f"there are only {len(words)} words")
    return words[:number]


LABELLED_DOCUMENTS = 200_000
FULL_LABELS = 30_000
FULL_FEATURES = 100_000
# Of each document: words, and mean number of labels beyond the first.
WORDS = 95
MORE_LABELS = 3.0
LABEL_WORDS = 30
GROUP_SIZE = 40
# Shares of words from a label of the document and from its group; the others come from all documents.
LABEL_SHARE, GROUP_SHARE = 0.35, 0.25
TEST_SHARE = 0.1


@dataclass(frozen=True)
class ManyLabels:
    """Documents x features of length 1 and documents x labels, for training and test."""

    X: sp.csr_matrix
    Y: sp.csr_matrix
    held_rows: sp.csr_matrix
    held_labels: sp.csr_matrix


def generate_many_labels(documents: int, seed: int = 1) -> ManyLabels:
    """Return a collection with that many training documents and a tenth of them more for test."""
    random = np.random.default_rng(seed)
    share = documents / LABELLED_DOCUMENTS
    labels, features = max(int(FULL_LABELS * share), 50), max(int(FULL_FEATURES * share), 2000)
    number = documents + int(documents * TEST_SHARE)
    rows, chosen = _draw_labels(random, number, labels)
    Y = sp.csr_matrix((np.ones(len(rows), dtype=np.bool_), (rows, chosen)), shape=(number, labels))
    X = _draw_words(random, Y, features)
    return ManyLabels(X[:documents], Y[:documents], X[documents:], Y[documents:])


def _draw_labels(
    random: np.random.Generator, documents: int, labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a first label from a Zipf distribution, and further ones from its group or from all.

    Labels are numbered by frequency; a group is every label with the same remainder.
    """
    sizes = 1 + random.poisson(MORE_LABELS, documents)
    rows = np.repeat(np.arange(documents), sizes)
    zipf = _compute_zipf(labels, 10.0)
    first = np.searchsorted(zipf, random.random(documents))
    drawn = np.searchsorted(zipf, random.random(len(rows)))
    groups = _count_groups(labels)
    place = (labels // groups * random.random(len(rows)) ** 3).astype(np.int64)
    chosen = np.where(random.random(len(rows)) < 0.6, first[rows] % groups + groups * place, drawn)
    starts = np.cumsum(sizes) - sizes
    chosen[starts] = first
    places = np.unique(rows * labels + chosen)
    return places // labels, places % labels


def _draw_words(random: np.random.Generator, Y: sp.csr_matrix, features: int) -> sp.csr_matrix:
    """Draw the words of each document; weights are log TF x IDF, scaled to length 1."""
    documents, labels = Y.shape
    zipf = _compute_zipf(features, 30.0)
    own = random.integers(0, features, (labels, LABEL_WORDS))
    groups = random.integers(0, features, (_count_groups(labels), LABEL_WORDS))
    rows = np.repeat(np.arange(documents), WORDS)
    sizes = np.diff(Y.indptr)
    which = Y.indices[Y.indptr[rows] + (random.random(len(rows)) * sizes[rows]).astype(np.int64)]
    place = (LABEL_WORDS * random.random(len(rows)) ** 2).astype(np.int64)
    kind = random.random(len(rows))
    words = np.searchsorted(zipf, random.random(len(rows)))
    words = np.where(kind < LABEL_SHARE + GROUP_SHARE, groups[which % len(groups), place], words)
    words = np.where(kind < LABEL_SHARE, own[which, place], words)
    counts = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, words)), shape=(documents, features))
    frequency = np.bincount(counts.indices, minlength=features)
    rarity = np.log(documents / frequency[counts.indices])
    counts.data = np.asarray((1.0 + np.log(counts.data)) * rarity, dtype=np.float32)
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1))).ravel()
    return sp.csr_matrix(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ counts, dtype=np.float32)


def _count_groups(labels: int) -> int:
    return max(labels // GROUP_SIZE, 1)


def _compute_zipf(number: int, offset: float) -> NDArray[np.float64]:
    return _compute_cumulative(1.0 / (np.arange(number) + offset))


# The files of a generated collection: training and test documents.
SVMLIGHT_FILES = ("train.svm", "test.svm")
MINIMUM_DOCUMENTS = 22


def write_generated_labels(folder: Path, documents: int, seed: int) -> tuple[int, int]:
    """Write a collection in svmlight's format; return the numbers of its training documents and labels.

    One document of eleven is for test.
    """
    if documents < MINIMUM_DOCUMENTS:
        raise UsageError(
            f"{documents} documents are too few", hint=f"Generate at least {MINIMUM_DOCUMENTS} documents."
        )
    made = generate_many_labels(round(documents / (1 + TEST_SHARE)), seed)
    parts = ((made.X, made.Y), (made.held_rows, made.held_labels))
    folder.mkdir(parents=True, exist_ok=True)
    for name, (rows, labels) in zip(SVMLIGHT_FILES, parts, strict=True):
        with (folder / name).open("w", encoding="ascii") as out:
            write_svmlight(out, rows, labels)
    return made.X.shape[0], made.Y.shape[1]


def write_svmlight(out: TextIO, rows: sp.csr_matrix, labels: sp.csr_matrix, first: int = 1) -> None:
    """Write lines LABEL,LABEL TERM:WEIGHT ... of documents; terms and labels are numbered from `first`."""
    numbers = labels.indices + first
    for row, (start, end) in enumerate(pairwise(rows.indptr.tolist())):
        own = ",".join(map(str, numbers[labels.indptr[row] : labels.indptr[row + 1]]))
        pairs = zip(rows.indices[start:end].tolist(), rows.data[start:end].tolist(), strict=True)
        out.write(f"{own} " + " ".join(f"{term + first}:{weight:.6g}" for term, weight in pairs) + "\n")


@click.command(
    epilog="Example:  python -m benchmarks.generate rcv1-like --documents 50000 --to data/rcv1-like"
)
@click.argument("what", type=click.Choice(["rcv1-like", "many-labels"]))
@click.option("--documents", type=click.IntRange(min=2), required=True, help="Number of documents.")
@click.option("--training", type=click.IntRange(min=1), help="Number of training documents of rcv1-like.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same files.")
@click.option("--to", "target", type=click.Path(path_type=Path), required=True, help="Folder to write.")
def generate(what: str, documents: int, training: int | None, seed: int, target: Path) -> None:
    """Generate a synthetic collection of any size.

    rcv1-like has the format and statistics of RCV1-v2. An experiment reads it with
    `corpus: {name: rcv1-like, path: FOLDER}`, as in configs/rcv1_like.yaml.

    many-labels has vectors with Zipf-distributed labels: three labels for every 20 training documents, and one test
    document in eleven. An experiment reads it with
    `corpus: {name: svmlight, path: train.svm, options: {test: test.svm}}`.
    """
    if what == "many-labels":
        known, labels = write_generated_labels(target, documents, seed)
        click.echo(f"{target}: {documents:,} documents ({known:,} training), {labels:,} labels")
        return
    made = generate_rcv1_like(target, documents, seed, training=training)
    click.echo(
        f"{target}: {made.documents:,} documents ({made.training_documents:,} training), {made.tokens:,} tokens"
    )


if __name__ == "__main__":
    run_command(generate, "python -m benchmarks.generate")
