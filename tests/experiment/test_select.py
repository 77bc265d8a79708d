"""The selection of a run: what keeps all features, what is refused, and what `minimum_documents` does alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.experiment.own_table import carried_out
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.vectorize import read_selection, read_vectors

BAYES = {"runs": {"bayes": {"learner": "naive_bayes"}}}


@for_each(("minimum", "step"), [(0, False), (1, False), (2, True), (30, True)])
def test_minimum_documents_alone_selects_features(minimum: int, step: bool, tmp_path: Path) -> None:
    selection = {"features": "all", "minimum_documents": minimum}
    plan, context, _ = carried_out(tmp_path, {**BAYES, "selection": selection})
    chain = plan.chains[0]
    assert (chain.selected is not None) == step
    mask = read_selection(chain.selected, context)
    vectors = read_vectors(chain.vectorized.build_folder(context))
    containing = np.asarray((vectors.train != 0).sum(axis=0)).ravel()
    kept = np.ones(len(containing), dtype=bool) if mask is None else mask.all(axis=1)
    assert np.array_equal(kept, containing >= minimum)


@for_each(
    ("shared", "own", "line"),
    [("selection: {features: 5}\n", "projection: {dimensions: 3}", 5), ("projection: {dimensions: 3}\n",
     "selection: {features: all, minimum_documents: 2}", 3)],
)  # fmt: skip
def test_a_selection_with_a_projection_is_refused_with_its_place(
    shared: str, own: str, line: int, tmp_path: Path
) -> None:
    path = tmp_path / "both.yaml"
    path.write_text(
        f"title: both\ncorpus: {{name: csv, path: x.csv}}\n{shared}runs:\n  one: {{learner: CLS, {own}}}\n"
    )
    with pytest.raises(UsageError) as caught:
        load_experiment(path)
    assert "run 'one' has a `projection` and a `selection`" in str(caught.value)
    assert f"both.yaml:{line}:" in str(caught.value)


def test_a_projection_with_all_features_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    path.write_text(
        "title: both\ncorpus: {name: csv, path: x.csv}\nselection: {features: 5}\n"
        "runs:\n  one: {learner: CLS, projection: {dimensions: 3}, selection: {features: all}}\n"
    )
    assert load_experiment(path).runs["one"].projection
