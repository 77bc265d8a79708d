"""Write docs/performance.md from the rows of results/bench: `python -m benchmarks.page > docs/performance.md`.

Rows of an interrupted benchmark are left out, because the others may come from another machine or version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.rows import Row, read_rows
from benchmarks.scale import fit_exponents

TEMPLATE = Path(__file__).with_name("performance.md.in")
RESULTS = Path(__file__).resolve().parents[1] / "results" / "bench"
OWN = "textcat"
NOTHING = "Not measured."


def write_page(folder: Path = RESULTS) -> str:
    """Return the page with a table for each benchmark that has rows in the folder."""
    rows = {name: _read_complete_rows(folder / f"{name}.json") for name in _TABLES}
    tables = {name: make(rows[name]) if rows[name] else NOTHING for name, make in _TABLES.items()}
    most = max((row["documents"] for row in rows["scale"]), default=0)
    template = Template(TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(tables, machine=_describe_machines(rows.values()), documents=f"{most:,}")


def _read_complete_rows(path: Path) -> list[Row]:
    return [row for row in read_rows(path) if not row.get("partial")] if path.exists() else []


def _describe_machines(benchmarks: Iterable[list[Row]]) -> str:
    """Return one sentence per machine that rows were measured on, with the packages of all its rows."""
    found: dict[str, dict[str, None]] = {}
    for row in (row for rows in benchmarks for row in rows if "machine" in row):
        facts = row["machine"]
        machine = f"Measured on {facts['processor']}, {facts['cores']} cores, Python {facts['python']}"
        packages = (f"{name} {version}" for name, version in facts["packages"].items() if version)
        found.setdefault(machine, {}).update(dict.fromkeys(packages))
    return "\n\n".join(f"{machine}, {', '.join(packages)}." for machine, packages in found.items()) or NOTHING


def make_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first are numbers."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def _format_seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3g}"


def _format_ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def _divide(peer: float | None, own: float | None) -> float | None:
    return peer / own if peer and own else None


def compute_geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _make_text_table(rows: list[Row]) -> str:
    return make_table(
        ["words", "tokens a second", "textcat", "CountVectorizer", "ratio"],
        (
            [row["variant"], f"{row['tokens_per_second']:,}", _format_seconds(row["seconds"]),
             _format_seconds(row["peer_seconds"]), _format_ratio(_divide(row["peer_seconds"], row["seconds"]))]
            for row in rows
        ),
    )  # fmt: skip


def find_fastest_peer(rows: Iterable[Row]) -> Row | None:
    """Return the fastest peer that reached the accuracy, or else the nearest; None if no peer was measured."""
    peers = [row for row in rows if row["solver"] != OWN and row["seconds"] is not None]
    return min(
        peers, key=lambda row: (not row["reached"], row["seconds" if row["reached"] else "gap"]), default=None
    )


def _make_solvers_table(rows: list[Row]) -> str:
    lines, ratios = [], dict[str, float]()
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = next((row for row in rows if (row["problem"], row["solver"]) == (problem, OWN)), None)
        peer = find_fastest_peer(row for row in rows if row["problem"] == problem)
        if own is None:
            continue
        ratio = None if peer is None else _divide(peer["seconds"], own["seconds"])
        name = "-" if peer is None else peer["solver"]
        if peer is not None and not peer["reached"]:
            name += f" (gap {peer['gap']:.0e})"
        if ratio:
            ratios[problem] = ratio
        lines.append(
            [problem, _format_seconds(own["seconds"]), f"{max(own['gap'], 0.0):.1e}", name,
             _format_seconds(None if peer is None else peer["seconds"]), _format_ratio(ratio)]
        )  # fmt: skip
    table = make_table(["problem", "textcat", "its gap", "fastest peer", "seconds", "ratio"], lines)
    if not ratios:
        return table
    mean, least = compute_geometric_mean(list(ratios.values())), min(ratios, key=ratios.__getitem__)
    return f"{table}\n\nGeometric mean of the ratios: {mean:.1f}; the least is {ratios[least]:.1f} ({least})."


def _make_pipeline_table(rows: list[Row]) -> str:
    stages = ("vectorize", "train", "thresholds", "evaluate")
    return make_table(
        ["learner", "tool", *stages, "all", "ratio", "micro F1", "macro F1"],
        (
            [row["learner"], row["tool"], *(_format_seconds(row[stage]) for stage in stages),
             _format_seconds(row["seconds"]), _format_ratio(row["ratio"]),
             f"{row['micro_f1']:.1f}", f"{row['macro_f1']:.1f}"]
            for row in rows if row["seconds"] is not None
        ),
    )  # fmt: skip


def _make_predict_table(rows: list[Row]) -> str:
    return make_table(
        ["documents", "format", "numbers of", "documents a second", "textcat", "scikit-learn", "ratio"],
        (
            [row["documents"], row["format"], row["numbers of"], f"{row['documents_per_second']:,}",
             _format_seconds(row["seconds"]), _format_seconds(row["peer_seconds"]),
             _format_ratio(_divide(row["peer_seconds"], row["seconds"]))]
            for row in rows
        ),
    )  # fmt: skip


def _make_backends_table(rows: list[Row]) -> str:
    return "Wall-clock seconds.\n\n" + make_table(
        ["work", "backend", "workers", "seconds", "speedup"],
        (
            [row["work"], row["backend"], str(row["workers"]), _format_seconds(row["seconds"]),
             _format_ratio(row["speedup"])]
            for row in rows
        ),
    )  # fmt: skip


def _make_scale_table(rows: list[Row]) -> str:
    exponents = {
        each["learner"]: each for each in fit_exponents(_order_rows(rows)) if each["against"] == "documents"
    }
    lines = []
    for learner in dict.fromkeys(row["learner"] for row in rows):
        own = [row for row in rows if row["learner"] == learner and row["varied"] == "documents"]
        if own:
            largest = max(own, key=lambda row: row["documents"])
            lines.append(
                [learner, f"{largest['documents']:,}", str(largest["topics"]), _format_seconds(largest["seconds"]),
                 _format_seconds(largest["wall_seconds"]), str(largest["threads"]),
                 f"{largest['peak_megabytes']:,}", f"{exponents.get(learner, {}).get('seconds', '-')}"]
            )  # fmt: skip
    head = [
        "learner",
        "documents",
        "topics",
        "processor",
        "wall clock",
        "threads",
        "peak MB",
        "exponent of time",
    ]
    return make_table(head, lines)


def _make_tune_table(rows: list[Row]) -> str:
    has_fasttext = any("fasttext" in row for row in rows)
    lines = [
        [row["collection"], row["metric"], f"{row['textcat']:.2f}", f"{row['seconds']:.0f}",
         str(row["configurations"]), *_format_grid(row), *(_format_fasttext(row) if has_fasttext else ())]
        for row in rows
    ]  # fmt: skip
    head = ["collection", "metric", "tune", "seconds", "configurations", "grid", "its seconds", "tune / grid"]
    if has_fasttext:
        head += ["fastText", "its seconds"]
    gains = [row["textcat"] - row["scikit-learn"] for row in rows if row.get("peer_seconds")]
    mean = f"\n\nMean difference from the grid: {sum(gains) / len(gains):+.2f} points." if gains else ""
    return make_table(head, lines) + mean


def _format_grid(row: Row) -> list[str]:
    """Return the cells of the grid's metric and seconds, and of tune's time as a share of them."""
    if not row.get("peer_seconds"):
        return ["not measured", "", ""]
    ratio = _format_ratio(row["seconds"] / row["peer_seconds"])
    star = "*" if row.get("peer_saved") else ""
    return [f"{row['scikit-learn']:.2f}{star}", f"{row['peer_seconds']:.0f}", ratio]


def _format_fasttext(row: Row) -> list[str]:
    if "fasttext" not in row:
        return ["not measured", ""]
    return [f"{row['fasttext']:.2f}", f"{row['fasttext_seconds']:.0f}"]


def _make_labels_table(rows: list[Row]) -> str:
    names = ("seconds", "peak_megabytes", "model_megabytes", "milliseconds a document", "P@1", "P@3", "P@5")
    return make_table(
        ["tool", "documents", "labels", "processor", "peak MB", "model MB", "ms a document", "P@1", "P@3", "P@5"],
        (
            [row["tool"], f"{row['documents']:,}", f"{row['labels']:,}", *(f"{row[name]:,}" for name in names)]
            for row in sorted(rows, key=lambda row: row["documents"] or 0)
            if row.get("seconds") is not None
        ),
    )  # fmt: skip


def _order_rows(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["learner"], row["varied"]))


_TABLES: Mapping[str, Callable[[list[dict[str, Any]]], str]] = {
    "text": _make_text_table,
    "solvers": _make_solvers_table,
    "pipeline": _make_pipeline_table,
    "predict": _make_predict_table,
    "backends": _make_backends_table,
    "scale": _make_scale_table,
    "tune": _make_tune_table,
    "labels": _make_labels_table,
}


if __name__ == "__main__":
    print(write_page(), end="")  # noqa: T201 - the page is what this program is for
