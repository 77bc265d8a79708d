"""Turn counts into vectors: choose the terms that are features, weigh them, scale documents to unit length.

The constant feature of the papers has no column here: the learners append it, after normalization.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy.sparse import csr_array

from textcat.errors import BadDataError, UsageError
from textcat.text.counting import CountedDocuments, pack_json, unpack_json
from textcat.text.weighting import (
    WeightingName,
    compute_concentrations,
    compute_term_weights,
    document_frequencies,
    inverse_document_frequencies,
    scale_to_unit_length,
)


class VectorSettings(BaseModel):
    """How counts of terms become vectors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weighting: WeightingName = Field(
        "binary",
        description=(
            "The weight of a term that occurs n times: 1 (binary), n (tf), 1 + ln n (log_tf), the last two times "
            "ln((D + 1) / (n(j) + 1)), where n(j) of D training documents contain the term (tf_idf, log_tf_idf), "
            "or its share of the document times 1 - its entropy over the training documents (entropy_share)."
        ),
    )
    cosine: bool = Field(False, description="Whether documents are scaled to Euclidean length 1.")
    cosine_terms: Literal["all", "kept"] = Field(
        "all",
        description="Whether the length of a document is taken over all its terms, or over its features (kept).",
    )
    vocabulary: Literal["training", "all"] = Field(
        "training",
        description="Whether terms and minimum counts come from the training documents or from all documents.",
    )
    minimum_documents: int = Field(
        1, ge=1, description="Leave out terms that occur in fewer documents than this."
    )
    minimum_count: int = Field(
        1, ge=1, description="Leave out terms that occur fewer times than this in total."
    )


@dataclass(frozen=True)
class Vectorizer:
    """The terms of the documents it was fitted on, which of them are features, and the statistics of their weights.

    `seen`: all terms, sorted; `containing`: the number of the `documents` training documents that contain each;
    `concentration`: 1 - its entropy over them; `kept`: whether it is a feature.
    """

    settings: VectorSettings
    seen: list[str]
    containing: NDArray[np.int64]
    concentration: NDArray[np.float64]
    documents: int
    kept: NDArray[np.bool_]

    @classmethod
    def fit(
        cls, counted: CountedDocuments, training: NDArray[np.bool_] | None = None, *, settings: VectorSettings
    ) -> Vectorizer:
        """Choose the features; `training` is a mask of the training rows, by default those of the split `train`."""
        rows = counted.in_split("train") if training is None else training
        if not rows.any():
            raise UsageError(
                "no training document to take terms from",
                hint="Choose a split of the corpus that has training documents.",
            )
        train = counted.take(rows).counts
        containing = document_frequencies(train)
        source = train if settings.vocabulary == "training" else counted.counts
        kept = (document_frequencies(source) >= settings.minimum_documents) & (
            np.bincount(source.indices, weights=source.data, minlength=len(counted.terms))
            >= settings.minimum_count
        )
        return cls(settings, counted.terms, containing, compute_concentrations(train), int(rows.sum()), kept)

    @property
    def terms(self) -> list[str]:
        """The features, in the order of the columns."""
        return [self.seen[index] for index in np.flatnonzero(self.kept)]

    def transform(self, counted: CountedDocuments) -> csr_array:
        """Return documents x `terms`, float64; documents may contain terms that are not in `seen`.

        Equations of genkin_2004 section 5.1. A document without features is the zero vector.
        """
        return self.weighted(counted.counts, self._find_positions(counted.terms))

    def weighted(self, counts: csr_array, seen: NDArray[np.intp]) -> csr_array:
        """Return the same for counts whose columns are the terms at these positions of `seen`; -1 is another term."""
        containing = (
            np.where(seen >= 0, self.containing[seen], 0) if self.seen else np.zeros(len(seen), np.int64)
        )
        column = self._columns(seen)
        concentration = (
            np.where(seen >= 0, self.concentration[seen], 0.0) if self.seen else np.zeros(len(seen))
        )
        weights = compute_term_weights(
            counts,
            self.settings.weighting,
            inverse_document_frequencies(containing, self.documents),
            concentration,
            column >= 0,
        )
        has_feature = column[counts.indices] >= 0
        if self.settings.cosine:
            measured = weights if self.settings.cosine_terms == "all" else weights * has_feature
            weights = scale_to_unit_length(weights, counts, measured)
        used = has_feature & (weights != 0.0)
        ends = np.concatenate([[0], np.cumsum(used)])[counts.indptr]
        return csr_array(
            (weights[used], column[counts.indices[used]], ends.astype(np.int32)),
            shape=(counts.shape[0], int(self.kept.sum())),
        )

    def _find_positions(self, terms: list[str]) -> NDArray[np.intp]:
        """Return the position of each term in `seen`, or -1."""
        if terms is self.seen or terms == self.seen:
            return np.arange(len(terms), dtype=np.intp)
        position = {term: index for index, term in enumerate(self.seen)}
        return np.array([position.get(term, -1) for term in terms], dtype=np.intp)

    def _columns(self, seen: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the column of each term, given its position in `seen`; -1 if it is no feature."""
        if not self.seen:
            return np.full(len(seen), -1, dtype=np.int32)
        feature = np.where(self.kept, np.cumsum(self.kept) - 1, -1).astype(np.int32)
        return cast(NDArray[np.int32], np.where(seen >= 0, feature[seen], np.int32(-1)))

    def describe(self) -> dict[str, Any]:
        """Return the kind and the settings as JSON-able data."""
        return {"kind": "vectorizer", "settings": self.settings.model_dump(mode="json")}

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all data as arrays."""
        return {
            "seen": pack_json(self.seen),
            "containing": self.containing,
            "concentration": self.concentration,
            "documents": np.array(self.documents, dtype=np.int64),
            "kept": self.kept,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> Vectorizer:
        """Rebuild a vectorizer from `to_arrays` and `describe`; refuse parts that do not fit together."""
        seen, kept = unpack_json(arrays["seen"]), arrays["kept"]
        containing, concentration = arrays["containing"], arrays["concentration"]
        if not isinstance(seen, list) or not all(isinstance(term, str) for term in seen):
            raise BadDataError(
                "the terms are not a list of words", where="vectorizer", hint="Train the model again."
            )
        counted = np.issubdtype(containing.dtype, np.integer) and kept.dtype == np.bool_
        whole = counted and np.issubdtype(concentration.dtype, np.floating)
        shapes = {containing.shape, concentration.shape, kept.shape}
        if not whole or shapes != {(len(seen),)}:
            raise BadDataError(
                f"its parts do not fit its {len(seen)} terms",
                where="vectorizer",
                hint="Train the model again.",
            )
        settings = VectorSettings.model_validate(description["settings"])
        return cls(settings, seen, containing, concentration, int(arrays["documents"]), kept)
