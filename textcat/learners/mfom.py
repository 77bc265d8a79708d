"""MFoM: a tree per category whose splits maximise a smooth figure of merit.

Problem  splits that maximise F1 (or minimise the balanced error) of the documents that reach them.
Input    features, labels, the settings of the descent, numbers of iterations, the greatest depth.
Output   BinaryTrees for each number of iterations.
Paper    gao_2003 sections 2.2 and 4.2; the splits are learned by `textcat.learners.gpd`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from textcat.learners.binary_tree import BinaryTrees, FeatureMatrix, LinearNodes, grow_trees
from textcat.learners.checks import Bools
from textcat.learners.gpd import GpdSettings, Integers, descend_to, packs_products


def fit_mfom(
    X: FeatureMatrix, Y: Bools, settings: GpdSettings | None = None, *, max_depth: int = 1, jobs: int = 1
) -> BinaryTrees:
    """Train a tree per category; each split maximises the figure of merit of the documents that reach it."""
    chosen = settings or GpdSettings()
    return fit_mfom_at(X, Y, chosen, [chosen.iterations], max_depth=max_depth, jobs=jobs)[chosen.iterations]


def fit_mfom_at(
    X: FeatureMatrix,
    Y: Bools,
    settings: GpdSettings,
    iterations: Iterable[int],
    *,
    max_depth: int = 1,
    jobs: int = 1,
) -> dict[int, BinaryTrees]:
    """Train trees for several numbers of iterations; one product of a descent's step serves all trees.

    Nodes of the same documents are one descent. `settings.horizon` is by default the largest number.
    """
    wanted = sorted(set(iterations), reverse=True)
    longest = replace(settings, iterations=wanted[0], horizon=settings.horizon or wanted[0])
    categories = Y.shape[1]
    ends = np.repeat(wanted, categories)

    def learn_split(
        X: FeatureMatrix, positive: Bools, member: Bools, tree: Integers, jobs: int
    ) -> LinearNodes:
        return descend_to(X, positive, member, longest, ends[tree], jobs)

    forest = grow_trees(
        X,
        np.tile(Y, len(wanted)),
        learn_split,
        max_depth=max_depth,
        jobs=jobs,
        shares_groups=packs_products(X),
    )
    return {
        number: replace(
            forest.select_trees(np.arange(at * categories, (at + 1) * categories)),
            settings={"max_depth": max_depth, **_describe_settings(longest), "iterations": number},
        )
        for at, number in enumerate(wanted)
    }


def _describe_settings(settings: GpdSettings) -> dict[str, Any]:
    described = asdict(settings)
    described["horizon"] = settings.horizon or settings.iterations
    if settings.start == "mean":
        del described["perceptron"]
    return {"learner": "mfom", **described}
