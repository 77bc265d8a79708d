"""`textcat explain`: the words behind a category or a decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from textcat.cli.completions import models
from textcat.cli.options import folders, verbosity, workplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textcat.serving.categorizer import Categorizer
    from textcat.serving.explain import Contribution


@click.command(
    "explain", epilog="Example:  textcat explain data/models/reuters_modapte/logistic -c grain story.txt"
)
@click.argument("model", type=click.Path(path_type=Path), shell_complete=models)
@click.argument("document", type=click.File(encoding="utf-8"), required=False)
@click.option("-c", "--category", help="The category.  [default: those that the document is given]")
@click.option(
    "-n", "--number", type=click.IntRange(min=1), default=15, show_default=True, help="How many words."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@folders
@verbosity
def command(
    model: Path, document: TextIO | None, category: str | None, number: int, as_json: bool, **settings: Any
) -> None:
    """Show the strongest words of a category, or the words that decided DOCUMENT (a text file, or -)."""
    from textcat.serving.categorizer import read_categorizer

    workplace(settings)
    categorizer = read_categorizer(model)
    if document is None:
        if category is None:
            raise click.UsageError("Name a category with -c, or give a document.")
        facts = [_of_category(categorizer, category, number)]
    else:
        facts = _of_document(categorizer, document.read(), category, number)
    if as_json:
        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
        return
    for one in facts:
        _say(one)


def _of_category(categorizer: Categorizer, category: str, number: int) -> dict[str, Any]:
    from textcat.serving.explain import strongest

    speaking_for, against = strongest(categorizer, category, number)
    return {
        "heading": f"{category}: strongest words",
        "for": _plain(speaking_for),
        "against": _plain(against),
    }


def _of_document(
    categorizer: Categorizer, text: str, category: str | None, number: int
) -> list[dict[str, Any]]:
    from textcat.serving.documents import NewDocument
    from textcat.serving.explain import category_position, contributions

    document = NewDocument("document", {categorizer.text.fields[-1]: text})
    scores = categorizer.scores([document])
    accepted = categorizer.decisions(scores)[0]
    names = (
        [category]
        if category
        else [n for n, kept in zip(categorizer.categories, accepted, strict=True) if kept]
    )
    if not names:
        names = [categorizer.categories[int(scores[0].argmax())]]
    facts = []
    for name in names:
        position = category_position(categorizer, name)
        parts = contributions(categorizer, name, document)
        verdict = "accepted" if accepted[position] else "not accepted"
        facts.append(
            {
                "heading": f"{name}: {verdict}, score {scores[0, position]:.3f}, "
                f"threshold {categorizer.thresholds[position]:.3f}",
                "for": _plain([part for part in parts if part.weight > 0][:number]),
                "against": _plain([part for part in parts if part.weight < 0][:number]),
            }
        )
    return facts


def _plain(parts: Sequence[Contribution]) -> dict[str, float]:
    return {part.term: round(part.weight, 4) for part in parts}


def _say(facts: dict[str, Any]) -> None:
    click.secho(facts["heading"], bold=True)
    for side, colour in (("for", "green"), ("against", "red")):
        for term, weight in facts[side].items():
            click.echo(f"  {weight:+8.4f}  " + click.style(term, fg=colour))
