"""`textcat list` and `show`: list names, and show the details or the BibTeX of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import add_common_options, read_command_settings
from textcat.cli.output import print_json, print_text
from textcat.errors import TextcatError, UsageError

if TYPE_CHECKING:
    from textcat.experiment.spec.experiment import Experiment

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
    print_text(_format_rows(rows, get_terminal_size((PIPE_WIDTH, 24)).columns))


# tabulate gives a column two places more than its heading.
PIPE_WIDTH, GAP, NARROWEST = 140, 2, 24


def _format_rows(rows: Sequence[Mapping[str, Any]], width: int) -> str:
    """Return a table of this width, its first column as it is; where that leaves no room, a paragraph for each row."""
    from tabulate import tabulate

    texts = [{key: str(value) for key, value in row.items()} for row in rows]
    widths = (
        {key: max([len(key) + 2, *(len(row[key]) for row in texts)]) for key in texts[0]} if texts else {}
    )
    name, *others = widths or [""]
    least = sum(min(widths[key], NARROWEST) for key in others)
    if texts and widths[name] + least + GAP * len(others) > width:
        paragraphs = (
            [row[name], *(wrap("; ".join(filter(None, (row[key] for key in others))), max(width - 2, 20)))]
            for row in texts
        )
        return "\n".join("\n  ".join(lines) for lines in paragraphs)
    while sum(widths.values()) + GAP * len(others) > width:
        widths[max(others, key=lambda key: widths[key])] -= 1
    wrapped = [{key: fill(text, widths[key]) for key, text in row.items()} for row in texts]
    return tabulate(wrapped, headers="keys", tablefmt="simple", disable_numparse=True)


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
            print_text(f"Left out: {error}", err=True)
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
    """Show a corpus, a document format, an experiment, a paper, one of its tables, or a method in detail.

    Methods are learners, selection scores, losses, priors, algorithms, tokenizers, threshold rules and measures. An
    experiment is shown as one file with all settings, and with the questions that its paper leaves open. With
    --bibtex the entries of an experiment cover textcat, its paper, collection, learners and methods, and without NAME
    the entry is that of textcat.
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
        raise click.UsageError("Give a corpus, an experiment, a paper, a table or a method, or use --schema.")
    facts = _collect_facts(name, options.data)
    if facts is None:
        _show_experiment(name, as_json=as_json)
        return
    if as_json:
        print_json(facts, ensure_ascii=True)
        return
    import yaml

    click.echo(yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100).rstrip())


def _show_experiment(name: str, *, as_json: bool) -> None:
    """Print an experiment as a file that can be run, or as JSON, with the questions that its paper leaves open."""
    from textcat.experiment.run.reading_plan import answer_questions
    from textcat.experiment.spec.experiment_file import render_experiment

    experiment = _load_named(name)
    questions = answer_questions(name)
    if as_json:
        facts = experiment.model_dump(mode="json")
        print_json(facts | ({"questions": questions} if questions else {}), ensure_ascii=True)
        return
    click.echo(render_experiment(experiment), nl=False)
    if not questions:
        return
    head = (
        f"What {experiment.paper} leaves open, and how it is answered: by this file, by the paper's words (literal), "
        "and by its printed numbers (reconstructed, with the share of resamples in which it beats the literal "
        "answer; held out: without the numbers of the table). "
        f"Other answers: textcat run {name} --reading QUESTION=OPTION"
    )
    print_text("\n" + fill(head, 116, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False))
    for question in questions:
        print_text(f"#\n# {question['name']}: {question['question']}")
        options = "; ".join(
            f"{option} ({', '.join(given)})" if given else option
            for option, given in question["options"].items()
        )
        print_text(fill(options, 116, initial_indent="#   ", subsequent_indent="#   "))


def _load_named(name: str) -> Experiment:
    """Return an experiment; where nothing has this name, say so of all that `show` knows."""
    from textcat.experiment.spec.loading import find_experiment, load_experiment
    from textcat.experiment.spec.schema import list_methods
    from textcat.learners.parameters import LEARNERS
    from textcat.yaml_reader import find_near_names

    try:
        find_experiment(name)
    except UsageError as error:
        if Path(name).suffix or "Did you mean" in error.hint:
            raise
        near = find_near_names(name, {*LEARNERS, *(each["name"] for each in list_methods())}, most=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        hint = f"{meant}`textcat list {'`, `textcat list '.join(KINDS)}` have the names."
        raise UsageError(f"nothing is called {name!r}", hint=hint) from error
    return load_experiment(name)


def _collect_facts(name: str, data: Path) -> dict[str, Any] | None:
    """Return what is known of a name; None if it can only be an experiment."""
    from textcat.corpora import list_corpora
    from textcat.corpora.registry import OWN_FORMATS
    from textcat.experiment.spec.schema import find_methods
    from textcat.learners.parameters import LEARNERS
    from textcat.published.printed_tables import PAPERS, load_all_cells

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
    if name in PAPERS:
        return _describe_paper(name)
    methods = find_methods(name)
    return {"methods": methods} if len(methods) > 1 else methods[0] if methods else None


def _describe_paper(name: str) -> dict[str, Any]:
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.loading import load_experiment
    from textcat.published.printed_tables import load_paper
    from textcat.published.readings import load_readings

    paper = load_paper(name)
    return {
        **paper.model_dump(include={"paper", "title", "authors", "venue", "year"}),
        "tables": {f"{name}.{table}": entry.caption for table, entry in paper.tables.items()},
        "experiments": {
            experiment: loaded.title
            for experiment, path in find_experiment_files().items()
            if (loaded := load_experiment(path)).paper == name
        },
        "open questions": {key: each.question for key, each in load_readings(name).questions.items()},
    }


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
