"""Turn counts into weighted vectors of training and test documents, with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import Experiment, RunSettings
from textcat.experiment.steps.divide import divide_documents
from textcat.experiment.steps.step import Step, make_recipe_inputs
from textcat.experiment.steps.tokenize import read_counts
from textcat.store import Recipe
from textcat.store.arrays import (
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


@dataclass(frozen=True)
class Vectors:
    """Vectors and labels of training and test documents."""

    train: sparse.csr_array[Any]
    test: sparse.csr_array[Any]
    train_labels: NDArray[np.bool_]
    test_labels: NDArray[np.bool_]
    categories: Sequence[str]
    terms: Sequence[str]
    train_ids: Sequence[str]
    test_ids: Sequence[str]

    @cached_property
    def train_counts(self) -> NDArray[np.int64]:
        """Training documents of each category."""
        return np.asarray(self.train_labels.sum(axis=0), dtype=np.int64)

    @property
    def priors(self) -> NDArray[np.float64]:
        """Share of each category in the training documents."""
        return self.train_counts / max(len(self.train_labels), 1)


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
        counts = read_counts(tokenized.build_artifact(context).folder)
        division = divide_documents(counts, experiment.corpus, resample, repeat)
        documents = counts.documents
        training = _make_mask(division.train, documents)
        vectorizer = Vectorizer.fit(documents, training, settings=run.vector, groups=run.text.groups)
        for part, rows in (("train", division.train), ("test", division.test)):
            chosen = documents.take(_make_mask(rows, documents))
            write_matrix(target, part, chosen.counts if counts.weighted else vectorizer.transform(chosen))
            write_mask(target, f"{part}.labels", division.labels[rows])
            write_json(target, f"{part}.ids", chosen.ids)
        save_vectorizer(target, vectorizer)
        write_json(target, "categories", division.categories)
        write_json(target, "terms", documents.terms if counts.weighted else vectorizer.terms)

    part = f" ({repeat + 1} of {resample.number})" if resample else ""
    return Step("select", f"vectorize {experiment.corpus.name}{part}", recipe, make, (tokenized,))


def read_vectors(folder: Path) -> Vectors:
    """Read the vectors of a vectorize artifact; large matrices are mapped from disk."""
    return Vectors(
        train=read_matrix(folder, "train", mapped=is_large(folder, "train")),
        test=read_matrix(folder, "test", mapped=is_large(folder, "test")),
        train_labels=read_mask(folder, "train.labels"),
        test_labels=read_mask(folder, "test.labels"),
        categories=read_json(folder, "categories"),
        terms=read_json(folder, "terms"),
        train_ids=read_json(folder, "train.ids"),
        test_ids=read_json(folder, "test.ids"),
    )


def _make_mask(rows: NDArray[np.int64], documents: CountedDocuments) -> NDArray[np.bool_]:
    mask = np.zeros(len(documents.ids), dtype=np.bool_)
    mask[rows] = True
    return mask


def save_vectorizer(folder: Path, vectorizer: Vectorizer) -> None:
    """Write the fitted vectorizer, which weights new documents."""
    for name, values in vectorizer.to_arrays().items():
        write_array(folder, f"vectorizer.{name}", values)
    write_json(folder, "vectorizer", vectorizer.describe())


def read_vectorizer(folder: Path) -> Vectorizer:
    """Read the fitted vectorizer."""
    names = ("seen", "containing", "concentration", "documents", "kept")
    arrays = {name: read_array(folder, f"vectorizer.{name}") for name in names}
    return Vectorizer.from_arrays(arrays, read_json(folder, "vectorizer"))
