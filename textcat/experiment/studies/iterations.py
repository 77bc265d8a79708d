"""The course of a descent: F1 on the training documents after each iteration, figure 3 of gao_2003."""

from __future__ import annotations

import numpy as np

from textcat.errors import UsageError
from textcat.experiment.studies.study import Findings, Subject, rounded

EARLY = 150


def iterations(subject: Subject) -> Findings:
    """category.NAME.train_f1 at the end, .train_f1_at_0 and .train_f1_at_150 on the way, and the whole course."""
    course = subject.description.get("settings", {}).get("course_f1")
    if course is None:
        raise UsageError("this learner keeps no course of its training F1", hint="Give mfom `trace: true`.")
    by_category = 100.0 * np.asarray(course, dtype=np.float64)
    measures: dict[str, float] = {}
    for column in subject.columns:
        name, f1 = subject.vectors.categories[column], by_category[:, column]
        measures[f"category.{name}.train_f1"] = float(f1[-1])
        measures[f"category.{name}.train_f1_at_0"] = float(f1[0])
        measures[f"category.{name}.train_f1_at_{EARLY}"] = float(f1[min(EARLY, len(f1) - 1)])
    return Findings(measures, {"iterations.train_f1": rounded(by_category[:, subject.columns[0]])})
