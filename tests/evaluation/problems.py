"""Small random problems for the tests of measures and thresholds."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores with many ties and labels, documents x categories."""
    documents = draw(st.integers(1, 12))
    categories = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    levels = draw(st.integers(1, 8))
    share = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    generator = np.random.default_rng(seed)
    scores = generator.integers(-levels, levels + 1, size=(documents, categories)) / 4.0
    return scores.astype(np.float64), generator.random((documents, categories)) < share
