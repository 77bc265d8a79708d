"""The section of the matrix with published baselines of today: the published number, ours, our run and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textcat.published.baselines import JudgedMark, count_marks, describe_counts
from textcat.published.check import count_decimals
from textcat.report.escaping import escape_markdown, format_markdown_table

TITLE = "Published baselines of today"
RULE = (
    "Numbers of other systems on the authors' own split, as marks to reach. Our number is `above` if it is at least as "
    "high (a success here, unlike in the tables of the papers), and otherwise `below`. `textcat check` fails if our "
    "number moves from its pinned value, or falls below a mark that it had reached. These numbers are not counted with "
    "those of the five papers."
)
HEADERS = ("measure", "system", "published", "ours", "difference", "", "run", "settings of the run")


def summarize_baselines(
    judged: Sequence[JudgedMark], results: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the counts, and for each collection its marks with the settings of our runs, as plain values."""
    collections = []
    for each in dict.fromkeys(entry.collection for entry in judged):
        runs = results.get(each.experiment, {}).get("runs", {})
        collections.append(
            {
                "collection": each.name,
                "experiment": each.experiment,
                "documents": each.documents,
                "source": each.source,
                "choices": each.choices,
                "marks": [
                    entry.describe() | _describe_run(runs.get(entry.mark.run))
                    for entry in judged
                    if entry.collection == each
                ],
            }
        )
    return {"counts": count_marks(judged), "collections": collections}


def _describe_run(run: Mapping[str, Any] | None) -> dict[str, str | None]:
    if run is None:
        return {"title": None, "settings": None, "signature": None}
    return {
        "title": run["title"],
        "settings": _describe_settings(run["settings"]),
        "signature": run["signature"],
    }


def _describe_settings(settings: Mapping[str, Any]) -> str:
    """Describe the learner and its parameters, the features, their weighting, and the threshold rule."""
    parameters = ", ".join(f"{name} {value}" for name, value in settings["parameters"].items())
    text, vector = settings["text"], settings["vector"]
    groups = [
        f"{group['analyzer']} {group['ngrams'][0]}-{group['ngrams'][1]}-grams"
        + (f" of the first {group['first_words']} words" if group.get("first_words") else "")
        + (f" of {', '.join(group['fields'])}" if group.get("fields") else "")
        for group in text.get("groups", [])
    ]
    parts = [
        f"{settings['learner']} ({parameters})" if parameters else settings["learner"],
        " and ".join(groups) or f"{text['tokenizer']} words",
        vector["weighting"] + (", cosine" if vector["cosine"] else ""),
    ]
    rule = settings["threshold"]["rule"]
    return "; ".join([*parts, f"thresholds {rule}"] if rule != "default" else parts)


def baselines_as_markdown(summary: Mapping[str, Any]) -> list[str]:
    """Format the section: the rule, the counts, and a table for each collection."""
    parts = [f"## {TITLE}\n", f"{RULE}\n", f"{describe_counts(summary['counts'])}\n"]
    for each in summary["collections"]:
        parts += [
            f"### {each['collection']}\n",
            f"{each['documents']}. Published by: {each['source']}. {each['choices']}. "
            f"`textcat run {each['experiment']}`\n",
            format_markdown_table(
                [[escape_markdown(cell) for cell in row] for row in list_baseline_rows(each)], HEADERS
            )
            + "\n",
        ]
    return parts


def list_baseline_rows(collection: Mapping[str, Any]) -> list[list[str]]:
    """Return one row of texts for each mark of a collection; our number has the decimals of the published one."""
    return [
        [
            mark["name"],
            mark["system"],
            mark["published"],
            _format_number(mark["measured"], mark["published"], ""),
            _format_number(mark["difference"], mark["published"], "+"),
            mark["verdict"],
            mark["run"],
            f"{mark['settings']} ({mark['signature']})" if mark["settings"] else "",
        ]
        for mark in collection["marks"]
    ]


def _format_number(value: float | None, published: str, sign: str) -> str:
    return "-" if value is None else f"{value:{sign}.{count_decimals(published)}f}"
