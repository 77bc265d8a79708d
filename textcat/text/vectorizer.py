"""Turn counts into vectors: choose the terms that are features, weigh them, scale documents to unit length.

The constant feature of the papers has no column here: the learners append it, after normalization.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, hstack

from textcat.errors import BadDataError, UsageError
from textcat.settings import GrowingSettings
from textcat.text.counting import CountedDocuments, pack_json, unpack_json
from textcat.text.text_settings import TermGroup
from textcat.text.weighting import (
    NormName,
    WeightingName,
    compute_concentrations,
    compute_term_weights,
    document_frequencies,
    scale_documents,
)

Number = TypeVar("Number", bound=np.generic)


class VectorSettings(GrowingSettings):
    """How counts of terms become vectors."""

    later = ("norm",)

    weighting: WeightingName = Field(
        default="binary",
        description="The weight of a term that occurs n times: 1 (binary), n (tf), 1 + ln n (log_tf), the "
        "last two times ln((D + 1) / (n(j) + 1)), where n(j) of D training documents contain the "
        "term (tf_idf, log_tf_idf), its share of the document times 1 - its entropy over the "
        "training documents (entropy_share), or that of Okapi BM25 with k1 = 1.2 and b = 0.75 "
        "(bm25).",
    )
    cosine: bool = Field(default=False, description="Whether documents are scaled to Euclidean length 1.")
    cosine_terms: Literal["all", "kept"] = Field(
        default="all",
        description="Whether the length of a document is taken over all its terms, or over its features "
        "(kept).",
    )
    vocabulary: Literal["training", "all"] = Field(
        default="training",
        description="Whether terms and minimum counts come from the training documents or from all documents.",
    )
    minimum_documents: int = Field(
        default=1, ge=1, description="Leave out terms that occur in fewer documents than this."
    )
    minimum_count: int = Field(
        default=1, ge=1, description="Leave out terms that occur fewer times than this in total."
    )
    norm: NormName | None = Field(
        default=None,
        description="The norm by which documents are divided: none, l1 (sum of weights) or l2 (Euclidean); "
        "default: l2 if `cosine`, else none.",
    )

    @property
    def divisor(self) -> NormName:
        """The norm by which documents are divided."""
        return self.norm or ("l2" if self.cosine else "none")


class _Part(NamedTuple):
    """The terms seen[start:end], how they are weighted and scaled, and their group if there are groups."""

    start: int
    end: int
    weighting: WeightingName
    norm: NormName
    weight: float
    group: TermGroup | None


@dataclass(frozen=True)
class Vectorizer:
    """The terms of the documents it was fitted on, which of them are features, and the statistics of their weights.

    `seen`: all terms, sorted; `containing`: the number of the `documents` training documents that contain each;
    `concentration`: 1 - its entropy over them; `kept`: whether it is a feature; `average_lengths`: mean length of the
    training documents, for BM25; `groups` and `group_ends`: the groups of terms, with the end of each in `seen`.
    """

    settings: VectorSettings
    seen: list[str]
    containing: NDArray[np.int64]
    concentration: NDArray[np.float64]
    documents: int
    kept: NDArray[np.bool_]
    average_lengths: tuple[float, ...] = ()
    groups: tuple[TermGroup, ...] = ()
    group_ends: tuple[int, ...] = ()

    @classmethod
    def fit(
        cls,
        counted: CountedDocuments,
        training: NDArray[np.bool_] | None = None,
        *,
        settings: VectorSettings,
        groups: tuple[TermGroup, ...] = (),
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
        documents = int(rows.sum())
        fitted = cls(
            settings, counted.terms, containing, compute_concentrations(train), documents, kept,
            groups=groups if counted.group_ends else (), group_ends=counted.group_ends,
        )  # fmt: skip
        for part in fitted.parts:
            if part.group is not None:
                own = slice(part.start, part.end)
                enough = document_frequencies(source)[own] >= part.group.minimum_documents
                kept[own] &= enough & (containing[own] <= part.group.maximum_share * documents)
        return replace(fitted, average_lengths=fitted._measure_lengths(train))

    @property
    def parts(self) -> list[_Part]:
        """The groups of terms with their columns and weighting; one part where there are no groups."""
        if not self.groups:
            return [_Part(0, len(self.seen), self.settings.weighting, self.settings.divisor, 1.0, None)]
        starts = (0, *self.group_ends[:-1])
        return [
            _Part(
                start, end, group.weighting or self.settings.weighting, group.norm or self.settings.divisor,
                group.weight, group,
            )
            for start, end, group in zip(starts, self.group_ends, self.groups, strict=True)
        ]  # fmt: skip

    def _measure_lengths(self, train: csr_array) -> tuple[float, ...]:
        """Return the mean number of occurrences of features in a training document, by part; only BM25 needs it."""
        if all(part.weighting != "bm25" for part in self.parts):
            return ()
        total = np.bincount(train.indices, weights=train.data, minlength=len(self.seen)) * self.kept
        return tuple(float(total[part.start : part.end].sum()) / self.documents for part in self.parts)

    @property
    def terms(self) -> list[str]:
        """The features, in the order of the columns."""
        return [self.seen[index] for index in np.flatnonzero(self.kept)]

    def transform(self, counted: CountedDocuments) -> csr_array:
        """Return documents x `terms`, float64; documents may contain terms that are not in `seen`.

        Equations of genkin_2004 section 5.1. A document without features is the zero vector.
        """
        return self.weigh(counted.counts, self._find_positions(counted.terms))

    def weigh(self, counts: csr_array, seen: NDArray[np.intp]) -> csr_array:
        """Return the same for counts whose columns are the terms at these positions of `seen`; -1 is another term."""
        if not self.groups:
            return self._weigh_part(0, counts, seen)
        blocks = [
            self._weigh_part(number, counts[:, part.start : part.end], seen[part.start : part.end])
            for number, part in enumerate(self.parts)
        ]
        return csr_array(hstack(blocks, format="csr"))

    def _weigh_part(self, number: int, counts: csr_array, seen: NDArray[np.intp]) -> csr_array:
        """Return the weighted and scaled features of one part, given the counts of its terms."""
        part = self.parts[number]
        containing = self._look_up(self.containing, seen)
        # A term of no training document is as concentrated as in `compute_concentrations`.
        concentration = np.where(seen >= 0, self._look_up(self.concentration, seen), 1.0)
        column = self._find_columns(seen) - int(np.count_nonzero(self.kept[: part.start]))
        is_feature = self._look_up(self.kept, seen)
        length = self.average_lengths[number] if self.average_lengths else 0.0
        weights = compute_term_weights(
            counts, part.weighting, containing, self.documents, concentration, is_feature, length
        )
        has_feature = is_feature[counts.indices]
        # A group is measured by its features: other n-grams are not even counted.
        all_terms = self.settings.cosine_terms == "all" and part.group is None
        measured = weights if all_terms else weights * has_feature
        weights = scale_documents(weights, counts, measured, part.norm) * part.weight
        used = has_feature & (weights != 0.0)
        ends = np.concatenate([[0], np.cumsum(used)])[counts.indptr]
        return csr_array(
            (weights[used], column[counts.indices[used]], ends.astype(np.int32)),
            shape=(counts.shape[0], int(self.kept[part.start : part.end].sum())),
        )

    def _look_up(self, statistic: NDArray[Number], seen: NDArray[np.intp]) -> NDArray[Number]:
        """Return the statistic of the terms at these positions of `seen`, 0 where the position is -1."""
        if not self.seen:
            return np.zeros(len(seen), statistic.dtype)
        return np.where(seen >= 0, statistic[seen], statistic.dtype.type(0))

    def _find_positions(self, terms: list[str]) -> NDArray[np.intp]:
        """Return the position of each term in `seen`, or -1."""
        if terms is self.seen or terms == self.seen:
            return np.arange(len(terms), dtype=np.intp)
        if self.groups:
            raise UsageError(
                "these documents were counted over other terms than the model's",
                hint="Count them with NgramDocumentCounter.",
            )
        position = {term: index for index, term in enumerate(self.seen)}
        return np.array([position.get(term, -1) for term in terms], dtype=np.intp)

    def _find_columns(self, seen: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the column of each term, given its position in `seen`; -1 if it is no feature."""
        if not self.seen:
            return np.full(len(seen), -1, dtype=np.int32)
        feature = np.where(self.kept, np.cumsum(self.kept) - 1, -1).astype(np.int32)
        return cast(NDArray[np.int32], np.where(seen >= 0, feature[seen], np.int32(-1)))

    def describe(self) -> dict[str, Any]:
        """Return the kind and the settings as JSON-able data."""
        described: dict[str, Any] = {"kind": "vectorizer", "settings": self.settings.model_dump(mode="json")}
        if self.average_lengths:
            described["average_lengths"] = list(self.average_lengths)
        if self.groups:
            described["groups"] = [group.model_dump(mode="json") for group in self.groups]
            described["group_ends"] = list(self.group_ends)
        return described

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
            raise _make_damage_error("the terms are not a list of words")
        counted = np.issubdtype(containing.dtype, np.integer) and kept.dtype == np.bool_
        whole = counted and np.issubdtype(concentration.dtype, np.floating)
        shapes = {containing.shape, concentration.shape, kept.shape}
        if not whole or shapes != {(len(seen),)}:
            raise _make_damage_error(f"its parts do not fit its {len(seen)} terms")
        settings = VectorSettings.model_validate(description["settings"])
        groups = tuple(map(TermGroup.model_validate, description.get("groups", ())))
        ends = tuple(map(int, description.get("group_ends", ())))
        if len(ends) != len(groups) or (groups and [*ends, len(seen)] != sorted([*ends, ends[-1]])):
            raise _make_damage_error("its groups do not fit its terms")
        lengths = tuple(map(float, description.get("average_lengths", ())))
        documents = arrays["documents"]
        counts = documents.shape == () and np.issubdtype(documents.dtype, np.integer) and documents >= 1
        if not counts or (len(seen) and not 0 <= containing.min() <= containing.max() <= documents):
            raise _make_damage_error("its numbers of documents are none")
        if not all(np.isfinite(length) and length >= 0 for length in lengths):
            raise _make_damage_error("a mean length of documents is none")
        fitted = cls(settings, seen, containing, concentration, int(documents), kept, lengths, groups, ends)
        if any(part.weighting == "bm25" for part in fitted.parts) and len(lengths) != len(fitted.parts):
            raise _make_damage_error("the mean lengths of documents are missing")
        return fitted


def _make_damage_error(what: str) -> BadDataError:
    return BadDataError(what, where="vectorizer", hint="Train the model again.")
