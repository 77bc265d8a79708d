"""Weights of terms in documents, computed from counts, and scaling to unit length."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

NormName = Literal["none", "l1", "l2"]
WeightingName = Literal["binary", "tf", "log_tf", "tf_idf", "log_tf_idf", "entropy_share", "bm25"]


def document_frequencies(counts: csr_array) -> NDArray[np.int64]:
    """Return the number of documents that contain each term."""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)


def inverse_document_frequencies(containing: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Return ln((|D| + 1) / (n(j) + 1)), genkin_2004 section 5.1; n(j) is `containing` and may be 0."""
    return cast(NDArray[np.float64], np.log((documents + 1.0) / (containing + 1.0)))


def compute_concentrations(counts: csr_array) -> NDArray[np.float64]:
    """Return 1 - the normalized entropy of each term over the documents, Bellegarda (2000).

    It is 1 for a term in one document or none, and 0 for a term spread evenly over all documents.
    """
    total = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
    share = counts.data / total[counts.indices]
    spread = np.bincount(counts.indices, weights=share * np.log(share), minlength=counts.shape[1])
    concentration: NDArray[np.float64] = 1.0 + spread / np.log(max(counts.shape[0], 2))
    return concentration


def compute_shares(counts: csr_array, counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each count divided by the sum of its document's counts of the `counted` terms."""
    rows, lengths = _number_rows(counts), _measure_lengths(counts, counted)
    share: NDArray[np.float64] = counts.data / np.maximum(lengths[rows], 1.0)
    return share


def weigh_counts(
    counts: csr_array, weighting: WeightingName, inverse_frequencies: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weights of `counts.data`; log_tf is 1 + ln n(i, j), genkin_2004 section 5.1."""
    if weighting == "binary":
        return np.ones(counts.nnz)
    weights = counts.data.astype(np.float64)
    if weighting in ("log_tf", "log_tf_idf"):
        weights = 1.0 + np.log(weights)
    if weighting in ("tf_idf", "log_tf_idf"):
        weights *= inverse_frequencies[counts.indices]
    return weights


def compute_term_weights(
    counts: csr_array,
    weighting: WeightingName,
    containing: NDArray[np.int64],
    documents: int,
    concentration: NDArray[np.float64],
    counted: NDArray[np.bool_],
    average_length: float,
) -> NDArray[np.float64]:
    """Return the weights of any weighting; lengths of documents are sums of the `counted` terms."""
    if weighting == "entropy_share":
        return compute_shares(counts, counted) * concentration[counts.indices]
    if weighting == "bm25":
        return compute_bm25(counts, containing, documents, counted, average_length)
    return weigh_counts(counts, weighting, inverse_document_frequencies(containing, documents))


BM25_SATURATION, BM25_LENGTH = 1.2, 0.75


def compute_bm25(
    counts: csr_array,
    containing: NDArray[np.int64],
    documents: int,
    counted: NDArray[np.bool_],
    average_length: float,
) -> NDArray[np.float64]:
    """Return the weights of Okapi BM25 with k1 = 1.2 and b = 0.75; lengths are sums of the `counted` terms."""
    lengths = _measure_lengths(counts, counted)
    relative = 1.0 - BM25_LENGTH + BM25_LENGTH * lengths / (average_length or 1.0)
    inverse = np.log1p((documents - containing + 0.5) / (containing + 0.5))
    saturated = counts.data * (BM25_SATURATION + 1.0)
    saturated /= counts.data + BM25_SATURATION * relative[_number_rows(counts)]
    weights: NDArray[np.float64] = saturated * inverse[counts.indices]
    return weights


def scale_documents(
    weights: NDArray[np.float64], counts: csr_array, measured: NDArray[np.float64], norm: NormName
) -> NDArray[np.float64]:
    """Return weights divided by the norm of the `measured` weights of their document."""
    if norm == "none":
        return weights
    sizes = row_norms(measured, counts) if norm == "l2" else _sum_by_document(np.abs(measured), counts)
    sizes[sizes == 0.0] = 1.0
    scaled: NDArray[np.float64] = weights / sizes[_number_rows(counts)]
    return scaled


def row_norms(weights: NDArray[np.float64], counts: csr_array) -> NDArray[np.float64]:
    """Return the Euclidean norm of each document's weights."""
    return np.sqrt(_sum_by_document(weights * weights, counts))


def _measure_lengths(counts: csr_array, counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    return _sum_by_document(counts.data * counted[counts.indices], counts)


def _sum_by_document(values: NDArray[np.float64], counts: csr_array) -> NDArray[np.float64]:
    sums = np.bincount(_number_rows(counts), weights=values, minlength=counts.shape[0])
    return cast(NDArray[np.float64], sums)


def _number_rows(counts: csr_array) -> NDArray[np.int64]:
    """Return the document of each stored count."""
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
