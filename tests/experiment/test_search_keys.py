"""A search for the best decisions is made again when the rule of decisions changes, and no other is."""

from __future__ import annotations

import pytest

from textcat.experiment.settings import RunSettings
from textcat.experiment.steps.train import _thresholds_of_search


@pytest.mark.parametrize(
    ("criterion", "hangs"), [("micro.f1", True), ("errors", True), ("micro.bep", False), ("accuracy", False)]
)
def test_thresholds_are_in_the_key_where_they_decide(criterion: str, hangs: bool) -> None:
    search = {"parameter": "cost", "grid": [1.0], "criterion": criterion}
    keys = []
    for rule in ("tuned", "default"):
        run = RunSettings.model_validate({"learner": "linear", "search": search, "threshold": {"rule": rule}})
        keys.append(_thresholds_of_search(run))
    assert (keys[0] != keys[1]) == hangs
