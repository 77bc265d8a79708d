"""The studies by the names that an experiment gives them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from textcat.experiment.parts import StudyName
from textcat.experiment.studies.iterations import iterations
from textcat.experiment.studies.margins import margins
from textcat.experiment.studies.objectives import objectives
from textcat.experiment.studies.precision_recall import precision_recall
from textcat.experiment.studies.study import Study
from textcat.experiment.studies.weights import weights

STUDIES: Mapping[StudyName, Study] = MappingProxyType(
    {
        "margins": margins,
        "precision-recall": precision_recall,
        "objectives": objectives,
        "iterations": iterations,
        "weights": weights,
    }
)
