"""Headline of the reproduction matrix: every printed number counted once, then what is counted apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textcat.published.check import HEADLINE
from textcat.report.reading_headlines import format_reading_rows


def format_headline(matrix: Mapping[str, Any]) -> str:
    """Return the headline in Markdown: the first sentences, the counts as a table, then the other sentences."""
    names = ["", *HEADLINE, "all"]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(row)} |" for row in list_headline_rows(matrix)]
    first, second, *others = list_headline_sentences(matrix)
    return "\n\n".join([first, second, "\n".join(lines), *others]) + "\n"


def list_headline_rows(matrix: Mapping[str, Any]) -> list[list[str]]:
    """Return the counts as rows: numbers in tables by reading, all of them, then what is counted apart."""
    groups = [
        ("all numbers in tables", matrix["totals"]),
        ("numbers in running text", matrix["text"]),
        ("standard deviations", matrix["spreads"]),
    ]
    rows = format_reading_rows(matrix["readings"])
    for name, counts in groups:
        numbers = [*(counts["headline"][each] for each in HEADLINE), counts["counted"]]
        rows.append([name, *map(str, numbers)])
    return rows


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
        describe_readings(matrix["readings"]),
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


def describe_readings(by_reading: Mapping[str, Any]) -> str:
    """Say how the papers' open questions were answered, for the default and for the nearest reading."""
    default, fitted, other, nearest = (by_reading[name] for name in ("default", "fitted", "other", "nearest"))
    judged = default["runnable_gated"]
    parts = [
        f"A paper leaves questions open. The default reading answers them without any test result: it reproduces "
        f"{default['headline']['reproduced']} of its {judged} judged numbers with data, and "
        f"{default['headline']['close']} more are close."
    ]
    if fitted["counted"]:
        parts.append(
            f"{fitted['headline']['reproduced']} of {fitted['runnable_gated']} are reproduced by experiments with "
            f"answers that are still fitted to test results ({', '.join(fitted['experiments'])})."
        )
    if other["counted"]:
        parts.append(
            f"{other['headline']['reproduced']} of {other['runnable_gated']} are reproduced by experiments with other "
            f"answers, none fitted ({', '.join(other['experiments'])})."
        )
    if nearest["cells"]:
        parts.append(
            f"The nearest of the readings that were run is {nearest['how']}: in the {len(nearest['experiments'])} "
            f"experiments of {len(nearest['papers'])} papers that were run so, it reproduces "
            f"{nearest['headline']['reproduced']} of {nearest['cells']} numbers, where the default reading "
            f"reproduces {nearest['default_headline']['reproduced']}."
        )
    return " ".join(parts)


def _list_counts(headline: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in headline.items() if number)


def format_percent(share: float | None) -> str:
    """Format a share as a whole percentage."""
    return "-" if share is None else f"{100 * share:.0f}%"
