"""How numbers are spread: margins of documents, errors and features of categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from textcat.report.figures import COLOURS, STYLE, axes_of, style_of


def margin_histograms(results: Mapping[str, Any]) -> Figure:
    """Figure 5 of zhang_oles_2001: histograms of score times label, a panel a method."""
    runs = results["runs"]
    with plt.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.4), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(runs), sharex=True, sharey=True))
        for axes, (name, run) in zip(panels, runs.items(), strict=True):
            series = run["series"]
            axes.stairs(series["margins.counts"], series["margins.edges"], fill=True, color=COLOURS[0])
            axes.set(title=run["title"] or name, xlabel="score times label")
        panels[0].set_ylabel("training documents")
        return figure


def sides_before_and_after(results: Mapping[str, Any]) -> Figure:
    """Figure 4 of gao_2003: the misclassification measure of both classes before and after learning.

    d is that of the positive class for both, so that learning moves the positives left and the negatives right;
    heights are densities, as the histograms before and after have bins of different width.
    """
    with axes_of() as (figure, axes):
        position = 0
        for run in results["runs"].values():
            edges = np.asarray(run["series"]["scores.edges"], dtype=float)
            for side in ("positive", "negative"):
                counts = np.asarray(run["series"][f"scores.{side}"], dtype=float)
                density = counts / max(counts.sum(), 1.0) / np.diff(edges)
                label = f"{run['title']}, {side} class"
                axes.plot(-(edges[1:] + edges[:-1]) / 2.0, density, label=label, **style_of(position))
                position += 1
        axes.axvline(0.0, color="#888888", linewidth=0.8)
        axes.set(xlabel="d-value (below 0 the document is accepted)", ylabel="density within the class")
        axes.legend(fontsize=8)
        return figure


def parallel_errors(results: Mapping[str, Any]) -> Figure:
    """Figure 6 of genkin_2004: log of 1 + errors of each category with three methods, and a little jitter."""
    runs = results["runs"]
    methods = {"ridge": "ridge_default", "lasso": "lasso_default", "SVM": "svm_default"}
    jitter = np.random.default_rng(1)
    with axes_of(5.4, 4.8) as (figure, axes):
        for name in results["corpus"]["train_counts"]:
            errors = [runs[run]["measures"][f"category.{name}.errors"] for run in methods.values()]
            heights = np.log1p(errors) + jitter.uniform(-0.06, 0.06, len(errors))
            axes.plot(range(len(errors)), heights, color=COLOURS[0], linewidth=0.6, alpha=0.7)
        axes.set_xticks(range(len(methods)), list(methods))
        axes.set(ylabel="ln(1 + test errors)", title="ModApte, 90 categories")
        return figure


def features_selected(results: Mapping[str, Any]) -> Figure:
    """Figure 7 of genkin_2004: how many features the lasso keeps, a count of categories."""
    used = _features(results, "lasso_all_norm")
    with axes_of() as (figure, axes):
        axes.hist(used, bins=40, color=COLOURS[0], edgecolor="white", linewidth=0.4)
        axes.set(xlabel="features with a nonzero weight", ylabel="categories")
        return figure


def features_by_positives(results: Mapping[str, Any]) -> Figure:
    """Figure 8 of genkin_2004: features kept against positive training documents, natural logarithms."""
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    used = _features(results, "lasso_all_cv")
    points = [
        (np.log(positives), np.log(features))
        for positives, features in zip(counts.values(), used, strict=True)
        if positives and features
    ]
    with axes_of(5.4, 4.4) as (figure, axes):
        axes.plot(*zip(*points, strict=True), linestyle="none", marker="o", markersize=4, color=COLOURS[0])
        axes.set(xlabel="ln positive training documents", ylabel="ln features with a nonzero weight")
        return figure


def _features(results: Mapping[str, Any], run: str) -> list[float]:
    measures = results["runs"][run]["measures"]
    return [measures[f"category.{name}.features"] for name in results["corpus"]["train_counts"]]
