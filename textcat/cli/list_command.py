"""`textcat list`: list what is available by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings
from textcat.cli.output import print_json

KINDS = ("corpora", "experiments", "tables", "learners", "methods")


@click.command("list", epilog="Example:  textcat list corpora")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@add_folder_options
@add_verbosity_options
def command(kind: str, as_json: bool, **settings: Any) -> None:
    """List corpora, experiments, published tables, learners or methods.

    Methods include the plugins of installed packages.
    """
    options = read_command_settings(settings)
    listed = {
        "corpora": _list_corpora,
        "experiments": _list_experiments,
        "tables": _list_tables,
        "learners": _list_learners,
        "methods": _list_methods,
    }
    rows = listed[kind](options.data)
    if as_json:
        print_json(rows, ensure_ascii=True)
        return
    from tabulate import tabulate

    click.echo(tabulate(_wrap_rows(rows), headers="keys", tablefmt="simple", disable_numparse=True))


def _wrap_rows(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Wrap long texts."""
    from textwrap import fill

    return [{key: fill(str(value), 56) for key, value in row.items()} for row in rows]


def _list_corpora(data: Path) -> list[dict[str, Any]]:
    from textcat.corpora import is_fetched, list_corpora, load_card

    rows = []
    for name in list_corpora():
        card = load_card(name)
        rows.append(
            {
                "name": name,
                "documents": f"{card.documents:,}" if card.documents else "",
                "categories": card.categories or "",
                "size": f"{card.size / 1e6:.0f} MB" if card.size else "",
                "terms": card.terms.strip().split(".")[0],
                "here": str(data / name) if is_fetched(name, data) else "no",
            }
        )
    return rows


def _list_experiments(_data: Path) -> list[dict[str, Any]]:
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.loading import load_experiment

    rows = []
    for name, path in find_experiment_files().items():
        experiment = load_experiment(path)
        rows.append(
            {
                "name": name,
                "corpus": experiment.corpus.name,
                "runs": len(experiment.runs),
                "tables": ", ".join(experiment.tables),
                "title": experiment.title,
            }
        )
    return rows


def _list_tables(_data: Path) -> list[dict[str, Any]]:
    from collections import Counter

    from textcat.published.printed_tables import PAPERS, load_all_cells, load_paper

    printed = Counter(cell.table_id for cell in load_all_cells() if cell.printed is not None)
    return [
        {
            "table": f"{paper}.{name}",
            "cells": printed[f"{paper}.{name}"],
            "caption": table.caption,
            "cannot run": table.cannot_run or "",
        }
        for paper in PAPERS
        for name, table in load_paper(paper).tables.items()
    ]


def _list_learners(_data: Path) -> list[dict[str, Any]]:
    from textcat.experiment.spec.learner_table import LEARNERS

    return [
        {"learner": name, "what": entry.title, "parameters": ", ".join(entry.parameters.model_fields)}
        for name, entry in LEARNERS.items()
    ]


def _list_methods(_data: Path) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from textcat.experiment.spec.method_list import list_methods

    return [asdict(method) for method in list_methods()]
