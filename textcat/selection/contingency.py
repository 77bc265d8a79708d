"""How often a term and a category meet: the 2 x 2 table that most scores are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

# Terms that are scored at a time: the temporary arrays stay in the cache, however many terms there are.
TERMS_A_BLOCK = 2048


@dataclass(frozen=True)
class Contingency:
    """Numbers of training documents, terms x categories, in the letters of genkin_2004 section 5.3.2.

    a: in the category, with the term; b: in it, without; c: not in it, with; d: not in it, without; n: all.
    """

    a: Floats
    b: Floats
    c: Floats
    d: Floats
    n: int


def contingency_blocks(X: csr_array, Y: NDArray[np.bool_]) -> Iterator[tuple[slice, Contingency]]:
    """The tables of successive blocks of terms; X is documents x terms, Y documents x categories."""
    documents = len(Y)
    present = presence(X)
    together = csr_array(present.T @ csr_array(Y.astype(np.float64)))
    containing = np.asarray(present.sum(axis=0), dtype=np.float64).reshape(-1, 1)
    in_category = Y.sum(axis=0, dtype=np.float64).reshape(1, -1)
    for start in range(0, X.shape[1], TERMS_A_BLOCK):
        block = slice(start, start + TERMS_A_BLOCK)
        a = together[block].toarray()
        b = in_category - a
        c = containing[block] - a
        yield block, Contingency(a, b, c, documents - a - b - c, documents)


def presence(X: csr_array) -> csr_array:
    """1 where a document has the term, nothing elsewhere; stored zeros do not count as having it."""
    binary = csr_array(((X.data != 0).astype(np.float64), X.indices, X.indptr), shape=X.shape, copy=True)
    binary.eliminate_zeros()
    return binary
