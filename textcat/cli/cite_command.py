"""`textcat cite`: print BibTeX."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import complete_cited_names
from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings


@click.command("cite", epilog="Example:  textcat cite zhang_oles_2001/table1 >> paper.bib")
@click.argument("name", default="textcat", shell_complete=complete_cited_names)
@add_folder_options
@add_verbosity_options
def command(name: str, **settings: Any) -> None:
    """Print BibTeX for textcat, a paper, a collection or an experiment.

    NAME is `textcat` (the default), a paper, a collection or an experiment. For an experiment, the entries
    cover textcat, its paper, collection, learners and methods.
    """
    from textcat.report.citations import cite

    read_command_settings(settings)
    click.echo(cite(name), nl=False)
