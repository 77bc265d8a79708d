"""The papers' figures by their ids: what draws each from an experiment's results, and its caption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from matplotlib.figure import Figure

from textcat.report import figures_courses, figures_distributions, figures_losses


@dataclass(frozen=True)
class Drawing:
    """A caption, and the function from results to the figure (None where the results hold nothing to draw)."""

    caption: str
    draw: Callable[[Mapping[str, Any]], Figure | None]


FIGURES: Mapping[str, Drawing] = MappingProxyType(
    {
        "zhang_oles_2001.figure4": Drawing("Loss functions", figures_losses.losses),
        "zhang_oles_2001.figure5": Drawing(
            "Margins of the topic earn in training", figures_distributions.margin_histograms
        ),
        "zhang_oles_2001.figure6": Drawing("Macro F1 over the largest classes", figures_courses.macro_f1),
        "zhang_oles_2001.figure7": Drawing(
            "Break-even point of logistic regression by number of features", figures_courses.by_features
        ),
        "zhang_oles_2001.figure8": Drawing(
            "Break-even point of logistic regression by lambda", figures_courses.by_lambda
        ),
        "zhang_jin_2003.figure1": Drawing(
            "The loss of MLR-CG nears the hinge", figures_losses.approximations
        ),
        "zhang_jin_2003.figure2": Drawing(
            "The SVM objective on the way of MLR-CG", figures_courses.objective_by_seconds
        ),
        "genkin_2004.figure1": Drawing("The Laplace density", figures_losses.laplace_density),
        "genkin_2004.figure2": Drawing(
            "Eight weights under a Gaussian prior", figures_courses.gaussian_paths
        ),
        "genkin_2004.figure3": Drawing("Eight weights under a Laplace prior", figures_courses.laplace_paths),
        "genkin_2004.figure6": Drawing(
            "Test errors of each category with three methods", figures_distributions.parallel_errors
        ),
        "genkin_2004.figure7": Drawing(
            "Features that the lasso keeps", figures_distributions.features_selected
        ),
        "genkin_2004.figure8": Drawing(
            "Features kept against positive training documents", figures_distributions.features_by_positives
        ),
        "gao_2003.figure2": Drawing("The smooth count of an error", figures_losses.sigmoid),
        "gao_2003.figure3": Drawing("The training F1 of acq during the descent", figures_courses.convergence),
        "gao_2003.figure4": Drawing(
            "The misclassification measure of acq before and after learning",
            figures_distributions.sides_before_and_after,
        ),
        "zhang_2000.figure1": Drawing(
            "Precision and recall over the ten largest topics", figures_courses.precision_recall
        ),
    }
)
