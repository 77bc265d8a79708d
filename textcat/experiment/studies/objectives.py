"""What a hyperplane is worth to the SVM: figure 2 and proposition 1 of zhang_jin_2003."""

from __future__ import annotations

import numpy as np

from textcat.errors import UsageError
from textcat.experiment.studies.study import Findings, Floats, Subject

# The gammas that MLR-CG goes through: 1, 11, ..., 191.
GAMMAS = np.arange(1.0, 200.0, 10.0)


def objectives(subject: Subject) -> Findings:
    """The SVM's objective of each category, and by how much the approximate one exceeds it.

    category.NAME.svm_objective: (1/n) sum of hinge losses + lam |w|^2, the constant's weight left free;
    approximation.least_excess, .greatest_excess_times_gamma: over categories and the gammas of MLR-CG.
    """
    if subject.weights is None:
        raise UsageError(
            "only linear models have an SVM objective",
            where="evaluation.studies",
            hint="Leave `objectives` out of the run's studies, or choose a linear learner.",
        )
    lam = float(subject.run.parameters.get("lam", 1e-3))
    signs = np.where(subject.vectors.train_labels, 1.0, -1.0)
    reached = signs * subject.train_scores
    penalty = lam * (subject.weights**2).sum(axis=0)
    hinge = np.maximum(0.0, 1.0 - reached).mean(axis=0)
    excess = np.array([_soft_hinge(reached, gamma).mean(axis=0) - hinge for gamma in GAMMAS])
    measures = {
        f"category.{name}.svm_objective": float(value)
        for name, value in zip(subject.vectors.categories, hinge + penalty, strict=True)
    }
    measures["approximation.least_excess"] = float(excess.min())
    measures["approximation.greatest_excess_times_gamma"] = float((excess * GAMMAS[:, None]).max())
    return Findings(measures)


def _soft_hinge(reached: Floats, gamma: float) -> Floats:
    """The modified logistic loss, whose limit for large gamma is the hinge."""
    return np.asarray(np.logaddexp(0.0, gamma * (1.0 - reached)) / gamma)
