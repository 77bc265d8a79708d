"""The experiments of the papers: each can be read, and together they make all that cells and claims ask for."""

from __future__ import annotations

from tests.loops import for_each
from textcat.corpora import list_corpora, load_card
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.published.claims import list_places, load_claims
from textcat.published.printed_tables import load_all_cells
from textcat.report.paper_figures import FIGURES

EXPERIMENTS = {name: load_experiment(path) for name, path in find_experiment_files().items()}


def made_by(experiment: Experiment) -> list[str]:
    return [*experiment.runs, *experiment.comparisons, *experiment.scalings, "collection"]


def test_every_cell_and_claim_finds_its_experiment_and_run() -> None:
    needed = {(cell.experiment, run) for cell in load_all_cells() for run in (cell.run, cell.over) if run}
    needed |= {(place.experiment, place.run) for claim in load_claims() for place in list_places(claim)}
    assert needed <= {(name, run) for name, experiment in EXPERIMENTS.items() for run in made_by(experiment)}


@for_each("name", sorted(EXPERIMENTS))
def test_an_experiment_names_tables_and_figures_that_there_are(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert set(experiment.tables) <= {cell.table_id for cell in load_all_cells()}
    assert set(experiment.figures) <= set(FIGURES)


def test_every_figure_is_drawn_by_one_experiment() -> None:
    drawn = [figure for experiment in EXPERIMENTS.values() for figure in experiment.figures]
    assert sorted(drawn) == sorted(FIGURES)


@for_each("name", sorted(EXPERIMENTS))
def test_an_experiment_names_a_split_that_its_collection_has(name: str) -> None:
    corpus = EXPERIMENTS[name].corpus
    if corpus.split and corpus.name in list_corpora():
        assert corpus.split in load_card(corpus.name).splits
