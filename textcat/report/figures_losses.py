"""Functions that papers plot without any data: losses, the sigmoid, the Laplace density."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from textcat.report.figures import axes_of, style_of


def losses(results: Mapping[str, Any]) -> Figure:
    """Figure 4 of zhang_oles_2001: hinge, logistic, and modified logistic loss of gamma 3."""
    z = np.linspace(-2, 3, 251)
    lines = {
        "hinge": np.maximum(0.0, 1.0 - z),
        "logistic": np.logaddexp(0.0, -z),
        "modified logistic, gamma 3": np.logaddexp(0.0, 3.0 * (1.0 - z)) / 3.0,
    }
    return _lines(z, lines, "margin", "loss")


def approximations(results: Mapping[str, Any]) -> Figure:
    """Figure 1 of zhang_jin_2003: the modified logistic loss nears the hinge as gamma grows."""
    z = np.linspace(-1, 3, 401)
    lines = {"hinge (SVM)": np.maximum(0.0, 1.0 - z), "logistic": np.logaddexp(0.0, -z)}
    for gamma in (1, 5, 20):
        lines[f"modified logistic, gamma {gamma}"] = np.logaddexp(0.0, gamma * (1.0 - z)) / gamma
    return _lines(z, lines, "margin", "loss")


def sigmoid(results: Mapping[str, Any]) -> Figure:
    """Figure 2 of gao_2003: the smooth count of an error, for alpha 20 and less."""
    d = np.linspace(-1, 1, 401)
    lines = {f"alpha {alpha}": 1.0 / (1.0 + np.exp(-alpha * d)) for alpha in (20, 10, 5)}
    return _lines(d, lines, "misclassification measure d", "loss")


def laplace_density(results: Mapping[str, Any]) -> Figure:
    """Figure 1 of genkin_2004: the Laplace density of rate 1, with the Gaussian of the same variance."""
    beta = np.linspace(-6, 6, 601)
    lines = {
        "Laplace": 0.5 * np.exp(-np.abs(beta)),
        "Gaussian of variance 2": np.exp(-(beta**2) / 4.0) / np.sqrt(4.0 * np.pi),
    }
    return _lines(beta, lines, "beta", "density")


def _lines(x: Any, lines: Mapping[str, Any], across: str, upwards: str) -> Figure:
    with axes_of() as (figure, axes):
        for position, (label, values) in enumerate(lines.items()):
            axes.plot(x, values, label=label, **style_of(position))
        axes.set(xlabel=across, ylabel=upwards)
        axes.legend(fontsize=9)
        return figure
