"""In which order documents are visited: at random, and, in a large matrix, one region of it after the other.

A visit in purely random order reads the matrix all over the place. Where it is larger than memory and lies on
a disk, each visit would wait for the disk; so the regions come in random order, and the documents of each in
random order, and a pass reads every region once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Entries of a region: some tens of megabytes. A matrix of a few regions is visited in purely random order.
REGION = 2_000_000
_FEW = 4


def visiting_order(
    generator: np.random.Generator, documents: NDArray[np.int64], indptr: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The documents in a fresh random order; the same for a matrix in memory and one on disk."""
    shuffled = generator.permutation(documents)
    regions = -(-int(indptr[-1]) // REGION)
    if regions <= _FEW:
        return shuffled
    rank = generator.permutation(regions).astype(np.uint16 if regions < 2**16 else np.int64)
    keys = rank[np.minimum(indptr[shuffled] // REGION, regions - 1)]
    return np.asarray(shuffled[np.argsort(keys, kind="stable")])
