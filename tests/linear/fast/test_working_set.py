"""The dual on a working set: every variable that holds a part of the gap moves, whatever its gain."""

from __future__ import annotations

import numpy as np

from tests.loops import for_each
from textcat.linear.fast.working_set import (
    BoundedNewton,
    DualChange,
    maximise_on_working_set,
)


@for_each("seed", range(5))
def test_the_gap_asked_for_is_reached_under_high_ceilings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((80, 200)) * (rng.random((80, 200)) < 0.1)
    X /= np.linalg.norm(X, axis=1)[:, None]
    signs = np.where(rng.random(80) < 0.2, 1.0, -1.0)
    Q = (signs[:, None] * (X @ X.T + 1.0)) * signs
    zero = np.zeros(80)
    part = DualChange(Q, zero.copy(), np.full(80, 100.0), zero.copy(), np.ones(80))
    assert maximise_on_working_set(part, BoundedNewton(), 1e-4)
    gradient = 1.0 - Q @ part.change
    room = np.where(gradient > 0, 100.0 - part.change, part.change)
    assert (np.abs(gradient) * room).sum() <= 1.01e-4
