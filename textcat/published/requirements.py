"""What cells and claims ask of each experiment: the runs it must have and the measures they must give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textcat.published.claims import Claim, list_places
from textcat.published.printed_tables import PublishedCell

RequiredMeasures = dict[str, dict[str, list[str]]]
"""Experiment -> run -> measures, each in the order first asked for."""


def find_required_measures(cells: Iterable[PublishedCell], claims: Iterable[Claim]) -> RequiredMeasures:
    """Everything asked for by these cells and claims."""
    asked: dict[str, dict[str, dict[str, None]]] = {}

    def ask(experiment: str, run: str, measure: str) -> None:
        asked.setdefault(experiment, {}).setdefault(run, {})[measure] = None

    for cell in cells:
        for measure in (cell.measure, cell.spread_measure):
            if measure is not None:
                ask(cell.experiment, cell.run, measure)
        if cell.over is not None:
            ask(cell.experiment, cell.over, cell.measure)
    for claim in claims:
        for place in list_places(claim):
            ask(place.experiment, place.run, place.measure)
    return {
        experiment: {run: list(measures) for run, measures in runs.items()}
        for experiment, runs in asked.items()
    }


def find_absent_runs(asked: RequiredMeasures, made: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """For experiments that exist, the runs that are asked for and that they do not make."""
    absent = {
        experiment: [run for run in asked[experiment] if run not in set(runs)]
        for experiment, runs in made.items()
        if experiment in asked
    }
    return {experiment: runs for experiment, runs in absent.items() if runs}
