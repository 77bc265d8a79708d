"""multiverse.json, its page and its specification curves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from textcat.errors import BadDataError
from textcat.experiment.run.multiverse import FORMAT
from textcat.report.experiment_page import Picture, render_template
from textcat.store.files import write_atomically

SUMMARY_FILE = "multiverse.json"
PAGE_FILE = "multiverse.html"
FIGURES = "multiverse"


def write_multiverse(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write the summary, the page and the curves; keep the experiments that an earlier summary has."""
    merged = merge_summaries(read_summary(folder), summary)
    # The file has only those options of a reading in which it differs from the default reading.
    packed = _change_options(
        merged, lambda default, own: {name: own[name] for name in own if own[name] != default.get(name)}
    )
    text = json.dumps(packed, indent=1, ensure_ascii=False, sort_keys=False)
    write_atomically(folder / SUMMARY_FILE, _join_number_lists(text) + "\n")
    pictures = draw_curves(folder / FIGURES, merged)
    write_atomically(folder / PAGE_FILE, render_multiverse_page(merged, pictures))
    return merged


def _change_options(
    summary: Mapping[str, Any], change: Callable[[dict[str, str], dict[str, str]], dict[str, str]]
) -> dict[str, Any]:
    """Return a copy with changed options; `change` gets those of the default reading and those of a reading."""
    experiments = {}
    for name, each in summary["experiments"].items():
        default = each["default"]["options"]
        readings = [{**row, "options": change(default, row["options"])} for row in each["readings"]]
        experiments[name] = {**each, "readings": readings}
    return {**summary, "experiments": experiments}


def _join_number_lists(text: str) -> str:
    """Put each list of numbers on one line."""
    return re.sub(r'("values": \[)([^\]]*)\]', lambda found: f"{found[1]}{' '.join(found[2].split())}]", text)


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Return the contents of multiverse.json in a folder, with all options of each reading; None without the file."""
    path = folder / SUMMARY_FILE
    if not path.exists():
        return None
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if summary["format"] != FORMAT:
            raise ValueError(f"format {summary['format']}")
        if not {"paper", "questions", "experiments", "claims"} <= summary.keys():
            raise ValueError("a part is missing")
        return _change_options(summary, lambda default, own: {**default, **own})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "Delete it; `textcat multiverse` writes it again."
        raise BadDataError(f"not readable as a multiverse: {error}", where=str(path), hint=hint) from error


def merge_summaries(before: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new summary with the experiments and claims that only an earlier one has.

    Earlier experiments under other questions are dropped: their readings are not comparable.
    """
    if before is None or before["paper"] != new["paper"] or before["questions"] != new["questions"]:
        return dict(new)
    experiments = {**before["experiments"], **new["experiments"]}
    claims = {**before["claims"], **new["claims"]}
    return {**new, "experiments": dict(sorted(experiments.items())), "claims": dict(sorted(claims.items()))}


def draw_curves(folder: Path, summary: Mapping[str, Any]) -> dict[str, list[Picture]]:
    """Write the specification curves of all tables as SVG and PNG, delete other ones, and map experiments to them."""
    from textcat.report.figures import save_figure  # noqa: PLC0415
    from textcat.report.specification_curve import (  # noqa: PLC0415
        list_tables,
        make_curve,
        plot_specification_curve,
    )

    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, list[Picture]] = {}
    written = set()
    for name, experiment in summary["experiments"].items():
        for table in list_tables(experiment):
            curve = make_curve(experiment, table)
            if curve is None:
                continue
            file = f"{name}_{table}".replace("/", "_").replace(".", "_")
            drawn = save_figure(plot_specification_curve(curve), folder, file)
            written.add(file)
            caption = f"{table} under {len(curve.values)} readings of {name}"
            pictures.setdefault(name, []).append(Picture(caption, drawn.read_bytes()))
    for path in [*folder.glob("*.svg"), *folder.glob("*.png")]:
        if path.stem not in written:
            path.unlink()
    return pictures


def render_multiverse_page(summary: Mapping[str, Any], pictures: Mapping[str, list[Picture]]) -> str:
    """Render the page: curves, questions by effect and cells of each experiment; then claims and questions."""
    title = f"Readings of {summary['paper']}" if summary["paper"] else "Readings of an experiment"
    return render_template(
        "multiverse.html",
        title=title,
        kicker="multiverse",
        summary={},
        experiments={
            name: _describe_experiment(each, pictures.get(name, []))
            for name, each in summary["experiments"].items()
        },
        claims=summary["claims"],
        questions=summary["questions"],
    )


def _describe_experiment(experiment: Mapping[str, Any], pictures: list[Picture]) -> dict[str, Any]:
    tables: dict[str, list[Any]] = {}
    for cell in experiment["cells"].values():
        tables.setdefault(cell["table"], []).append(cell)
    return {
        **experiment,
        "pictures": pictures,
        "tables": tables,
        "ranked": rank_effects(experiment),
        "counts": count_verdicts(experiment),
        "nearest_changes": _list_changes(
            experiment, (experiment["nearest"] or experiment["default"])["options"]
        ),
        "file_changes": _list_changes(experiment, experiment["committed"]),
    }


def _list_changes(experiment: Mapping[str, Any], options: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the options that differ from the default reading's."""
    return {
        name: options.get(name)
        for name, option in experiment["default"]["options"].items()
        if options.get(name) != option
    }


def rank_effects(experiment: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the questions by the size of their effect; those without one come last."""
    effects = experiment["effects"]
    return sorted(
        effects.items(), key=lambda item: -(item[1]["effect"] if item[1]["effect"] is not None else -1)
    )


def count_verdicts(experiment: Mapping[str, Any]) -> dict[str, tuple[int, int, int]]:
    """Map readings to the number of cells reproduced, close, and judged."""
    judged = [cell for cell in experiment["cells"].values() if cell["within_tolerance"] is not None]
    counts = {which: Counter(cell[f"{which}_verdict"] for cell in judged) for which in ("default", "nearest")}
    return {which: (n["reproduced"], n["close"], len(judged)) for which, n in counts.items()}


def format_summary(summary: Mapping[str, Any]) -> str:
    """Format the readings and effects of each experiment for a terminal."""
    from tabulate import tabulate  # noqa: PLC0415

    parts = []
    for name, experiment in summary["experiments"].items():
        rows = []
        for question, effect in rank_effects(experiment):
            size = "-" if effect["effect"] is None else f"{effect['effect']:.2f}"
            options = list(effect["options"].items())[1:]
            rows.append([question, size, ", ".join(f"{name} {value:+.2f}" for name, value in options)])
        counts = count_verdicts(experiment)
        lines = [f"{name}: {len(experiment['readings'])} readings"]
        if experiment["failed"]:
            lines.append(f"{len(experiment['failed'])} readings failed")
        for which, label in (
            ("default", "default reading"),
            ("nearest", "nearest reading (fitted to test results)"),
        ):
            reading = experiment[which]
            if reading and reading["mean_difference"] is not None:
                same, close, judged = counts[which]
                lines.append(
                    f"{label}: mean difference from print {reading['mean_difference']:.2f}, "
                    f"{same} of {judged} cells reproduced, {close} close"
                )
        parts.append("\n".join(lines) + "\n\n" + tabulate(rows, ["question", "effect", "option - default"]))
    for claim_id, claim in summary["claims"].items():
        parts.append(f"{claim_id}: holds in {100 * claim['holds']:.0f}% of {claim['readings']} readings")
    return "\n\n".join(parts)
