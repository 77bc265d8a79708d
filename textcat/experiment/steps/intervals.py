"""Find the sampling error of a run's measures from its decisions and scores, of all repetitions together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from textcat.evaluation.intervals import RESAMPLES, SEED, EvaluatedDocuments, Interval, find_intervals
from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.block_outcome import holds_all_scores, read_decisions, read_scores
from textcat.experiment.steps.vectorize import read_vectors
from textcat.published.printed_tables import load_all_cells
from textcat.store import Recipe
from textcat.store.arrays import read_json, write_json

if TYPE_CHECKING:
    from textcat.experiment.run.plan import Chain

# The measures in the table of runs; the papers' measures of the experiment's tables are added to them.
SHOWN = ("micro.precision", "micro.recall", "micro.f1", "micro.bep", "macro.f1", "accuracy")


def make_intervals_step(experiment: Experiment, chains: Sequence[Chain]) -> Step:
    """Return the step that resamples the test documents of a run, given the chains of its repetitions."""
    run = chains[0].settings
    printed = {cell.measure for cell in load_all_cells() if cell.table_id in experiment.tables}
    names = sorted(printed.union(SHOWN, (f"{name}.mean" for name in SHOWN)))
    # Folds divide all documents, so that they are also measured together.
    pooled = experiment.resample is not None and experiment.resample.kind == "folds"
    evaluated = {f"evaluated_{chain.repeat}": chain.evaluated for chain in chains}
    recipe = Recipe(
        "intervals",
        1,
        {"measures": names, "pooled": pooled, "resamples": RESAMPLES, "seed": SEED},
        make_recipe_inputs(**evaluated),
    )

    def make(context: RunContext, target: Path) -> None:
        vectors = [read_vectors(chain.vectorized.build_folder(context)) for chain in chains]
        folders = [chain.evaluated.build_folder(context) for chain in chains]
        ids = [np.asarray(part.test_ids, dtype=object) for part in vectors]
        numbers = np.split(
            np.unique(np.concatenate(ids), return_inverse=True)[1],
            np.cumsum([len(each) for each in ids])[:-1],
        )
        parts = [
            EvaluatedDocuments(
                own,
                read_decisions(folder),
                part.test_labels,
                np.asarray(read_scores(folder)) if holds_all_scores(folder) else None,
            )
            for own, folder, part in zip(numbers, folders, vectors, strict=True)
        ]
        # As in the measures of pooled folds, the largest categories are those of the last fold.
        last = vectors[-1]
        found = find_intervals(
            parts, last.categories, last.train_counts, run.evaluation, names, pooled=pooled
        )
        write_json(target, "intervals", found)

    return Step("evaluate", f"intervals {run.title or run.learner}", recipe, make, tuple(evaluated.values()))


def read_intervals(folder: Path) -> dict[str, Interval]:
    """Read the lowest and highest value of each measure that has an interval."""
    found: dict[str, Interval] = read_json(folder, "intervals")
    return found
