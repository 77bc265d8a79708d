"""A paper's conclusions that an experiment bears on, with the numbers that they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textcat.experiment.results_file import measures_of
from textcat.published.claims import evaluate, experiments_of, load_claims


def conclusions_of(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each claim that looks at this experiment, tested on it; what it needs besides is named."""
    name = results["experiment"]
    found = []
    for claim in load_claims():
        needed = experiments_of(claim)
        if name in needed:
            tested = evaluate(claim, {name: measures_of(results)}).describe()
            found.append({**tested, "besides": [each for each in needed if each != name]})
    return found
