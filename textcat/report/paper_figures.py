"""Figures of the papers, by id, drawn from results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from textcat.report.figures import (
    COLOURS,
    choose_line_style,
    make_axes,
    plot_macro_f1_by_classes,
    set_log_axis,
)

Points = list[tuple[float, float]]


def plot_bep_by_parameter(results: Mapping[str, Any], prefix: str, label: str) -> Figure:
    """Plot figures 7 and 8 of zhang_oles_2001: break-even point of logistic regression by features and by lambda.

    The runs are `prefix` and the value of the parameter, or `all` without selection.
    """
    levels = {
        name.removeprefix(prefix): run["measures"]["micro.bep"] for name, run in results["runs"].items()
    }
    everything = levels.pop("all", None)
    points = sorted((float(value), level) for value, level in levels.items())
    with make_axes() as (figure, axes):
        axes.plot(*zip(*points, strict=True), marker="o", color=COLOURS[0], label="selected features")
        if everything is not None:
            axes.axhline(everything, color=COLOURS[1], linestyle="--", label="no selection")
        set_log_axis(axes)
        axes.set(xlabel=label, ylabel="micro break-even point (%)")
        if prefix == "features_":
            axes.legend(fontsize=9)
        return figure


def plot_macro_f1(results: Mapping[str, Any]) -> Figure | None:
    """Plot figure 6 of zhang_oles_2001: macro F1 over the largest 5, 10, ... and all classes."""
    runs = {run["title"] or name: run["measures"] for name, run in results["runs"].items()}
    return plot_macro_f1_by_classes(runs, len(results["corpus"]["train_counts"]))


def plot_precision_recall(results: Mapping[str, Any]) -> Figure:
    """Plot figure 1 of zhang_2000: micro-averaged precision-recall curves over the ten largest topics."""
    with make_axes(6.0, 4.6) as (figure, axes):
        for position, (name, run) in enumerate(results["runs"].items()):
            series = run["series"]
            style = choose_line_style(position)
            axes.plot(series["curve.recall"], series["curve.precision"], label=run["title"] or name, **style)
        axes.set(xlabel="recall (%)", ylabel="precision (%)", xlim=(60, 100), ylim=(60, 100))
        axes.legend(loc="lower left", fontsize=9)
        return figure


def plot_convergence(results: Mapping[str, Any]) -> Figure:
    """Plot figure 3 of gao_2003: F1 on the training documents during the descent."""
    run = next(iter(results["runs"].values()))
    course = run["series"]["iterations.train_f1"]
    with make_axes() as (figure, axes):
        axes.plot(range(len(course)), [value / 100 for value in course], color=COLOURS[0])
        axes.set(xlabel="iteration", ylabel="F1 of the positive class, training documents", ylim=(0, 1))
        return figure


def plot_objective_by_steps(results: Mapping[str, Any]) -> Figure:
    """Plot figure 2 of zhang_jin_2003: SVM objective by MLR-CG steps, with the SVM's optimum, one panel per topic."""
    runs = results["runs"]
    topics = list(results["corpus"]["train_counts"])
    with make_axes(7.0, 5.2, 2, 2) as (figure, panels):
        for axes, topic in zip(panels.flat, topics, strict=False):
            points = _list_objectives_by_steps(runs, topic)
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, color=COLOURS[0], label="MLR-CG")
            final = runs["svm"]["measures"][f"category.{topic}.svm_objective"]
            axes.axhline(final, color=COLOURS[1], linestyle="--", label="SVM")
            axes.set(title=topic, xlabel="conjugate gradient steps", ylabel="SVM objective")
        figure.axes[0].legend(fontsize=9)
        return figure


def _list_objectives_by_steps(runs: Mapping[str, Any], topic: str) -> Points:
    """List (steps, objective); steps instead of seconds, because seconds differ between machines."""
    points = []
    for name, run in runs.items():
        steps = re.fullmatch(r"mlr_cg(?:_(\d+))?", name)
        if steps:
            points.append((float(steps[1] or 200), run["measures"][f"category.{topic}.svm_objective"]))
    return sorted(points)


def plot_paths(results: Mapping[str, Any], prior: str) -> Figure:
    """Plot figures 2 (ridge) and 3 (lasso) of genkin_2004: eight weights as the variance of the prior grows."""
    weights: dict[str, Points] = {}
    runs = [run for name, run in results["runs"].items() if name.startswith(prior)]
    terms = sorted({term for run in results["runs"].values() for term in run["series"]["weights.terms"]})
    for run in runs:
        series = dict(zip(run["series"]["weights.terms"], run["series"]["weights.values"], strict=True))
        for term in terms:
            weights.setdefault(term, []).append(
                (float(run["settings"]["parameters"]["variance"]), series.get(term, 0.0))
            )
    with make_axes() as (figure, axes):
        for position, (term, points) in enumerate(weights.items()):
            axes.plot(*zip(*sorted(points), strict=True), label=term, **choose_line_style(position))
        axes.axvline(0.01, color="#888888", linewidth=0.8, linestyle=":")
        set_log_axis(axes)
        axes.set(xlabel="prior variance", ylabel="weight")
        axes.legend(fontsize=8, ncols=2)
        return figure


def plot_margin_histograms(results: Mapping[str, Any]) -> Figure:
    """Plot figure 5 of zhang_oles_2001: histograms of score times label, one panel per method."""
    runs = results["runs"]
    with make_axes(7.0, 3.4, 1, len(runs), sharex=True, sharey=True, squeeze=False) as (figure, panels):
        for axes, (name, run) in zip(panels[0], runs.items(), strict=True):
            series = run["series"]
            axes.stairs(series["margins.counts"], series["margins.edges"], fill=True, color=COLOURS[0])
            axes.set(title=run["title"] or name, xlabel="score times label")
        panels[0, 0].set_ylabel("training documents")
        return figure


def plot_misclassification_measure(results: Mapping[str, Any]) -> Figure:
    """Plot figure 4 of gao_2003: the misclassification measure of both classes before and after learning.

    The measure d is that of the positive class for all documents, so learning moves positives left and negatives right.
    Heights are densities, because the histograms have bins of different width.
    """
    with make_axes() as (figure, axes):
        position = 0
        for run in results["runs"].values():
            edges = np.asarray(run["series"]["scores.edges"], dtype=float)
            for side in ("positive", "negative"):
                counts = np.asarray(run["series"][f"scores.{side}"], dtype=float)
                density = counts / max(counts.sum(), 1.0) / np.diff(edges)
                label = f"{run['title']}, {side} class"
                axes.plot(
                    -(edges[1:] + edges[:-1]) / 2.0, density, label=label, **choose_line_style(position)
                )
                position += 1
        axes.axvline(0.0, color="#888888", linewidth=0.8)
        axes.set(xlabel="d-value (below 0 the document is accepted)", ylabel="density within the class")
        axes.legend(fontsize=8)
        return figure


def plot_errors_by_method(results: Mapping[str, Any]) -> Figure:
    """Plot figure 6 of genkin_2004: log of 1 + errors per category with three methods, with jitter."""
    runs = results["runs"]
    methods = {"ridge": "ridge_default", "lasso": "lasso_default", "SVM": "svm_default"}
    jitter = np.random.default_rng(1)
    with make_axes(5.4, 4.8) as (figure, axes):
        for name in results["corpus"]["train_counts"]:
            errors = [runs[run]["measures"][f"category.{name}.errors"] for run in methods.values()]
            heights = np.log1p(errors) + jitter.uniform(-0.06, 0.06, len(errors))
            axes.plot(range(len(errors)), heights, color=COLOURS[0], linewidth=0.6, alpha=0.7)
        axes.set_xticks(range(len(methods)), list(methods))
        axes.set(ylabel="ln(1 + test errors)", title="ModApte, 90 categories")
        return figure


def plot_kept_features(results: Mapping[str, Any]) -> Figure:
    """Plot figure 7 of genkin_2004: histogram of the number of features that the lasso keeps."""
    used = _list_kept_features(results, "lasso_all_norm")
    with make_axes() as (figure, axes):
        axes.hist(used, bins=40, color=COLOURS[0], edgecolor="white", linewidth=0.4)
        axes.set(xlabel="features with a nonzero weight", ylabel="categories")
        return figure


def plot_features_by_positives(results: Mapping[str, Any]) -> Figure:
    """Plot figure 8 of genkin_2004: features kept against positive training documents, in natural logarithms."""
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    used = _list_kept_features(results, "lasso_all_cv")
    points = [
        (np.log(positives), np.log(features))
        for positives, features in zip(counts.values(), used, strict=True)
        if positives and features
    ]
    with make_axes(5.4, 4.4) as (figure, axes):
        axes.plot(*zip(*points, strict=True), linestyle="none", marker="o", markersize=4, color=COLOURS[0])
        axes.set(xlabel="ln positive training documents", ylabel="ln features with a nonzero weight")
        return figure


def _list_kept_features(results: Mapping[str, Any], run: str) -> list[float]:
    measures = results["runs"][run]["measures"]
    return [measures[f"category.{name}.features"] for name in results["corpus"]["train_counts"]]


def plot_losses(results: Mapping[str, Any]) -> Figure:
    """Plot figure 4 of zhang_oles_2001: hinge, logistic, and modified logistic loss of gamma 3."""
    z = np.linspace(-2, 3, 251)
    lines = {
        "hinge": np.maximum(0.0, 1.0 - z),
        "logistic": np.logaddexp(0.0, -z),
        "modified logistic, gamma 3": np.logaddexp(0.0, 3.0 * (1.0 - z)) / 3.0,
    }
    return _plot_lines(z, lines, "margin", "loss")


def plot_loss_approximations(results: Mapping[str, Any]) -> Figure:
    """Plot figure 1 of zhang_jin_2003: the modified logistic loss approaches the hinge loss as gamma grows."""
    z = np.linspace(-1, 3, 401)
    lines = {"hinge (SVM)": np.maximum(0.0, 1.0 - z), "logistic": np.logaddexp(0.0, -z)}
    for gamma in (1, 5, 20):
        lines[f"modified logistic, gamma {gamma}"] = np.logaddexp(0.0, gamma * (1.0 - z)) / gamma
    return _plot_lines(z, lines, "margin", "loss")


def plot_sigmoid(results: Mapping[str, Any]) -> Figure:
    """Plot figure 2 of gao_2003: smooth error count for three values of alpha."""
    d = np.linspace(-1, 1, 401)
    lines = {f"alpha {alpha}": 1.0 / (1.0 + np.exp(-alpha * d)) for alpha in (20, 10, 5)}
    return _plot_lines(d, lines, "misclassification measure d", "loss")


def plot_laplace_density(results: Mapping[str, Any]) -> Figure:
    """Plot figure 1 of genkin_2004: Laplace density of rate 1 and Gaussian density of the same variance."""
    beta = np.linspace(-6, 6, 601)
    lines = {
        "Laplace": 0.5 * np.exp(-np.abs(beta)),
        "Gaussian of variance 2": np.exp(-(beta**2) / 4.0) / np.sqrt(4.0 * np.pi),
    }
    return _plot_lines(beta, lines, "beta", "density")


def _plot_lines(x: Any, lines: Mapping[str, Any], across: str, upwards: str) -> Figure:
    with make_axes() as (figure, axes):
        for position, (label, values) in enumerate(lines.items()):
            axes.plot(x, values, label=label, **choose_line_style(position))
        axes.set(xlabel=across, ylabel=upwards)
        axes.legend(fontsize=9)
        return figure


# Caption, and the function that draws results; it returns None if there is nothing to draw.
FIGURES: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Figure | None]]] = {
    "zhang_oles_2001.figure4": ("Loss functions", plot_losses),
    "zhang_oles_2001.figure5": ("Training margins of the topic earn", plot_margin_histograms),
    "zhang_oles_2001.figure6": ("Macro F1 over the largest classes", plot_macro_f1),
    "zhang_oles_2001.figure7": (
        "Break-even point of logistic regression by number of features",
        partial(plot_bep_by_parameter, prefix="features_", label="number of features"),
    ),
    "zhang_oles_2001.figure8": (
        "Break-even point of logistic regression by lambda",
        partial(plot_bep_by_parameter, prefix="lambda_", label="lambda"),
    ),
    "zhang_jin_2003.figure1": ("The loss of MLR-CG approaches the hinge loss", plot_loss_approximations),
    "zhang_jin_2003.figure2": ("SVM objective by MLR-CG steps", plot_objective_by_steps),
    "genkin_2004.figure1": ("The Laplace density", plot_laplace_density),
    "genkin_2004.figure2": ("Eight weights under a Gaussian prior", partial(plot_paths, prior="ridge")),
    "genkin_2004.figure3": ("Eight weights under a Laplace prior", partial(plot_paths, prior="lasso")),
    "genkin_2004.figure6": ("Test errors per category with three methods", plot_errors_by_method),
    "genkin_2004.figure7": ("Number of features that the lasso keeps", plot_kept_features),
    "genkin_2004.figure8": ("Features kept against positive training documents", plot_features_by_positives),
    "gao_2003.figure2": ("Smooth error count", plot_sigmoid),
    "gao_2003.figure3": ("Training F1 of acq during descent", plot_convergence),
    "gao_2003.figure4": (
        "Misclassification measure of acq before and after learning",
        plot_misclassification_measure,
    ),
    "zhang_2000.figure1": ("Precision and recall over the ten largest topics", plot_precision_recall),
}
