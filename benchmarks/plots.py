"""Plot measurements: bars of seconds per solver, and lines of time and memory by size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from textcat.report.figures import COLOURS, choose_line_style, make_axes

Rows = Sequence[Mapping[str, Any]]
_STAGES = ("vectorize", "train", "thresholds", "evaluate")

# If the bars differ by a larger factor, the axis is logarithmic; otherwise it starts at zero.
_LOG_AXIS_RATIO = 10.0


def plot_rows(what: str, rows: Rows) -> Figure | None:
    """Return the plot of a benchmark; None if it has none or nothing was measured."""
    drawer = _PLOTTERS.get(what)
    return drawer(rows) if drawer and rows else None


def _plot_solvers(rows: Rows) -> Figure:
    return _plot_bars(
        rows, "problem", "solver", "Seconds of processor time to a gap of 1e-5; pale: not reached"
    )


def _plot_text(rows: Rows) -> Figure:
    both = [
        {"variant": row["variant"], "tool": tool, "seconds": row[key]}
        for row in rows
        for tool, key in (("textcat", "seconds"), ("scikit-learn", "peer_seconds"))
    ]
    return _plot_bars(both, "variant", "tool", "Seconds of processor time")


def _plot_backends(rows: Rows) -> Figure:
    """Plot the speedup by number of workers: one line per backend, one panel per kind of work."""
    workers = sorted({row["workers"] for row in rows})
    works = list(dict.fromkeys(row["work"] for row in rows))
    with make_axes(8.0, 3.6, 1, len(works), sharey=True, squeeze=False) as (figure, panels):
        for work, axes in zip(works, panels[0], strict=True):
            axes.plot(workers, workers, color="0.7", linestyle=":", label="linear speedup")
            for number, backend in enumerate(dict.fromkeys(row["backend"] for row in rows)):
                chosen = [row for row in rows if (row["work"], row["backend"]) == (work, backend)]
                speedups = [row["speedup"] for row in chosen]
                axes.plot(
                    [row["workers"] for row in chosen], speedups, label=backend, **choose_line_style(number)
                )
            axes.set(title=work, xlabel="workers", xticks=workers, ylim=(0.0, None))
        figure.axes[0].set_ylabel("Speedup over one worker")
        figure.axes[0].legend(frameon=False)
    return figure


def _plot_bars(rows: Rows, group: str, bar: str, label: str) -> Figure:
    """Plot horizontal bars, grouped by `group`; pale if the accuracy was not reached."""
    measured = [row for row in rows if row.get("seconds") is not None]
    groups = list(dict.fromkeys(row[group] for row in measured))
    bars = list(dict.fromkeys(row[bar] for row in measured))
    thickness = 0.8 / max(len(bars), 1)
    with make_axes(7.0, 1.2 + 0.6 * len(groups)) as (figure, axes):
        for number, name in enumerate(bars):
            own = [row for row in measured if row[bar] == name]
            places = [groups.index(row[group]) + (number - (len(bars) - 1) / 2) * thickness for row in own]
            drawn = axes.barh(
                places,
                [row["seconds"] for row in own],
                thickness,
                label=name,
                color=COLOURS[number % len(COLOURS)],
            )
            for patch, row in zip(drawn, own, strict=True):
                patch.set_alpha(1.0 if row.get("reached", True) else 0.25)
        axes.set(yticks=range(len(groups)), yticklabels=groups, xlabel=label, axisbelow=True)
        seconds = [row["seconds"] for row in measured]
        if max(seconds) > _LOG_AXIS_RATIO * min(seconds):
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            _format_axis_numbers(axes.xaxis)
        axes.invert_yaxis()
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        return figure


def _plot_pipeline(rows: Rows) -> Figure:
    """Plot one bar per tool and learner, divided by stage."""
    measured = [row for row in rows if row["seconds"] is not None]
    names = [f"{row['tool']}, {row['learner']}" for row in measured]
    with make_axes(7.0, 1.2 + 0.5 * len(names)) as (figure, axes):
        reached = [0.0] * len(measured)
        for number, stage in enumerate(_STAGES):
            parts = [row[stage] or 0.0 for row in measured]
            axes.barh(names, parts, 0.7, left=reached, label=stage, color=COLOURS[number])
            reached = [before + part for before, part in zip(reached, parts, strict=True)]
        for place, row in enumerate(measured):
            axes.text(reached[place], place, f"  micro F1 {row['micro_f1']:.1f}", va="center")
        axes.set(
            xlabel="Seconds of processor time", xlim=(0, 1.25 * max(reached, default=1.0)), axisbelow=True
        )
        axes.invert_yaxis()
        axes.legend()
        return figure


def _plot_scale(rows: Rows) -> Figure:
    """Plot time (above) and memory (below) by number of documents (left) and of topics (right)."""
    with make_axes(9.0, 6.4, 2, 2, sharex="col", sharey="row") as (figure, panels):
        measures = (
            ("seconds", "Seconds of processor time"),
            ("own_megabytes", "Peak memory without mapped files, MB"),
        )
        for column, varied in enumerate(("documents", "topics")):
            for line, (measure, label) in enumerate(measures):
                _plot_lines(panels[line][column], [r for r in rows if r["varied"] == varied], varied, measure)
                if column == 0:
                    panels[line][column].set_ylabel(label)
            panels[1][column].set_xlabel(varied)
        figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        return figure


def _plot_lines(axes: Any, rows: Rows, varied: str, measure: str) -> None:
    for number, learner in enumerate(dict.fromkeys(row["learner"] for row in rows)):
        points = [(r[varied], r[measure]) for r in rows if r["learner"] == learner and r[measure]]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=learner, **choose_line_style(number))
    axes.set(xscale="log", yscale="log")
    _format_axis_numbers(axes.xaxis)
    _format_axis_numbers(axes.yaxis)


def _format_axis_numbers(axis: Any) -> None:
    """Label powers of ten in full, without exponents."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


_PLOTTERS: dict[str, Callable[[Rows], Figure]] = {
    "text": _plot_text,
    "solvers": _plot_solvers,
    "pipeline": _plot_pipeline,
    "scale": _plot_scale,
    "backends": _plot_backends,
}
