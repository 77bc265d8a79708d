"""Turn counts into the vectors of a run.

Documents are divided into training and test documents, weighted, and have selected terms or are projected.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from textcat.corpora.own.documents import count_label_documents
from textcat.errors import StageFailedError, UsageError
from textcat.evaluation.measures import SparseLabels, count_positives, make_dense_labels, take_columns
from textcat.evaluation.one_label import find_columns
from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import (
    CorpusSettings,
    Experiment,
    ResampleSettings,
    RunSettings,
)
from textcat.experiment.steps.features import FeatureSource, keeps_all_features, scale_projection
from textcat.experiment.steps.learner import LearningProblem
from textcat.experiment.steps.tokenize import Counts, read_counts
from textcat.selection import select_features
from textcat.splits import RowNumbers, draw_random_split, make_folds
from textcat.store import Recipe
from textcat.store.arrays import (
    Folder,
    is_large,
    read_array,
    read_json,
    read_mask,
    read_matrix,
    write_array,
    write_json,
    write_mask,
    write_matrix,
)
from textcat.text.counting import CountedDocuments
from textcat.text.vectorizer import Vectorizer

# Only in artifacts of documents with names of labels.
NAMES_FILE = "names"


@dataclass(frozen=True)
class Division:
    """Rows of training and test documents, the chosen categories, and the labels of all documents in them.

    Labels are sparse: documents x categories of a large collection do not fit into memory. The last `names` training
    documents are names of labels.
    """

    train: RowNumbers
    test: RowNumbers
    categories: list[str]
    labels: SparseLabels
    names: int = 0


def divide_documents(
    counts: Counts, corpus: CorpusSettings, resample: ResampleSettings | None, repeat: int
) -> Division:
    """Return the division of one repetition (0 without `resample`)."""
    _require_documents(counts, corpus)
    _require_categories(counts.categories, counts, corpus)
    labels = counts.documents.make_sparse_labels(counts.categories)
    named = count_label_documents(counts.documents.ids) if corpus.options.get("label_names") else 0
    train, test = _split_rows(counts, labels, resample, repeat, named)
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
    return Division(train, test, names, labels, int(np.sum(train >= labels.shape[0] - named)))


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
    counts: Counts, labels: SparseLabels, resample: ResampleSettings | None, repeat: int, named: int
) -> tuple[RowNumbers, RowNumbers]:
    """Return training and test rows; the last `named` rows, which are names of labels, are training rows."""
    if resample is None:
        split = np.asarray(counts.documents.split)
        return np.flatnonzero(split == "train"), np.flatnonzero(split == "test")
    own = labels.shape[0] - named
    strata = np.maximum(find_columns(labels[:own]), 0) if resample.stratify else None
    if resample.kind == "folds":
        train, test = make_folds(own, resample.number, seed=resample.seed, strata=strata)[repeat]
    else:
        share = resample.train_share
        train, test = draw_random_split(own, repeat, train_share=share, seed=resample.seed, strata=strata)
    return np.concatenate([train, np.arange(own, labels.shape[0])]), test


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


@dataclass(frozen=True)
class Vectors:
    """Vectors and labels of training and test documents, all sparse.

    The last `names` training documents are names of labels, which are learned from but not counted.
    """

    train: sparse.csr_array[Any]
    test: sparse.csr_array[Any]
    train_labels: SparseLabels
    test_labels: SparseLabels
    categories: Sequence[str]
    terms: Sequence[str]
    train_ids: Sequence[str]
    test_ids: Sequence[str]
    names: int = 0

    @property
    def train_documents(self) -> int:
        """The number of training documents."""
        return int(self.train_labels.shape[0]) - self.names

    @property
    def own_labels(self) -> SparseLabels:
        """The labels of the training documents without names of labels."""
        return self.train_labels[: self.train_documents] if self.names else self.train_labels

    @cached_property
    def train_counts(self) -> NDArray[np.int64]:
        """Training documents of each category."""
        return count_positives(self.own_labels)

    @property
    def priors(self) -> NDArray[np.float64]:
        """Share of each category in the training documents."""
        return self.train_counts / max(self.train_documents, 1)


def make_vectorize_step(experiment: Experiment, run: RunSettings, repeat: int, tokenized: Step) -> Step:
    """Return the step that divides documents, takes the vocabulary of the training part and weights it."""
    resample = experiment.resample
    parameters: dict[str, Any] = {
        "corpus": experiment.corpus.model_dump(
            mode="json", include={"categories", "documents", "learn"}, exclude_none=True
        ),
        "resample": resample.model_dump(mode="json") if resample else None,
        "repeat": repeat,
        "vector": run.vector.model_dump(mode="json"),
    }
    if run.text.groups:
        parameters["groups"] = [group.model_dump(mode="json") for group in run.text.groups]
    recipe = Recipe("vectorize", 2, parameters, make_recipe_inputs(counts=tokenized))

    def make(context: RunContext, target: Path) -> None:
        counts = read_counts(tokenized.build_folder(context))
        division = divide_documents(counts, experiment.corpus, resample, repeat)
        documents = counts.documents
        training = _make_mask(division.train, documents)
        vectorizer = Vectorizer.fit(documents, training, settings=run.vector, groups=run.text.groups)
        for part, rows in (("train", division.train), ("test", division.test)):
            chosen = documents.take(_make_mask(rows, documents))
            write_matrix(target, part, chosen.counts if counts.weighted else vectorizer.transform(chosen))
            write_matrix(target, f"{part}.labels", division.labels[rows].astype(np.int8))
            write_json(target, f"{part}.ids", chosen.ids)
        save_vectorizer(target, vectorizer)
        if division.names:
            write_json(target, NAMES_FILE, division.names)
        write_json(target, "categories", division.categories)
        write_json(target, "terms", documents.terms if counts.weighted else vectorizer.terms)

    part = f" ({repeat + 1} of {resample.number})" if resample else ""
    return Step("select", f"vectorize {experiment.corpus.name}{part}", recipe, make, (tokenized,))


def read_vectors(folder: Path) -> Vectors:
    """Read the vectors of a vectorize artifact; large matrices are mapped from disk."""
    return Vectors(
        train=read_matrix(folder, "train", mapped=is_large(folder, "train")),
        test=read_matrix(folder, "test", mapped=is_large(folder, "test")),
        train_labels=read_labels(folder, "train"),
        test_labels=read_labels(folder, "test"),
        categories=read_json(folder, "categories"),
        terms=read_json(folder, "terms"),
        train_ids=read_json(folder, "train.ids"),
        test_ids=read_json(folder, "test.ids"),
        names=count_names(folder),
    )


def count_names(folder: Path) -> int:
    """Return how many of the last training documents of a vectorize artifact are names of labels."""
    return int(read_json(folder, NAMES_FILE)) if (folder / f"{NAMES_FILE}.json").exists() else 0


def read_labels(folder: Path, part: str) -> SparseLabels:
    """Return the labels of the training or test documents of a vectorize artifact."""
    return sparse.csr_array(read_matrix(folder, f"{part}.labels").astype(np.bool_))


def _make_mask(rows: NDArray[np.int64], documents: CountedDocuments) -> NDArray[np.bool_]:
    mask = np.zeros(len(documents.ids), dtype=np.bool_)
    mask[rows] = True
    return mask


def save_vectorizer(folder: Path, vectorizer: Vectorizer) -> None:
    """Write the fitted vectorizer, which weights new documents."""
    for name, values in vectorizer.to_arrays().items():
        write_array(folder, f"vectorizer.{name}", values)
    write_json(folder, "vectorizer", vectorizer.describe())


def read_vectorizer(folder: Folder) -> Vectorizer:
    """Read the fitted vectorizer."""
    names = ("seen", "containing", "concentration", "documents", "kept")
    arrays = {name: read_array(folder, f"vectorizer.{name}") for name in names}
    return Vectorizer.from_arrays(arrays, read_json(folder, "vectorizer"))


def make_select_step(run: RunSettings, vectorized: Step) -> Step | None:
    """Return the step that selects terms, or None where every term is kept."""
    if keeps_all_features(run.selection):
        return None
    parameters = run.selection.model_dump(mode="json", exclude={"folds"})
    recipe = Recipe("select", 1, parameters, make_recipe_inputs(vectors=vectorized))

    def make(context: RunContext, target: Path) -> None:
        vectors = read_vectors(vectorized.build_folder(context))
        labels = make_dense_labels(vectors.train_labels)
        write_mask(target, "mask", select_features(vectors.train, labels, run.selection))

    title = f"select {run.selection.features} features by {run.selection.score}"
    if run.selection.features == "all":
        title = f"select features of {run.selection.minimum_documents} documents"
    return Step("select", title, recipe, make, (vectorized,))


def read_selection(step: Step | None, context: RunContext) -> NDArray[Any] | None:
    """Return the mask of selected terms, terms x categories, or None where every term is kept."""
    if step is None:
        return None
    mask: NDArray[np.bool_] = read_mask(step.build_folder(context), "mask")
    return mask


def make_project_step(run: RunSettings, seed: int, vectorized: Step) -> Step | None:
    """Return the step that projects documents, or None without `projection`."""
    if run.projection is None:
        return None
    wanted = run.projection.computed or run.projection.dimensions
    recipe = Recipe("project", 1, {"computed": wanted, "seed": seed}, make_recipe_inputs(vectors=vectorized))

    def make(context: RunContext, target: Path) -> None:
        vectors = read_vectors(vectorized.build_folder(context))
        train, test = sparse.csr_matrix(vectors.train), sparse.csr_matrix(vectors.test)
        from textcat.learners.lsi import learn_axes  # noqa: PLC0415 - imports scipy.linalg

        axes = learn_axes(train, None if wanted == "full" else int(wanted), seed=seed)
        write_array(target, "train", axes.transform(train))
        write_array(target, "test", axes.transform(test))
        for name, values in axes.to_arrays().items():
            write_array(target, name, values)

    return Step("select", f"project on {wanted} latent dimensions", recipe, make, (vectorized,))


@dataclass(frozen=True)
class LearningSteps:
    """The settings of a run, its seed, and the steps that make its learning problem."""

    settings: RunSettings
    seed: int
    corpus: CorpusSettings
    resample: ResampleSettings | None
    repeat: int
    tokenized: Step
    vectorized: Step
    selected: Step | None
    projected: Step | None

    def assemble_problem(self, context: RunContext) -> LearningProblem:
        """Return the learning problem of the run's training documents."""
        vectors = read_vectors(self.vectorized.build_folder(context))
        X, mask = self.read_matrix(context, vectors, "train"), read_selection(self.selected, context)
        problem = LearningProblem(
            X, vectors.train_labels, mask, self.seed, vectors.names, self._make_source(context)
        )
        wanted = self.settings.train_documents
        return problem if wanted is None else _sample_documents(problem, wanted)

    def _make_source(self, context: RunContext) -> FeatureSource | None:
        """Return what folds learn their features from; None where they use those of all documents."""
        if self.settings.selection.folds == "once":
            return None
        counts = read_counts(self.tokenized.build_folder(context))
        division = divide_documents(counts, self.corpus, self.resample, self.repeat)
        return FeatureSource.of_training(
            counts.documents,
            division.train,
            self.settings,
            self.seed,
            single_label=self.corpus.single_label,
            weighted=counts.weighted,
        )

    def describe_folds(self) -> dict[str, str]:
        """Return what the keys of artifacts that depend on folds say about them."""
        chosen = self.settings.selection.folds
        return {} if chosen == "once" else {"folds_learn": chosen}

    def read_matrix(self, context: RunContext, vectors: Vectors, part: Literal["train", "test"]) -> Any:
        """Return the training or test documents as the run's learner sees them."""
        if self.projected is None:
            return getattr(vectors, part)
        folder = self.projected.build_folder(context)
        features, singular_values = (
            read_array(folder, part, mapped=True),
            read_array(folder, "singular_values"),
        )
        return scale_projection(features, self.settings.projection, singular_values)


def _sample_documents(problem: LearningProblem, documents: int) -> LearningProblem:
    """Draw documents by the seed and keep their order; a smaller sample is part of a larger one."""
    order = np.random.default_rng(problem.seed).permutation(problem.documents)
    return problem.rows(problem.add_names(np.sort(order[:documents])))
