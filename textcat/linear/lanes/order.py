"""In which order documents are visited: at random, and, where they do not fit into memory, region by region.

A visit in purely random order reads the matrix all over the place. Where it is larger than memory and lies on
a disk, each visit would wait for the disk; so the regions come in random order, and the documents of each in
random order, and a pass reads every region once. That has its price: the constant's weight follows the region
just seen, as it follows any order that is not random, and the last tenths of a percent of the gap take long.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

# Entries of a region: some tens of megabytes.
REGION = 2_000_000
# What an entry takes in single precision with its position.
_BYTES = 8


def fits_into_memory(entries: int) -> bool:
    """Whether a matrix with so many entries takes less than half of the machine's memory."""
    return _BYTES * entries <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2


def visiting_order(
    generator: np.random.Generator, documents: NDArray[np.int64], indptr: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The documents in a fresh random order; the same for a matrix that was read and one that is mapped."""
    shuffled = generator.permutation(documents)
    if fits_into_memory(int(indptr[-1])):
        return shuffled
    regions = -(-int(indptr[-1]) // REGION)
    rank = generator.permutation(regions).astype(np.uint16 if regions < 2**16 else np.int64)
    keys = rank[np.minimum(indptr[shuffled] // REGION, regions - 1)]
    return np.asarray(shuffled[np.argsort(keys, kind="stable")])
