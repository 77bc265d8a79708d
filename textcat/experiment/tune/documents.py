"""The training documents of an experiment, counted once for each group of terms, as vectors of folds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from textcat.corpora import OWN_TEXT_FORMATS, list_vector_corpora, open_corpus
from textcat.corpora.document import Document
from textcat.corpora.own.documents import LABEL_NAME
from textcat.errors import UsageError
from textcat.evaluation.measures import make_dense_labels
from textcat.experiment.context import RunContext, Step
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.features import find_equal_documents
from textcat.experiment.steps.fetch import fetch_documents
from textcat.experiment.steps.tokenize import (
    Counts,
    make_tokenize_step,
    read_counts,
    stream_documents,
    write_counts,
)
from textcat.experiment.steps.vectorize import divide_documents
from textcat.splits import RowNumbers, make_folds
from textcat.text.counting import count_terms
from textcat.text.text_settings import COUNTING_KEYS, TermGroup
from textcat.text.vectorizer import Vectorizer, VectorSettings

Fold = tuple[RowNumbers, RowNumbers]
SINGLE_WORDS = TermGroup()
# The option of the reader of own documents.
LABEL_NAMES = "label_names"
# Texts are short with fewer different words than this on average.
SHORT_TEXT = 50
# Names of labels are tried as training documents where a label has fewer documents than this on average.
FEW_DOCUMENTS = 50
# With more words times labels than this, n-grams (about 25 for each word) would have more than 2 GB of weights.
MOST_WEIGHTS = 12_000_000
# Vectors of folds are kept for other configurations up to this many bytes.
KEPT_BYTES = 1_000_000_000


@dataclass(frozen=True)
class FoldVectors:
    """Vectors to train on and vectors to score."""

    kept: csr_array
    held: csr_array

    @property
    def bytes(self) -> int:
        """The memory of both."""
        return sum(part.data.nbytes + part.indices.nbytes for part in (self.kept, self.held))


@dataclass
class TrainingDocuments:
    """Training documents: `rows` of the collection with their `labels`, and the counts of the groups used so far.

    The last rows are those of the `names` of labels, of which no fold is part. Test documents are counted with the
    others but their rows are never taken.
    """

    experiment: Experiment
    context: RunContext
    folder: Path
    fingerprint: str
    rows: RowNumbers
    labels: NDArray[np.bool_]
    categories: list[str]
    ids: list[str]
    is_vectors: bool
    keeps_vectors: bool = True
    _counts: dict[str, Counts] = field(default_factory=dict)
    _vectors: OrderedDict[tuple[Any, ...], FoldVectors] = field(default_factory=OrderedDict)

    @classmethod
    def read(cls, experiment: Experiment, context: RunContext) -> TrainingDocuments:
        """Fetch and count the documents of an experiment, and divide them as it says."""
        if experiment.resample is not None:
            raise UsageError(
                "tune needs one division into training and test documents",
                where="resample",
                hint="Remove `resample`; for your own documents `corpus.options.ratio` draws test documents.",
            )
        found = cls._read(experiment, context)
        documents = found.labels.sum() / max(len(found.categories), 1)
        if experiment.corpus.name not in OWN_TEXT_FORMATS or documents >= FEW_DOCUMENTS:
            return found
        options = {**experiment.corpus.options, LABEL_NAMES: True}
        corpus = experiment.corpus.model_copy(update={"options": options})
        return cls._read(experiment.model_copy(update={"corpus": corpus}), context)

    @classmethod
    def _read(cls, experiment: Experiment, context: RunContext) -> TrainingDocuments:
        source = fetch_documents(experiment, context)
        is_vectors = experiment.corpus.name in list_vector_corpora()
        found = cls(
            experiment, context, source.path, source.fingerprint, np.empty(0, np.int64), np.empty((0, 0), np.bool_),
            [], [], is_vectors,
        )  # fmt: skip
        counts = found.count(SINGLE_WORDS)
        division = divide_documents(counts, experiment.corpus, None, 0)
        found.rows, found.categories = division.train, list(division.categories)
        found.labels = make_dense_labels(division.labels[division.train])
        found.ids = [counts.documents.ids[row] for row in division.train]
        return found

    @cached_property
    def names(self) -> RowNumbers:
        """The positions of the names of labels; none where they are no documents."""
        if not self.experiment.corpus.options.get(LABEL_NAMES):
            return np.empty(0, np.int64)
        return np.flatnonzero([each.startswith(LABEL_NAME) for each in self.ids])

    @property
    def number(self) -> int:
        """The number of documents without names of labels."""
        return len(self.rows) - len(self.names)

    def count(self, group: TermGroup) -> Counts:
        """Return the counts of a group, from memory, the cache or the text."""
        counted = _select_counting(group)
        key = counted.model_dump_json()
        if key not in self._counts:
            whole = self._counts.get(counted.model_copy(update={"minimum_documents": 1}).model_dump_json())
            self._counts[key] = (
                read_counts(self.make_step([counted]).build_folder(self.context))
                if whole is None or counted.bits
                else _keep_frequent(whole, counted.minimum_documents)
            )
        return self._counts[key]

    def has_counts(self, group: TermGroup) -> bool:
        """Return whether the counts of a group need no text: they are in memory or in the cache, or part of others."""
        counted = _select_counting(group)
        whole = counted.model_copy(update={"minimum_documents": 1})
        known = {counted.model_dump_json(), *([] if counted.bits else [whole.model_dump_json()])}
        return (
            bool(known & self._counts.keys())
            or self.context.store.find(self.make_step([counted]).recipe) is not None
        )

    def read_sample(self, characters: int) -> list[Document]:
        """Return the first documents, whose texts together have about this many characters."""
        corpus = self.experiment.corpus
        opened = open_corpus(corpus.name, self.folder, split=corpus.split or None, **corpus.options)
        found: list[Document] = []
        for document in stream_documents(opened):
            found.append(document)
            characters -= sum(map(len, document.fields.values()))
            if characters <= 0:
                break
        return found

    def count_sample(self, sample: Sequence[Document], group: TermGroup) -> int:
        """Count a group in some documents; return the number of different terms of each, summed over documents."""
        text = self.experiment.text.model_copy(update={"groups": (_select_counting(group),)})
        return int(count_terms(sample, text, missing_fields=True).counts.nnz)

    def make_step(self, groups: Sequence[TermGroup]) -> Step:
        """Return the step that counts groups; vectors have none."""
        text = self.experiment.text.model_copy(update={"groups": () if self.is_vectors else tuple(groups)})
        return make_tokenize_step(self.experiment, text, self.folder, self.fingerprint, keeps_texts=True)

    def share(self, groups: Sequence[TermGroup]) -> TrainingDocuments:
        """Return the documents with the counts of these groups alone, to be sent to workers; vectors are not kept."""
        counts = {
            _select_counting(group).model_dump_json(): self.count(group) for group in (SINGLE_WORDS, *groups)
        }
        context = RunContext(self.context.data)
        return replace(self, context=context, keeps_vectors=False, _counts=counts, _vectors=OrderedDict())

    def store_counts(self, groups: Sequence[TermGroup]) -> None:
        """Put the counts of several groups into the cache, from those of each, so that no text is read again."""
        replace(
            self.make_step(groups),
            make=lambda _, target: write_counts(
                target, _join_counts([self.count(group) for group in groups])
            ),
        ).build_artifact(self.context)

    @cached_property
    def texts(self) -> NDArray[np.int64]:
        """A number for each document without names of labels, the same for equal texts."""
        return find_equal_documents(self.count(SINGLE_WORDS).documents, self.rows[: self.number])

    def make_folds(self, folds: int, seed: int) -> list[Fold]:
        """Return the folds, as positions among the training documents: those of `LearningProblem.make_folds`."""
        labels = self.labels[: self.number]
        strata = labels.argmax(axis=1) if self.experiment.corpus.single_label else None
        return make_folds(len(labels), folds, seed=seed, strata=strata, groups=self.texts)

    def halve(self, held: RowNumbers) -> NDArray[np.int64]:
        """Return 0 or 1 for each of the documents, by turns; equal texts are in one half."""
        _, first, text = np.unique(self.texts[held], return_index=True, return_inverse=True)
        turn = np.empty(len(first), dtype=np.int64)
        turn[np.argsort(first)] = np.arange(len(first)) % 2
        return turn[text]

    def count_words(self) -> NDArray[np.int64]:
        """Return the number of different words of each training document."""
        return np.diff(self.count(SINGLE_WORDS).documents.counts.indptr)[self.rows].astype(np.int64)

    @property
    def has_short_texts(self) -> bool:
        """Whether training documents have few different words on average."""
        return not self.is_vectors and bool(self.count_words().mean() < SHORT_TEXT)

    @property
    def is_large(self) -> bool:
        """Whether there are so many words and labels that n-grams are left out."""
        return len(self.count(SINGLE_WORDS).documents.terms) * len(self.categories) > MOST_WEIGHTS

    def make_vectors(self, groups: Sequence[TermGroup], fold: Fold, name: str) -> FoldVectors:
        """Return the vectors of a fold; vocabulary and document frequencies are those of the rows to train on.

        `name` identifies the fold among those of this search.
        """
        if self.is_vectors:
            X = self.count(SINGLE_WORDS).documents.counts
            return FoldVectors(*(csr_array(X[self.rows[part]]) for part in fold))
        parts = [self._make_group(group, fold, name) for group in groups]
        weights = [group.weight for group in groups]
        return FoldVectors(
            _join([part.kept for part in parts], weights), _join([part.held for part in parts], weights)
        )

    def _make_group(self, group: TermGroup, fold: Fold, name: str) -> FoldVectors:
        """Return the vectors of one group with weight 1, which configurations share."""
        one = group.model_copy(update={"weight": 1.0})
        key = (name, one.model_dump_json())
        if key in self._vectors:
            self._vectors.move_to_end(key)
            return self._vectors[key]
        documents = self.count(group).documents
        kept, held = self.rows[fold[0]], self.rows[fold[1]]
        training = np.zeros(len(documents.ids), dtype=np.bool_)
        training[kept] = True
        vectorizer = Vectorizer.fit(documents, training, settings=VectorSettings(), groups=(one,))
        seen = np.arange(len(documents.terms), dtype=np.intp)
        vectors = FoldVectors(
            *(vectorizer.weigh(csr_array(documents.counts[rows]), seen) for rows in (kept, held))
        )
        if self.keeps_vectors:
            self._vectors[key] = vectors
            while sum(each.bytes for each in self._vectors.values()) > KEPT_BYTES and len(self._vectors) > 1:
                self._vectors.popitem(last=False)
        return vectors


def _select_counting(group: TermGroup) -> TermGroup:
    """Return the group with only what decides its counts."""
    return TermGroup(**group.model_dump(include=set(COUNTING_KEYS)))


def _keep_frequent(counts: Counts, minimum: int) -> Counts:
    """Return the counts of the terms that occur in at least `minimum` documents, as if others had not been counted."""
    documents = counts.documents
    frequent = np.bincount(documents.counts.indices, minlength=len(documents.terms)) >= minimum
    kept = replace(
        documents,
        counts=csr_array(documents.counts[:, np.flatnonzero(frequent)]),
        terms=list(compress(documents.terms, frequent)),
        group_ends=(int(frequent.sum()),),
    )
    return replace(counts, documents=kept)


def _join_counts(parts: Sequence[Counts]) -> Counts:
    """Return the counts of groups of terms side by side, as if they had been counted together."""
    documents = [part.documents for part in parts]
    joined = replace(
        documents[0],
        counts=csr_array(hstack([each.counts for each in documents], format="csr", dtype=np.int32)),
        terms=[term for each in documents for term in each.terms],
        group_ends=tuple(accumulate(len(each.terms) for each in documents)),
    )
    return replace(parts[0], documents=joined)


def _join(parts: Sequence[csr_array], weights: Sequence[float]) -> csr_array:
    """Return weighted groups of terms side by side."""
    if len(parts) == 1 and weights[0] == 1.0:
        return parts[0]
    scaled = [part if weight == 1.0 else part * weight for part, weight in zip(parts, weights, strict=True)]
    return csr_array(hstack(scaled, format="csr"))
