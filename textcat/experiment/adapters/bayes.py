"""Naive Bayes, one category against the rest or over all classes."""

from __future__ import annotations

from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import NaiveBayesParameters
from textcat.learners.naive_bayes import fit_multiclass_naive_bayes, fit_naive_bayes


def fit_binary(name: str, problem: Problem, parameters: NaiveBayesParameters, jobs: int) -> Model:
    """Naive Bayes 2."""
    return fit_naive_bayes(problem.X, problem.labels, parameters.lam, problem.mask)


def fit_multiclass(name: str, problem: Problem, parameters: NaiveBayesParameters, jobs: int) -> Model:
    """Naive Bayes 1; a term counts for all classes when it is selected for any."""
    features = None if problem.mask is None else problem.mask.any(axis=1)
    return fit_multiclass_naive_bayes(problem.X, problem.labels, parameters.lam, features)
