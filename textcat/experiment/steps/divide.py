"""Divide counted documents into training and test documents, and choose the categories."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from textcat.errors import StageFailedError, UsageError
from textcat.evaluation.measures import count_positives, take_columns
from textcat.evaluation.one_label import find_columns
from textcat.experiment.spec.experiment import CorpusSettings, ResampleSettings
from textcat.experiment.steps.tokenize import Counts
from textcat.splits import RowNumbers, draw_random_split, make_folds


@dataclass(frozen=True)
class Division:
    """Rows of training and test documents, the chosen categories, and the labels of all documents in them.

    Labels are sparse: documents x categories of a large collection do not fit into memory.
    """

    train: RowNumbers
    test: RowNumbers
    categories: list[str]
    labels: csr_array[Any]


def divide_documents(
    counts: Counts, corpus: CorpusSettings, resample: ResampleSettings | None, repeat: int
) -> Division:
    """Return the division of one repetition (0 without `resample`)."""
    _require_documents(counts, corpus)
    _require_categories(counts.categories, counts, corpus)
    labels = counts.documents.make_sparse_labels(counts.categories)
    train, test = _split_rows(counts, labels, resample, repeat)
    _require_both_sides(train, test, corpus)
    kept = _choose_categories(counts, corpus, labels[train], labels[test])
    _require_categories(kept, counts, corpus)
    labels = take_columns(labels, kept)
    if corpus.documents == "labelled":
        labelled = np.flatnonzero(np.diff(labels.indptr))
        train, test = np.intersect1d(train, labelled), np.intersect1d(test, labelled)
        _require_both_sides(train, test, corpus)
    names = [counts.categories[column] for column in kept]
    if corpus.learn is not None:
        learned = _find_columns(names, corpus.learn)
        names, labels = corpus.learn, take_columns(labels, learned)
    return Division(train, test, names, labels)


def _require_documents(counts: Counts, corpus: CorpusSettings) -> None:
    if not len(counts.documents.ids):
        folders = "Put a folder for each class there, with the documents in it."
        raise StageFailedError(
            f"there are no documents in {corpus.path or corpus.name}",
            where=corpus.name,
            hint=folders if corpus.name == "folders" else "Fix `corpus.path` or its options.",
        )


def _require_both_sides(train: RowNumbers, test: RowNumbers, corpus: CorpusSettings) -> None:
    if not len(train) or not len(test):
        raise StageFailedError(
            f"{corpus.name}: {len(train)} training and {len(test)} test documents after the split",
            hint="Choose another `corpus.split`, or let `resample` make one.",
        )


def _require_categories(categories: Sized, counts: Counts, corpus: CorpusSettings) -> None:
    if not len(categories):
        raise StageFailedError(
            f"{corpus.name}: none of the {len(counts.documents.ids):,} documents has a label that is kept",
            hint="Check the labels of the documents, and `categories` and `options` of `corpus`.",
        )


def _split_rows(
    counts: Counts, labels: csr_array[Any], resample: ResampleSettings | None, repeat: int
) -> tuple[RowNumbers, RowNumbers]:
    if resample is None:
        split = np.asarray(counts.documents.split)
        return np.flatnonzero(split == "train"), np.flatnonzero(split == "test")
    strata = np.maximum(find_columns(labels), 0) if resample.stratify else None
    if resample.kind == "folds":
        return make_folds(labels.shape[0], resample.number, seed=resample.seed, strata=strata)[repeat]
    share = resample.train_share
    return draw_random_split(labels.shape[0], repeat, train_share=share, seed=resample.seed, strata=strata)


def _choose_categories(counts: Counts, corpus: CorpusSettings, train: Any, test: Any) -> RowNumbers:
    if isinstance(corpus.categories, list):
        return _find_columns(counts.categories, corpus.categories)
    in_train, in_test = (count_positives(labels) > 0 for labels in (train, test))
    chosen = {
        "all": np.ones(len(counts.categories), dtype=bool),
        "train": in_train,
        "train-or-test": in_train | in_test,
        "train-and-test": in_train & in_test,
    }[corpus.categories]
    return np.flatnonzero(chosen)


def _find_columns(categories: Sequence[str], wanted: list[str]) -> RowNumbers:
    column = {name: position for position, name in enumerate(categories)}
    unknown = [name for name in wanted if name not in column]
    if unknown:
        raise UsageError(
            f"the corpus has no category {', '.join(map(repr, unknown))}",
            hint=f"It has {', '.join(sorted(column)[:20])}{' ...' if len(column) > 20 else ''}.",
        )
    return np.array([column[name] for name in wanted], dtype=np.int64)
