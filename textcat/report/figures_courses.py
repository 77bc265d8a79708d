"""Measures against a setting: features, lambda, iterations, seconds, prior variance; precision against recall."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from textcat.report.figures import COLOURS, STYLE, axes_of, decades, macro_by_classes, style_of

Points = list[tuple[float, float]]


def by_features(results: Mapping[str, Any]) -> Figure:
    """Figure 7 of zhang_oles_2001: break-even point of logistic regression by the number of features."""
    runs = results["runs"]
    points = [
        (float(name.removeprefix("features_")), run["measures"]["micro.bep"])
        for name, run in runs.items()
        if name != "features_all"
    ]
    with axes_of() as (figure, axes):
        axes.plot(*zip(*sorted(points), strict=True), marker="o", color=COLOURS[0], label="selected features")
        if "features_all" in runs:
            level = runs["features_all"]["measures"]["micro.bep"]
            axes.axhline(level, color=COLOURS[1], linestyle="--", label="no selection")
        decades(axes)
        axes.set(xlabel="number of features", ylabel="micro break-even point (%)")
        axes.legend(fontsize=9)
        return figure


def by_lambda(results: Mapping[str, Any]) -> Figure:
    """Figure 8 of zhang_oles_2001: break-even point of logistic regression by lambda."""
    points = [
        (float(name.removeprefix("lambda_")), run["measures"]["micro.bep"])
        for name, run in results["runs"].items()
    ]
    with axes_of() as (figure, axes):
        axes.plot(*zip(*sorted(points), strict=True), marker="o", color=COLOURS[0])
        decades(axes)
        axes.set(xlabel="lambda", ylabel="micro break-even point (%)")
        return figure


def macro_f1(results: Mapping[str, Any]) -> Figure | None:
    """Figure 6 of zhang_oles_2001: macro F1 over the largest 5, 10, ... and all classes."""
    runs = {run["title"] or name: run["measures"] for name, run in results["runs"].items()}
    return macro_by_classes(runs, len(results["corpus"]["train_counts"]))


def precision_recall(results: Mapping[str, Any]) -> Figure:
    """Figure 1 of zhang_2000: micro-averaged precision-recall curves over the ten largest topics."""
    with axes_of(6.0, 4.6) as (figure, axes):
        for position, (name, run) in enumerate(results["runs"].items()):
            series = run["series"]
            style = style_of(position)
            axes.plot(series["curve.recall"], series["curve.precision"], label=run["title"] or name, **style)
        axes.set(xlabel="recall (%)", ylabel="precision (%)", xlim=(60, 100), ylim=(60, 100))
        axes.legend(loc="lower left", fontsize=9)
        return figure


def convergence(results: Mapping[str, Any]) -> Figure:
    """Figure 3 of gao_2003: F1 on the training documents during the descent."""
    run = next(iter(results["runs"].values()))
    course = run["series"]["iterations.train_f1"]
    with axes_of() as (figure, axes):
        axes.plot(range(len(course)), [value / 100 for value in course], color=COLOURS[0])
        axes.set(xlabel="iteration", ylabel="F1 of the positive class, training documents", ylim=(0, 1))
        return figure


def objective_by_seconds(results: Mapping[str, Any]) -> Figure:
    """Figure 2 of zhang_jin_2003: the SVM's objective on the way of MLR-CG, and where the SVM ends, a topic a panel."""
    runs = results["runs"]
    topics = list(results["corpus"]["train_counts"])
    with plt.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 5.2), layout="constrained")
        for axes, topic in zip(figure.subplots(2, 2).flat, topics, strict=False):
            points = _on_the_way(runs, topic)
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, color=COLOURS[0], label="MLR-CG")
            final = runs["svm"]["measures"][f"category.{topic}.svm_objective"]
            axes.axhline(final, color=COLOURS[1], linestyle="--", label="SVM")
            axes.set(title=topic, xlabel="conjugate gradient steps", ylabel="SVM objective")
        figure.axes[0].legend(fontsize=9)
        return figure


def _on_the_way(runs: Mapping[str, Any], topic: str) -> Points:
    """By steps, which stand for the time: they are of the same work each, and no two machines share seconds."""
    points = []
    for name, run in runs.items():
        steps = re.fullmatch(r"mlr_cg(?:_(\d+))?", name)
        if steps:
            points.append((float(steps[1] or 200), run["measures"][f"category.{topic}.svm_objective"]))
    return sorted(points)


def gaussian_paths(results: Mapping[str, Any]) -> Figure:
    """Figure 2 of genkin_2004: eight weights as the variance of the Gaussian prior grows."""
    return _paths(results, "ridge")


def laplace_paths(results: Mapping[str, Any]) -> Figure:
    """Figure 3 of genkin_2004: the same under the Laplace prior, where weights are zero up to some variance."""
    return _paths(results, "lasso")


def _paths(results: Mapping[str, Any], prior: str) -> Figure:
    weights: dict[str, Points] = {}
    runs = [run for name, run in results["runs"].items() if name.startswith(prior)]
    terms = sorted({term for run in results["runs"].values() for term in run["series"]["weights.terms"]})
    for run in runs:
        series = dict(zip(run["series"]["weights.terms"], run["series"]["weights.values"], strict=True))
        for term in terms:
            weights.setdefault(term, []).append(
                (float(run["settings"]["parameters"]["variance"]), series.get(term, 0.0))
            )
    with axes_of() as (figure, axes):
        for position, (term, points) in enumerate(weights.items()):
            axes.plot(*zip(*sorted(points), strict=True), label=term, **style_of(position))
        axes.axvline(0.01, color="#888888", linewidth=0.8, linestyle=":")
        decades(axes)
        axes.set(xlabel="prior variance", ylabel="weight")
        axes.legend(fontsize=8, ncols=2)
        return figure
