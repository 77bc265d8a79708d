"""Learn features from training documents: document frequencies, selected terms, latent dimensions.

The features of a model are learned from all training documents. Those of a fold are learned from the fold's training
part alone: selection sees labels, and a document frequency counts documents, so what was learned from all documents has
seen the held-out ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from textcat.experiment.spec.experiment import ProjectionSettings, RunSettings
from textcat.selection import SelectionSettings, select_features
from textcat.splits import RowNumbers
from textcat.text.counting import CountedDocuments
from textcat.text.vectorizer import Vectorizer


def keeps_all_features(selection: SelectionSettings) -> bool:
    """Return whether every term of the vocabulary is kept for every category."""
    return selection.features == "all" and selection.minimum_documents <= 1


def scale_projection(
    features: NDArray[Any], settings: ProjectionSettings | None, singular_values: NDArray[Any]
) -> NDArray[np.float32]:
    """Return the leading dimensions of coordinates on all axes, scaled by the settings."""
    chosen = settings or ProjectionSettings(dimensions="full")
    dimensions = features.shape[1] if chosen.dimensions == "full" else chosen.dimensions
    projected = np.array(features[:, :dimensions], dtype=np.float32)
    if chosen.scaling == "inverse":
        projected /= singular_values[:dimensions].astype(np.float32)
    if chosen.length is not None:
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        projected *= np.float32(chosen.length) / np.where(lengths > 0, lengths, np.float32(1))
    return projected


@dataclass(frozen=True)
class Features:
    """What was learned from training documents: their vectors, the terms of each category, and the vectorizer.

    `held` are the vectors of other documents by the same features; `mask` is None where every term is kept.
    """

    vectorizer: Vectorizer
    kept: Any
    held: Any
    mask: NDArray[np.bool_] | None


@dataclass(frozen=True)
class FeatureSource:
    """Counted documents of which `rows` are training documents, and the settings of a run that make them vectors.

    `weighted`: the documents are vectors, which are taken as they are.
    """

    documents: CountedDocuments
    rows: RowNumbers
    run: RunSettings
    seed: int
    single_label: bool
    weighted: bool = False

    @classmethod
    def of_training(
        cls,
        documents: CountedDocuments,
        rows: RowNumbers,
        run: RunSettings,
        seed: int,
        *,
        single_label: bool,
        weighted: bool = False,
    ) -> FeatureSource:
        """Return the source without documents that have no part in the features of any fold."""
        if run.vector.vocabulary == "training":
            documents, rows = documents.take_rows(rows), np.arange(len(rows))
        return cls(documents, rows, run, seed, single_label, weighted)

    def take(self, rows: RowNumbers) -> FeatureSource:
        """Return the source of some of the training documents."""
        return replace(self, rows=self.rows[rows])

    def learn(self, kept: RowNumbers, held: RowNumbers, labels: NDArray[np.bool_]) -> Features:
        """Learn the features of the training documents `kept`, which have these labels, and apply them to others."""
        training = np.zeros(len(self.documents.ids), dtype=np.bool_)
        training[self.rows[kept]] = True
        vectorizer = Vectorizer.fit(
            self.documents, training, settings=self.run.vector, groups=self.run.text.groups
        )
        X, others = (self._weigh(vectorizer, self.rows[part]) for part in (kept, held))
        mask = None
        if not keeps_all_features(self.run.selection):
            mask = select_features(X, labels, self.run.selection)
        if self.run.projection is not None:
            X, others = self._project(X, others)
        return Features(vectorizer, X, others, mask)

    def _weigh(self, vectorizer: Vectorizer, rows: RowNumbers) -> sparse.csr_array[Any]:
        counts = sparse.csr_array(self.documents.counts[rows])
        if self.weighted:
            return counts
        return vectorizer.weigh(counts, np.arange(counts.shape[1], dtype=np.intp))

    def _project(self, X: Any, others: Any) -> tuple[Any, Any]:
        from textcat.learners.lsi import learn_axes  # noqa: PLC0415 - imports scipy.linalg

        chosen = self.run.projection
        wanted = None if chosen is None else chosen.computed or chosen.dimensions
        most = None if wanted in (None, "full") else int(wanted)
        if most is not None and most >= min(X.shape):
            most = None
        axes = learn_axes(sparse.csr_matrix(X), most, seed=self.seed)
        first, second = (
            scale_projection(axes.transform(sparse.csr_matrix(each)), chosen, axes.singular_values)
            for each in (X, others)
        )
        return first, second


def find_equal_documents(documents: CountedDocuments, rows: RowNumbers) -> RowNumbers:
    """Return a number for each of the rows, the same for documents of equal text.

    Where the reader keeps no texts, documents are equal whose counts are. Documents without terms are all different:
    nothing is learned from them.
    """
    counts = documents.counts
    if documents.texts is None:
        known: dict[bytes, int] = {}
        found = np.empty(len(rows), dtype=np.int64)
        for place, row in enumerate(rows):
            own = slice(counts.indptr[row], counts.indptr[row + 1])
            content = counts.indices[own].tobytes() + counts.data[own].tobytes()
            found[place] = known.setdefault(content, len(known))
    else:
        found = np.unique(documents.texts[rows], return_inverse=True)[1].astype(np.int64)
    empty = np.diff(counts.indptr)[rows] == 0
    found[empty] = len(rows) + np.arange(np.count_nonzero(empty))
    return found
