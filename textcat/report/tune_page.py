"""tune.html: score against time, what each choice is worth, learning curve, confusions, label errors, calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from textcat.corpora import OWN_FORMATS
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import Experiment
from textcat.report.diagnostics import read_excerpts
from textcat.report.escaping import escape_figure_label
from textcat.report.experiment_page import Picture, describe_machine, render_template
from textcat.report.figures import COLOURS, make_axes, plot_reliability, save_figure, set_log_axis
from textcat.store.files import write_atomically

PAGE_FILE, FIGURES = "tune.html", "figures"
# Measures of the test documents that the page names, as far as the run has them.
TEST_MEASURES = ("accuracy", "micro.f1", "macro.f1", "precision@1", "precision@3", "precision@5")
MOST_CANDIDATES = 25


def write_tune_page(
    folder: Path, report: Mapping[str, Any], experiment: Experiment, context: RunContext
) -> Path:
    """Write the page of a report and its figures; the user's own documents are quoted."""
    pictures = {} if report["left_out"] == "interrupt" else draw_figures(folder / FIGURES, report)
    quoted = experiment.corpus.name in OWN_FORMATS
    wanted = {each["document"] for each in report["label_errors"]} if quoted else set()
    excerpts = read_excerpts(experiment, context, wanted)
    write_atomically(folder / PAGE_FILE, render_tune_page(report, pictures, excerpts))
    return folder / PAGE_FILE


def render_tune_page(
    report: Mapping[str, Any], pictures: Mapping[str, Picture], excerpts: Mapping[str, str]
) -> str:
    """Render the page."""
    measures = report["test"]["measures"]
    # With one label per document, micro F1 and precision at 1 equal the accuracy.
    same = {"micro.f1", "precision@1"} if report["single_label"] else set()
    shown = [name for name in TEST_MEASURES if name not in same and measures.get(name) is not None]
    return render_template(
        "tune.html",
        title=f"{report['title']}: tuned",
        kicker="tune",
        summary={},
        report=report,
        best=report["best"],
        pictures=pictures,
        excerpts=excerpts,
        tests={name: measures[name] for name in shown},
        candidates=report["candidates"][:MOST_CANDIDATES],
        machine=describe_machine(),
    )


def draw_figures(folder: Path, report: Mapping[str, Any]) -> dict[str, Picture]:
    """Return the figures by name, written as SVG and PNG."""
    metric = report["metric"]
    drawings: dict[str, tuple[str, Callable[[Mapping[str, Any]], Figure | None]]] = {
        "score_against_time": (f"{metric} on held-out folds against time", plot_history),
        "effects": (f"what each choice is worth, in points of {metric}", plot_effects),
        "learning_curve": (f"{metric} by number of training documents", plot_learning_curve),
        "calibration": ("probability against the share that is right, on held-out folds", plot_calibration),
    }
    pictures = {}
    for name, (caption, draw) in drawings.items():
        figure = draw(report)
        if figure is not None:
            path = save_figure(figure, folder, name)
            pictures[name] = Picture(caption, path.read_bytes())
    return pictures


def plot_history(report: Mapping[str, Any]) -> Figure | None:
    """Plot the value of every measurement against the time of the search, and the best so far as a line."""
    history: Sequence[Mapping[str, Any]] = report["history"]
    if not history:
        return None
    seconds = [each["seconds"] for each in history]
    small = [each["fold"] is None for each in history]
    with make_axes() as (figure, axes):
        for part, label, colour in ((True, "part of a fold", COLOURS[7]), (False, "one fold", COLOURS[0])):
            points = [
                (each["seconds"], each["value"])
                for each, is_small in zip(history, small, strict=True)
                if is_small is part
            ]
            if points:
                axes.scatter(*zip(*points, strict=True), s=14, color=colour, label=label)
        axes.step(
            seconds,
            [each["best"] for each in history],
            where="post",
            color=COLOURS[1],
            label="best so far, mean of its folds",
        )
        values = sorted(each["value"] for each in history)
        low = min(values[len(values) // 10], *(each["best"] for each in history))
        axes.set_ylim(low - 1.0, values[-1] + 0.5)
        axes.set(xlabel="seconds of search", ylabel=f"{report['metric']} (%)")
        axes.legend(fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        return figure


def plot_effects(report: Mapping[str, Any]) -> Figure | None:
    """Plot the effect of each option against the chosen option; None if no other option has a known effect.

    A choice without a known effect of another option is left out.
    """
    chosen = report["best"]["options"]
    known = {
        choice: {option: effect for option, effect in options.items() if effect is not None}
        for choice, options in report["effects"].items()
    }
    rows = [
        (choice, option, effect)
        for choice, options in known.items()
        for option, effect in options.items()
        if set(options) - {chosen[choice]}
    ]
    if not rows:
        return None
    with make_axes(height=0.27 * len(rows) + 1.0) as (figure, axes):
        choices = list(report["effects"])
        for place, (choice, option, effect) in enumerate(rows):
            colour = COLOURS[choices.index(choice) % len(COLOURS)]
            axes.barh(place, effect, color=colour, height=0.6)
            axes.annotate(
                "chosen" if option == chosen[choice] else f"{effect:+.2f}",
                (max(effect, 0.0), place),
                xytext=(4, -3),
                textcoords="offset points",
                fontsize=8,
            )
        axes.set_yticks(
            range(len(rows)),
            [escape_figure_label(f"{choice}: {option}") for choice, option, _ in rows],
            fontsize=9,
        )
        axes.invert_yaxis()
        axes.axvline(0.0, color="#000000", linewidth=0.8)
        axes.margins(x=0.15)
        axes.set(xlabel=f"points of {report['metric']}")
        return figure


def plot_learning_curve(report: Mapping[str, Any]) -> Figure | None:
    """Plot the metric by number of training documents, with the expected value of twice as many; None without it."""
    curve = report["learning_curve"]
    if curve is None:
        return None
    with make_axes() as (figure, axes):
        axes.plot(curve["documents"], curve["values"], marker="o", color=COLOURS[0], label="some folds")
        if curve["twice"] is not None:
            last = curve["documents"][-1]
            axes.plot(
                [last, 2 * last],
                [curve["value"], curve["twice"]],
                marker="o",
                markerfacecolor="none",
                linestyle="--",
                color=COLOURS[1],
                label="all folds, and expected",
            )
        set_log_axis(axes)
        axes.set_xticks(curve["documents"], [f"{number:,}" for number in curve["documents"]])
        axes.set(xlabel="training documents", ylabel=f"{report['metric']} (%)")
        axes.legend(fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        return figure


def plot_calibration(report: Mapping[str, Any]) -> Figure | None:
    """Plot the share that is right by probability."""
    calibration = report["calibration"]
    if not calibration or not calibration["bins"]:
        return None
    return plot_reliability({"held-out folds": calibration["bins"]})
