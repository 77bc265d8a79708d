"""Hinge and squared hinge: from where passes over the documents slow down, each category to its optimum on
its support vectors.

Rounds of a float64 certificate and of the dual on a working set, which grows by the documents with a margin
below one. The working set is solved in float32, whose rounding the next certificate takes back, until that no
longer leads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textcat.linear.lanes.ascent import Ascent, Certificate
from textcat.linear.lanes.category import Category
from textcat.linear.lanes.gram import Gram
from textcat.linear.lanes.newton import Newton
from textcat.linear.lanes.working_dual import Change, ascend
from textcat.linear.vector import WIDTH

Array = NDArray[np.float64]

# A Gram matrix of more documents than this costs more than it saves.
_MOST_DOCUMENTS = 3000
_NEW_DOCUMENTS = 200
_MOST_ROUNDS = 30
# Cost of finishing a category of a thousand support vectors, in visits of a document by the lanes: a part that
# does not depend on their number, one that goes with its square and one with its cube.
_VISITS = (4_800.0, 30_000.0, 96_000.0)
# The working set is solved to this part of the gap that the category may keep, or of the gap it has now.
_INNER_SHARE = 0.5
_ROUND_SHARE = 0.01
# A round in float32 that leaves more than this part of the gap is the last one in float32.
_LEADING = 0.3


def expected_visits(ascent: Ascent) -> float:
    """What finishing would cost, in visits of a document by the lanes."""
    sizes = (ascent.alpha[:, : ascent.block.size] > 0).sum(axis=0) / 1000.0
    if sizes.max(initial=0) * 1000.0 > _MOST_DOCUMENTS:
        return np.inf
    fixed, square, cube = _VISITS
    return float((fixed + square * sizes**2 + cube * sizes**3).sum())


def finish(ascent: Ascent, targets: Array) -> Certificate:
    """Bring every category of the block below its target where its working set allows it; the certificate."""
    certificate = ascent.certify()
    lengths = np.sqrt(ascent.rows.norms)
    for lane in range(len(targets)):
        if certificate.gap[lane] > targets[lane]:
            category = _category(ascent, certificate, lane, lengths)
            _settle(category, float(targets[lane]))
            _put_back(ascent, certificate, lane, category)
    return certificate


def _category(ascent: Ascent, certificate: Certificate, lane: int, lengths: Array) -> Category:
    block, rows = ascent.block, ascent.rows
    own = (
        block.signs[:, lane].astype(np.float64),
        block.limits[lane] * rows.importance,
        ascent.alpha[:, lane].astype(np.float64),
        certificate.margins[:, lane].copy(),
        certificate.W[:, lane].copy(),
    )
    return Category(rows, ascent.loss, *own, lengths)


def _put_back(ascent: Ascent, certificate: Certificate, lane: int, category: Category) -> None:
    own = slice(lane, None if lane == ascent.block.size - 1 else lane + 1)
    copies = (WIDTH if own.stop is None else own.stop) - lane
    for whole, part in (
        (ascent.alpha, category.alpha),
        (certificate.margins, category.margins),
        (certificate.W, category.w),
    ):
        whole[:, own] = np.repeat(part[:, None], copies, axis=1)
    certificate.objective[own] = category.objective
    certificate.dual_objective[own] = category.dual_objective


def _settle(category: Category, target: float) -> None:
    """Rounds until the gap is at most `target`, or the working set too large."""
    gram, newton = Gram(category.rows, category.signs, category.ridges, np.float32), Newton()
    for _ in range(_MOST_ROUNDS):
        gap = category.gap
        if gap <= target:
            return
        wanted = _working_set(category)
        if not 0 < int(wanted.sum()) <= _MOST_DOCUMENTS:
            return
        grown = gram.grow(wanted)
        led = _ascend(category, gram, newton, max(_INNER_SHARE * target, _ROUND_SHARE * gap))
        if category.gap > _LEADING * gap and not (led and grown) and gram.dtype is np.float32:
            gram, newton = Gram(category.rows, category.signs, category.ridges, np.float64), Newton()


def _ascend(category: Category, gram: Gram, newton: Newton, aim: float) -> bool:
    """Move the category to the optimum on its working set; whether the element type allowed it. The gradient
    starts from the exact margins.
    """
    own = gram.chosen
    alpha, ceilings, ridges = category.alpha[own], category.ceilings[own], category.ridges[own]
    gradient = 1.0 - category.margins[own] - ridges * alpha
    part = Change(gram.Q, *(v.astype(gram.dtype) for v in (-alpha, ceilings - alpha, ridges, gradient)))
    led = ascend(part, newton, aim)
    alpha = np.clip(alpha + part.change, 0.0, ceilings)
    alpha[part.change == part.low] = 0.0
    at_ceiling = part.change == part.high
    alpha[at_ceiling] = ceilings[at_ceiling]
    category.move(own, alpha)
    return led


def _working_set(category: Category) -> NDArray[np.bool_]:
    """The documents in use and, where many more have a margin below one, the worst of those."""
    used = category.alpha > 0
    violators = np.flatnonzero(~used & (category.margins < 1))
    most = max(_NEW_DOCUMENTS, int(used.sum()) // 2)
    if len(violators) > most:
        violators = violators[np.argpartition(category.margins[violators], most)[:most]]
    used[violators] = True
    return np.asarray(used)
