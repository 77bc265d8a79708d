"""`textcat show`: one thing in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from textcat.cli.completions import anything
from textcat.cli.options import folders, verbosity, workplace


@click.command(
    "show", epilog="Example:  textcat show reuters21578;  textcat show configs/reuters_modapte.yaml"
)
@click.argument("name", required=False, shell_complete=anything)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of experiment files, for editors.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@folders
@verbosity
def command(name: str | None, schema: bool, as_json: bool, **settings: Any) -> None:
    """Show one corpus, format of your own documents, experiment, published table or learner in full.

    An experiment is shown resolved: with all that it extends and every default filled in.
    """
    place = workplace(settings)
    if schema:
        from textcat.experiment.spec.schema import experiment_schema

        click.echo(json.dumps(experiment_schema(), indent=1))
        return
    if name is None:
        raise click.UsageError("Name a corpus, an experiment, a table or a learner, or ask for --schema.")
    facts = _facts(name, place.data)
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    import yaml

    click.echo(yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100).rstrip())


def _facts(name: str, data: Path) -> dict[str, Any]:
    from textcat.corpora import corpus_names
    from textcat.corpora.registry import OWN_FORMATS
    from textcat.experiment.spec.learners import LEARNERS
    from textcat.published.tables import all_cells

    if name in corpus_names():
        return _corpus(name, data)
    if name in OWN_FORMATS:
        return {"own documents": name, "options": _options(name)}
    if name in LEARNERS:
        entry = LEARNERS[name]
        return {
            "learner": name,
            "what": entry.title,
            "parameters": entry.parameters.model_json_schema()["properties"],
        }
    cells = [cell for cell in all_cells() if cell.table_id == name]
    if cells:
        return _table(cells)
    from textcat.experiment.spec.loading import load_experiment

    return load_experiment(name).model_dump(mode="json")


def _corpus(name: str, data: Path) -> dict[str, Any]:
    from textcat.corpora import describe, is_fetched

    card = describe(name)
    facts = card.model_dump(mode="json", exclude={"packages"})
    facts["sources"] = [package.title for package in card.packages]
    facts["options"] = _options(name)
    facts["here"] = str(data / name) if is_fetched(name, data) else f"no: run `textcat fetch {name}`"
    return facts


def _options(name: str) -> dict[str, dict[str, Any]]:
    """What an experiment may set of a reader: `corpus: {options: ...}`."""
    from textcat.corpora.registry import option_meanings, reader_options

    defaults = reader_options(name)
    return {
        option: {"default": defaults[option], "what": meaning}
        for option, meaning in option_meanings(name).items()
    }


def _table(cells: list[Any]) -> dict[str, Any]:
    from textcat.published.tables import load_paper

    table = load_paper(cells[0].paper).tables[cells[0].table]
    shown = {"row", "column", "printed", "experiment", "run", "measure", "kind", "cannot_run"}
    return {
        "table": cells[0].table_id,
        "caption": table.caption,
        "cells": [cell.model_dump(include=shown, exclude_none=True) for cell in cells],
    }
