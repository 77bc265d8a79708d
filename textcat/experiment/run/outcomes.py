"""Read the decisions of evaluated runs, and compare two runs on common categories and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import DataNotAvailableError, UsageError
from textcat.evaluation.comparison import (
    Comparison,
    compare_counts,
    compare_decisions,
    describe_categories,
    describe_overall,
    describe_tests,
)
from textcat.evaluation.measures import Bools, ContingencyTable, count_contingency, make_dense_labels
from textcat.evaluation.run_measures import FREQUENCY_GROUPS
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain
from textcat.experiment.run.results import compute_signature
from textcat.experiment.run.results_file import RESULTS_FILE, is_edited, locate_results, read_results
from textcat.experiment.run.runner import plan_experiment
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import find_experiment, load_experiment
from textcat.experiment.steps.block_outcome import read_decisions
from textcat.experiment.steps.evaluate import read_measures
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store.files import read_source
from textcat.yaml_reader import suggest_names


@dataclass(frozen=True)
class RunDecisions:
    """Decisions and labels, documents x categories, with the documents' ids."""

    ids: Sequence[str]
    decisions: Bools
    labels: Bools


@dataclass(frozen=True)
class RunOutcome:
    """A run's counts per category, and its decisions where the cache has them."""

    experiment: str
    run: str
    corpus: str
    categories: Sequence[str]
    table: ContingencyTable
    zero_division: Any
    decided: RunDecisions | None = None
    note: str = ""
    measures: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """EXPERIMENT:RUN."""
        return f"{self.experiment}:{self.run}"


def read_outcome(where: str, run: str, context: RunContext) -> RunOutcome:
    """Return the outcome of a run; `where` is an experiment's name or file, or a results folder."""
    folder = _find_results(where, context)
    if folder is not None:
        written = read_results(folder)
        _check_run(run, written["runs"], where)
        source = read_source(folder if folder.is_dir() else folder.parent)
        try:
            experiment = load_experiment(source or find_experiment(str(written["experiment"])))
        except UsageError:
            chains = []
        else:
            chains = _find_chains(experiment, run, context)
        # The cache is of no use if the experiment has changed since these results were written.
        same = bool(chains) and compute_signature(chains) == written["runs"][run]["signature"]
        found = _read_cached_outcome(experiment, run, chains, context) if same else None
        return found or _make_counts_outcome(written, run, folder, "its experiment's cache is not here")
    experiment = load_experiment(where)
    _check_run(run, experiment.runs, where)
    chains = _find_chains(experiment, run, context)
    if found := _read_cached_outcome(experiment, run, chains, context):
        return found
    folder = locate_results(experiment, context)
    if (folder / RESULTS_FILE).is_file():
        written = read_results(folder)
        _check_run(run, written["runs"], str(folder))
        note = "its decisions are not in the cache"
        if chains and compute_signature(chains) != written["runs"][run]["signature"]:
            note = "its results are of other settings or another version"
        return _make_counts_outcome(written, run, folder, note)
    raise DataNotAvailableError(
        "the run was not evaluated on this machine",
        where=f"{where}:{run}",
        hint=f"Run it first: textcat run {where}",
    )


def _find_results(where: str, context: RunContext) -> Path | None:
    """Return the results that are named by folder or file, or by an experiment whose file is not found.

    The folder of `textcat tune` has the name of its experiment, but no results.
    """
    folder = Path(where)
    if folder.name == RESULTS_FILE or (folder / RESULTS_FILE).is_file():
        return folder
    try:
        find_experiment(where)
    except UsageError:
        named = context.results / where
        return named if (named / RESULTS_FILE).is_file() else folder if folder.is_dir() else None
    return None


def _check_run(run: str, runs: Any, where: str) -> None:
    if run not in runs:
        raise UsageError(f"there is no run {run!r}", where=where, hint=suggest_names(run, runs))


def _find_chains(experiment: Experiment, run: str, context: RunContext) -> list[Chain]:
    """Return the steps of all repetitions of a run; none without its documents."""
    plan = plan_experiment(experiment, context)
    return [chain for chain in plan.chains if chain.run == run] if plan else []


def _read_cached_outcome(
    experiment: Experiment, run: str, all_chains: Sequence[Chain], context: RunContext
) -> RunOutcome | None:
    """Return the cached outcome, or None. With folds it covers all of them, with random splits the first."""
    folds = experiment.resample is not None and experiment.resample.kind == "folds"
    chains = [chain for chain in all_chains if folds or chain.repeat == 0]
    evaluated = [context.store.find(chain.evaluated.recipe) for chain in chains]
    vectorized = [context.store.find(chain.vectorized.recipe) for chain in chains]
    folders = [artifact.folder for artifact in evaluated if artifact]
    vectors = [read_vectors(artifact.folder) for artifact in vectorized if artifact]
    if not chains or min(len(folders), len(vectors)) < len(chains):
        return None
    decided = RunDecisions(
        [name for part in vectors for name in part.test_ids],
        np.vstack([make_dense_labels(read_decisions(folder)) for folder in folders]),
        np.vstack([make_dense_labels(part.test_labels) for part in vectors]),
    )
    split = experiment.resample is not None and not folds
    return RunOutcome(
        experiment.name, run, experiment.corpus.name, vectors[0].categories,
        count_contingency(decided.decisions, decided.labels),
        experiment.runs[run].evaluation.zero_division,
        decided,
        "the first of its random splits" if split else "",
        read_measures(folders[0]) if len(folders) == 1 else {},
    )  # fmt: skip


def _make_counts_outcome(results: dict[str, Any], run: str, where: Path, note: str) -> RunOutcome:
    """Return an outcome with counts only; results averaged over random splits have none."""
    if is_edited(where if where.is_dir() else where.parent):
        note += f", and {RESULTS_FILE} has changed since it was written"
    name = str(results["experiment"])
    measures = results["runs"][run]["measures"]
    categories = list(results["corpus"]["train_counts"])
    counts = [
        [measures.get(f"category.{category}.{kind}") for category in categories]
        for kind in ("tp", "fp", "fn", "tn")
    ]
    if len(categories) < results["corpus"]["categories"] or any(None in kind for kind in counts):
        raise DataNotAvailableError(
            "its results hold no counts for each category",
            where=f"{name}:{run}",
            hint=f"Run it here, for its decisions: textcat run {name}",
        )
    table = ContingencyTable(*(np.asarray(kind, dtype=np.int64) for kind in counts))
    zero_division = results["runs"][run]["settings"]["evaluation"]["zero_division"]
    return RunOutcome(
        name, run, results["corpus"]["name"], categories, table, zero_division, None, note, measures
    )


SAME_DOCUMENTS_HINT = "Compare runs of one experiment, or of two on the same collection and split."


def compare_outcomes(left: RunOutcome, right: RunOutcome, *, seed: int, samples: int) -> dict[str, Any]:
    """Compare two runs on their common categories, as JSON-able data; refuse runs with different test documents."""
    shared = [name for name in left.categories if name in set(right.categories)]
    if not shared:
        raise UsageError(f"{left.name} and {right.name} have no category in common", hint=SAME_DOCUMENTS_HINT)
    notes = [f"{each.name}: {each.note}" for each in (left, right) if each.note]
    if others := len(set(left.categories) ^ set(right.categories)):
        notes.append(f"{others} categories are left out, which only one run has")
    if left.zero_division != right.zero_division:
        notes.append(
            f"F1 of both runs is computed with the zero_division of {left.name}: {left.zero_division}, "
            f"not {right.zero_division}"
        )
    comparison = _compare_by_decisions(left, right, shared, seed, samples)
    if not (left.decided and right.decided):
        notes.append(
            "tests on single decisions (McNemar, micro sign, bootstrap) need the decisions of both runs"
        )
    asked = {} if others else _compare_asked_measures(left, right)
    return {
        "left": left.name,
        "right": right.name,
        "documents": int(comparison.left.documents[0]),
        "notes": notes,
        "overall": describe_overall(comparison, left.zero_division) | asked,
        "tests": describe_tests(comparison),
        "categories": describe_categories(comparison),
    }


def _compare_asked_measures(left: RunOutcome, right: RunOutcome) -> dict[str, dict[str, float]]:
    """Return the measures of rankings and of frequency groups that both runs have; they have no interval."""
    groups = [f"{kind}.f1.{group}" for kind in ("micro", "macro") for group in FREQUENCY_GROUPS]
    found = {}
    for name in (*(name for name in left.measures if "@" in name and "." not in name), *groups):
        ours, theirs = left.measures.get(name), right.measures.get(name)
        if ours is not None and theirs is not None:
            found[name] = {"left": ours, "right": theirs, "difference": ours - theirs}
    return found


def _compare_by_counts(left: RunOutcome, right: RunOutcome, shared: Sequence[str]) -> Comparison:
    ours, theirs = (each.table.restrict(_find_columns(each, shared)) for each in (left, right))
    documents, others = int(ours.documents[0]), int(theirs.documents[0])
    same = left.corpus == right.corpus and {*ours.documents, *theirs.documents} == {documents}
    if not (same and np.array_equal(ours.tp + ours.fn, theirs.tp + theirs.fn)):
        raise UsageError(
            f"{left.name} was tested on {documents} documents of {left.corpus}, {right.name} on {others} of "
            f"{right.corpus}, or their labels differ",
            hint=SAME_DOCUMENTS_HINT,
        )
    return compare_counts(ours, theirs, shared, left.zero_division)


def _compare_by_decisions(
    left: RunOutcome, right: RunOutcome, shared: Sequence[str], seed: int, samples: int
) -> Comparison:
    """Compare decisions document by document; without the decisions of both runs, compare their counts."""
    ours, theirs = left.decided, right.decided
    if ours is None or theirs is None:
        return _compare_by_counts(left, right, shared)
    row_of = {name: row for row, name in enumerate(theirs.ids)}
    only_left = sum(name not in row_of for name in ours.ids)
    only_right = len(row_of.keys() - set(ours.ids))
    if only_left or only_right:
        raise UsageError(
            f"{left.name} and {right.name} were tested on different documents: {only_left} only the first, "
            f"{only_right} only the second",
            hint=SAME_DOCUMENTS_HINT,
        )
    rows = [row_of[name] for name in ours.ids]
    ours_at, theirs_at = _find_columns(left, shared), _find_columns(right, shared)
    labels = ours.labels[:, ours_at]
    if not np.array_equal(labels, theirs.labels[rows][:, theirs_at]):
        raise UsageError(
            f"{left.name} and {right.name} have different labels for the same documents",
            hint=SAME_DOCUMENTS_HINT,
        )
    return compare_decisions(
        ours.decisions[:, ours_at],
        theirs.decisions[rows][:, theirs_at],
        labels,
        shared,
        seed=seed,
        samples=samples,
        zero_division=left.zero_division,
    )


def _find_columns(outcome: RunOutcome, shared: Sequence[str]) -> NDArray[np.int64]:
    column = {name: position for position, name in enumerate(outcome.categories)}
    return np.array([column[name] for name in shared], dtype=np.int64)
