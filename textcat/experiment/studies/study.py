"""What a study sees of a run, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.experiment.settings import RunSettings
from textcat.experiment.steps.vectorize import Vectors

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Subject:
    """A trained run: its vectors and scores, the weights of a linear model, and the model's own account."""

    run: RunSettings
    vectors: Vectors
    train_scores: Floats
    test_scores: Floats
    weights: Floats | None
    description: Mapping[str, Any]

    @property
    def columns(self) -> NDArray[np.int64]:
        """The categories that studies look at: the one that is named, or all."""
        wanted = self.run.evaluation.study_category
        if wanted is None:
            return np.arange(len(self.vectors.categories))
        if wanted not in self.vectors.categories:
            raise UsageError(
                f"there is no category {wanted!r} to study",
                where="evaluation.study_category",
                hint="Name one of the categories that the experiment keeps.",
            )
        return np.array([list(self.vectors.categories).index(wanted)])


@dataclass(frozen=True)
class Findings:
    """Measures by dotted name, and lists of numbers for figures."""

    measures: dict[str, float] = field(default_factory=dict)
    series: dict[str, list[Any]] = field(default_factory=dict)


Study = Callable[[Subject], Findings]


def rounded(values: Any) -> list[float]:
    """For a file that people read: six significant digits."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64)]
