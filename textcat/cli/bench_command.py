"""`textcat bench`: speed beside peers, in one run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import Workplace, working, workplace

if TYPE_CHECKING:
    from textcat.corpora import Document

WHAT = ("text",)


@click.command("bench", epilog="Example:  textcat bench text --json")
@click.argument("what", type=click.Choice(WHAT))
@click.option("--corpus", default="reuters21578", show_default=True, help="The documents that are worked on.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Best of so many.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@working
def command(what: str, corpus: str, repeats: int, as_json: bool, **settings: Any) -> None:
    """Measure speed: seconds, and the ratio to the peers that are installed, on this machine, in this run.

    text: counting words, beside scikit-learn (`pip install 'textcat[bench]'`).
    """
    from textcat.bench.machine import machine_facts

    place = workplace(settings)
    if place.dry_run:
        click.echo(f"bench {what}: on {corpus}, best of {repeats}")
        return
    rows = {"text": _text}[what](_documents(corpus, place), repeats)
    facts = machine_facts()
    if as_json:
        click.echo(json.dumps([{**row, "machine": facts} for row in rows], indent=1))
        return
    from tabulate import tabulate

    click.echo(tabulate(rows, headers="keys", floatfmt=".3g"))
    click.echo("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()))


def _documents(corpus: str, place: Workplace) -> list[Document]:
    from textcat.corpora import fetch, open_corpus

    report = fetch(corpus, place.data, mirror=place.mirror, offline=place.offline)
    return list(open_corpus(corpus, report.folder).documents())


def _text(documents: list[Document], repeats: int) -> list[dict[str, Any]]:
    from textcat.bench.text import bench_text

    return bench_text(documents, repeats)
