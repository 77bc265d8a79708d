"""Small sparse problems with everything that real collections hold: empty and full categories, empty
documents, duplicate columns, features that never occur, and fewer or more documents than features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st


@dataclass(frozen=True)
class Small:
    X: sp.csr_matrix
    Y: np.ndarray

    @property
    def signs(self) -> np.ndarray:
        return np.where(self.Y, 1.0, -1.0)


def make(
    seed: int, documents: int = 40, features: int = 15, categories: int = 4, binary: bool = True
) -> Small:
    rng = np.random.default_rng(seed)
    dense = (rng.random((documents, features)) < 0.25).astype(float)
    if not binary:
        dense *= rng.normal(size=dense.shape) + 0.5
    dense[0] = 0
    if features > 3:
        dense[:, 1] = dense[:, 2]
        dense[:, 3] = 0
    Y = rng.random((documents, categories)) < 0.4
    Y[:, 0] = False
    if categories > 1:
        Y[:, 1] = True
    return Small(sp.csr_matrix(dense), Y)


smalls = st.builds(
    make,
    seed=st.integers(0, 10_000),
    documents=st.integers(2, 30),
    features=st.integers(1, 40),
    categories=st.integers(1, 5),
    binary=st.booleans(),
)
