"""Hinge and squared hinge: from where passes over the documents slow down, each category to its optimum on
its support vectors.

Rounds of a float64 certificate for the block, and, for every category whose gap is still too large, the dual
on a working set:
the documents with a dual variable above zero or a margin below one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textcat.linear.lanes.ascent import Ascent, Certificate
from textcat.linear.lanes.gram import ascend, gram

Array = NDArray[np.float64]

# A Gram matrix of more documents than this costs more than it saves.
_MOST_DOCUMENTS = 3000
_NEW_DOCUMENTS = 200
_MOST_ROUNDS = 30
_VISITS_OF_A_THOUSAND = 60_000
# The working set is solved to this part of the gap that the category may keep, or of the gap it has now.
_INNER_SHARE = 0.2
_ROUND_SHARE = 0.05


def expected_visits(ascent: Ascent) -> float:
    """What finishing would cost, in visits of a document by the lanes: measured, it goes with the size to the
    power 2.5.
    """
    sizes = (ascent.alpha[:, : ascent.block.size] > 0).sum(axis=0)
    if sizes.max(initial=0) > _MOST_DOCUMENTS:
        return np.inf
    return _VISITS_OF_A_THOUSAND * float(((sizes / 1000.0) ** 2.5).sum())


def finish(ascent: Ascent, targets: Array) -> Certificate:
    """Bring every category of the block below its target where its working set allows it; the last
    certificate.
    """
    certificate = ascent.certify()
    for _ in range(_MOST_ROUNDS):
        behind = np.flatnonzero(certificate.gap[: len(targets)] > targets)
        moved = [_advance(ascent, certificate, int(lane), float(targets[lane])) for lane in behind]
        if not any(moved):
            return certificate
        certificate = ascent.certify()
    return certificate


def _advance(ascent: Ascent, certificate: Certificate, lane: int, target: float) -> bool:
    """Solve the dual of one category on its working set; False when that set is too large."""
    rows, block = ascent.rows, ascent.block
    alpha = ascent.alpha[:, lane].astype(np.float64)
    chosen = _working_set(alpha, certificate.margins[:, lane])
    if not 0 < len(chosen) <= _MOST_DOCUMENTS:
        return False
    limits = block.limits[lane] * rows.importance[chosen]
    ridges = np.zeros(len(chosen)) if ascent.loss.name == "hinge" else 1 / (2 * limits)
    ceilings = limits if ascent.loss.name == "hinge" else np.full(len(chosen), np.inf)
    Q = np.empty((len(chosen), len(chosen)))
    signs = block.signs[chosen, lane].astype(np.float64)
    gram(rows.indptr, rows.indices, rows.data, chosen, signs, rows.features, Q)
    Q[np.diag_indices(len(chosen))] += ridges
    part = alpha[chosen]
    aim = max(_INNER_SHARE * target, _ROUND_SHARE * float(certificate.gap[lane]))
    ascend(Q, part, ceilings, ridges, aim)
    ascent.alpha[chosen, lane] = part
    return True


def _working_set(alpha: Array, margins: Array) -> NDArray[np.int64]:
    """The documents in use and, where many more have a margin below one, the worst of those."""
    used = alpha > 0
    violators = np.flatnonzero(~used & (margins < 1))
    most = max(_NEW_DOCUMENTS, int(used.sum()) // 2)
    if len(violators) > most:
        violators = violators[np.argpartition(margins[violators], most)[:most]]
    used[violators] = True
    return np.flatnonzero(used)
