"""Headline of the reproduction matrix: every printed number counted once, then what is counted apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textcat.published.check import HEADLINE


def format_headline(matrix: Mapping[str, Any]) -> str:
    """Return the headline in Markdown: the counts as a table, then the sentences."""
    names = ["", *HEADLINE, "all"]
    rows = [
        ["numbers in tables", matrix["totals"]],
        ["numbers in running text", matrix["text"]],
        ["standard deviations", matrix["spreads"]],
    ]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for name, counts in rows:
        numbers = [*(counts["headline"][each] for each in HEADLINE), counts["counted"]]
        lines.append(f"| {name} | {' | '.join(map(str, numbers))} |")
    return (
        "\n\n".join(
            [list_headline_sentences(matrix)[0], "\n".join(lines), *list_headline_sentences(matrix)[1:]]
        )
        + "\n"
    )


def list_headline_sentences(matrix: Mapping[str, Any]) -> list[str]:
    """Return the headline as sentences: first the numbers in tables, then everything that is counted apart."""
    totals, claims = matrix["totals"], matrix["claims"]
    found, verdicts = totals["headline"], totals["verdicts"]
    return [
        f"The papers print {totals['cells']} numbers in tables. {totals['repeats']} of them repeat another one by "
        f"construction; of the other {totals['counted']}, {found['reproduced']} are reproduced, "
        f"{found['close']} are close, {found['off']} are off ({verdicts['above']} above print, "
        f"{verdicts['differs']} below it or different otherwise), {found['no data']} have no data here, "
        f"and {found['not judged']} are of kinds that are not judged, such as seconds.",
        f"Of the {totals['runnable_gated']} judged numbers with available data, "
        f"{format_percent(totals['share_reproduced'])} are reproduced and "
        f"{format_percent(totals['share_reproduced_or_close'])} are reproduced or close.",
        "Counted apart: "
        + "; ".join(
            f"of {matrix[group]['counted']} {name}, {_list_counts(matrix[group]['headline'])}"
            for group, name in (
                ("spreads", "printed standard deviations"),
                ("text", "numbers of running text"),
            )
        )
        + ".",
        f"Of the papers' conclusions, {claims['holds']} hold, {claims['fails']} fail and {claims['not run']} could "
        f"not be tested. {claims['cannot fail']} more follow from definitions, cannot fail, and are not counted.",
    ]


def _list_counts(headline: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in headline.items() if number)


def format_percent(share: float | None) -> str:
    """Format a share as a whole percentage."""
    return "-" if share is None else f"{100 * share:.0f}%"
