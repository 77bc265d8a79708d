"""`textcat show`: show a corpus, experiment, table or learner in detail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.completions import complete_shown_names
from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings
from textcat.cli.output import print_json


@click.command(
    "show", epilog="Example:  textcat show reuters21578;  textcat show configs/reuters_modapte.yaml"
)
@click.argument("name", required=False, shell_complete=complete_shown_names)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of experiment files.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON instead of YAML.")
@add_folder_options
@add_verbosity_options
def command(name: str | None, schema: bool, as_json: bool, **settings: Any) -> None:
    """Show a corpus, a document format, an experiment, a published table or a learner in detail.

    An experiment is shown with inherited settings and all defaults.
    """
    options = read_command_settings(settings)
    if schema:
        from textcat.experiment.spec.schema import make_experiment_schema

        print_json(make_experiment_schema(), ensure_ascii=True)
        return
    if name is None:
        raise click.UsageError("Give a corpus, an experiment, a table or a learner, or use --schema.")
    facts = _collect_facts(name, options.data)
    if as_json:
        print_json(facts, ensure_ascii=True)
        return
    import yaml

    click.echo(yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100).rstrip())


def _collect_facts(name: str, data: Path) -> dict[str, Any]:
    from textcat.corpora import list_corpora
    from textcat.corpora.registry import OWN_FORMATS
    from textcat.experiment.spec.learner_table import LEARNERS
    from textcat.published.printed_tables import load_all_cells

    if name in list_corpora():
        return _describe_corpus(name, data)
    if name in OWN_FORMATS:
        return {"own documents": name, "options": _describe_options(name)}
    if name in LEARNERS:
        entry = LEARNERS[name]
        return {
            "learner": name,
            "what": entry.title,
            "parameters": entry.parameters.model_json_schema()["properties"],
        }
    cells = [cell for cell in load_all_cells() if cell.table_id == name]
    if cells:
        return _describe_table(cells)
    from textcat.experiment.spec.loading import load_experiment

    return load_experiment(name).model_dump(mode="json")


def _describe_corpus(name: str, data: Path) -> dict[str, Any]:
    from textcat.corpora import is_fetched, load_card

    card = load_card(name)
    facts = card.model_dump(mode="json", exclude={"packages"})
    facts["sources"] = [package.title for package in card.packages]
    facts["options"] = _describe_options(name)
    facts["here"] = str(data / name) if is_fetched(name, data) else f"no; run `textcat fetch {name}`"
    return facts


def _describe_options(name: str) -> dict[str, dict[str, Any]]:
    """Describe the options of a reader: `corpus: {options: ...}` in an experiment."""
    from textcat.corpora.registry import list_reader_options, load_option_descriptions

    defaults = list_reader_options(name)
    return {
        option: {"default": defaults[option], "what": meaning}
        for option, meaning in load_option_descriptions(name).items()
    }


def _describe_table(cells: list[Any]) -> dict[str, Any]:
    from textcat.published.printed_tables import load_paper

    table = load_paper(cells[0].paper).tables[cells[0].table]
    shown = {
        "row",
        "column",
        "printed",
        "experiment",
        "run",
        "measure",
        "kind",
        "cannot_run",
        "not_run",
        "where",
        "repeats",
    }
    return {
        "table": cells[0].table_id,
        "caption": table.caption,
        "cells": [cell.model_dump(include=shown, exclude_none=True) for cell in cells],
    }
