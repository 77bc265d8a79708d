"""`textcat list` and `show`: list names, and show the details or the BibTeX of one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from textcat.cli.options import add_common_options, read_command_settings
from textcat.cli.output import print_json
from textcat.errors import TextcatError

KINDS = ("corpora", "experiments", "tables", "learners", "methods")


@click.command("list", epilog="Example:  textcat list corpora")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@add_common_options
def list_command(kind: str, as_json: bool, **settings: Any) -> None:
    """List corpora, experiments, published tables, learners or methods."""
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

    wrapped = [{key: fill(str(value), 56) for key, value in row.items()} for row in rows]
    click.echo(tabulate(wrapped, headers="keys", tablefmt="simple", disable_numparse=True))


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
        try:
            experiment = load_experiment(path)
        except TextcatError as error:
            # A folder ./configs may hold files of other programs.
            click.echo(f"Left out: {error}", err=True)
            continue
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
    from textcat.learners.parameters import LEARNERS

    return [
        {"learner": name, "what": entry.title, "parameters": ", ".join(entry.parameters.model_fields)}
        for name, entry in LEARNERS.items()
    ]


def _list_methods(_data: Path) -> list[dict[str, Any]]:
    from textcat.experiment.spec.schema import list_methods

    return list(list_methods())


@click.command(
    "show", epilog="Example:  textcat show reuters21578;  textcat show configs/reuters_modapte.yaml"
)
@click.argument("name", required=False, type=click.Path(readable=False))
@click.option("--schema", is_flag=True, help="Print the JSON Schema of experiment files.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON instead of YAML.")
@click.option("--bibtex", is_flag=True, help="Print only the citation, as BibTeX.")
@add_common_options
def show_command(name: str | None, schema: bool, as_json: bool, bibtex: bool, **settings: Any) -> None:
    """Show a corpus, a document format, an experiment, a published table or a learner in detail.

    An experiment is shown with inherited settings and all defaults. With --bibtex NAME may also be a paper; the
    entries of an experiment cover textcat, its paper, collection, learners and methods, and without NAME the entry
    is that of textcat.
    """
    options = read_command_settings(settings)
    if schema:
        from textcat.experiment.spec.schema import make_experiment_schema

        print_json(make_experiment_schema(), ensure_ascii=True)
        return
    if bibtex:
        from textcat.report.citations import SOFTWARE, cite

        click.echo(cite(name or SOFTWARE), nl=False)
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
    from textcat.learners.parameters import LEARNERS
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
    shown = {"row", "column", "printed", "experiment", "run", "measure", "kind", "cannot_run", "not_run",
             "where", "repeats"}  # fmt: skip
    return {
        "table": cells[0].table_id,
        "caption": table.caption,
        "cells": [cell.model_dump(include=shown, exclude_none=True) for cell in cells],
    }
