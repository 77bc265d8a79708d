"""Two outcomes brought to the same categories and documents, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.comparison import Comparison, compare_counts, compare_decisions
from textcat.evaluation.comparison_facts import category_facts, facts_of_tests, overall_facts
from textcat.evaluation.measures import ZeroDivision
from textcat.experiment.outcomes import Decided, Outcome

SAME = "Compare runs of one experiment, or of two on the same collection and split."


@dataclass(frozen=True)
class SideBySide:
    """The comparison, on how many documents, and what was left out or not known."""

    left: str
    right: str
    comparison: Comparison
    zero_division: ZeroDivision
    documents: int
    notes: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """JSON-able, all of it."""
        return {
            "left": self.left,
            "right": self.right,
            "documents": self.documents,
            "notes": list(self.notes),
            "overall": overall_facts(self.comparison, self.zero_division),
            "tests": facts_of_tests(self.comparison),
            "categories": category_facts(self.comparison),
        }


def compare_outcomes(left: Outcome, right: Outcome, *, seed: int, samples: int = 1000) -> SideBySide:
    """Left against right on the categories that both decided, which must be about the same documents."""
    shared = [name for name in left.categories if name in set(right.categories)]
    if not shared:
        raise UsageError(f"{left.name} and {right.name} have no category in common", hint=SAME)
    notes = [f"{each.name}: {each.note}" for each in (left, right) if each.note]
    if others := len(set(left.categories) ^ set(right.categories)):
        notes.append(f"{others} categories are left out, which only one side has")
    if left.decided and right.decided:
        comparison = _by_decisions(left, right, left.decided, right.decided, shared, seed, samples)
    else:
        comparison = _by_counts(left, right, shared)
        notes.append("tests on single decisions (McNemar, micro sign, bootstrap) need both sides' decisions")
    documents = int(comparison.left.documents[0])
    return SideBySide(left.name, right.name, comparison, left.zero_division, documents, notes)


def _by_counts(left: Outcome, right: Outcome, shared: Sequence[str]) -> Comparison:
    ours, theirs = (each.table.restricted(_columns(each, shared)) for each in (left, right))
    documents, others = int(ours.documents[0]), int(theirs.documents[0])
    same = left.corpus == right.corpus and documents == others
    if not (same and np.array_equal(ours.tp + ours.fn, theirs.tp + theirs.fn)):
        raise UsageError(
            f"{left.name} was tested on {documents} documents of {left.corpus}, {right.name} on {others} of "
            f"{right.corpus}, or they were labelled otherwise",
            hint=SAME,
        )
    return compare_counts(ours, theirs, shared, left.zero_division)


def _by_decisions(
    left: Outcome,
    right: Outcome,
    ours: Decided,
    theirs: Decided,
    shared: Sequence[str],
    seed: int,
    samples: int,
) -> Comparison:
    rows = _rows(left, right, ours, theirs)
    ours_at, theirs_at = _columns(left, shared), _columns(right, shared)
    labels = ours.labels[:, ours_at]
    if not np.array_equal(labels, theirs.labels[rows][:, theirs_at]):
        raise UsageError(f"{left.name} and {right.name} have other labels for the same documents", hint=SAME)
    return compare_decisions(
        ours.decisions[:, ours_at],
        theirs.decisions[rows][:, theirs_at],
        labels,
        shared,
        seed=seed,
        samples=samples,
        zero_division=left.zero_division,
    )


def _columns(outcome: Outcome, shared: Sequence[str]) -> NDArray[np.int64]:
    column = {name: position for position, name in enumerate(outcome.categories)}
    return np.array([column[name] for name in shared], dtype=np.int64)


def _rows(left: Outcome, right: Outcome, ours: Decided, theirs: Decided) -> NDArray[np.int64]:
    """Where the left side's documents stand on the right side."""
    place = {name: row for row, name in enumerate(theirs.ids)}
    only_left = sum(name not in place for name in ours.ids)
    only_right = len(place.keys() - set(ours.ids))
    if only_left or only_right:
        raise UsageError(
            f"{left.name} and {right.name} were tested on different documents: {only_left} only the first, "
            f"{only_right} only the second",
            hint=SAME,
        )
    return np.array([place[name] for name in ours.ids], dtype=np.int64)
