"""`textcat cite`: BibTeX."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import citable
from textcat.cli.options import folders, verbosity, workplace


@click.command("cite", epilog="Example:  textcat cite zhang_oles_2001/table1 >> paper.bib")
@click.argument("name", default="textcat", shell_complete=citable)
@folders
@verbosity
def command(name: str, **settings: Any) -> None:
    """Print BibTeX for textcat, a paper, a collection, or an experiment with all that it uses.

    Without NAME the software alone. An experiment is its software, paper, collection, learners and methods.
    """
    from textcat.report.citations import cited

    workplace(settings)
    click.echo(cited(name), nl=False)
