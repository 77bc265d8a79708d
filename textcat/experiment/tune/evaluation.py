"""Train a configuration on part of the documents and measure it on others, for a path of values of C."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.measures import argmax_accuracy, count_contingency, macro_f1, micro_f1
from textcat.evaluation.ranking import find_top_labels, measure_ranking
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.experiment.tune.documents import Fold, FoldVectors, TrainingDocuments
from textcat.experiment.tune.space import Configuration, Space
from textcat.learners.parameters import validate_parameters
from textcat.linear import fit
from textcat.linear.regularization import lam_from_c
from textcat.text.text_settings import TermGroup
from textcat.thresholds.rules import (
    ThresholdSettings,
    accept_highest,
    apply_threshold_rule,
    find_shared_threshold,
    set_thresholds,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

METRICS = ("micro.f1", "macro.f1", "accuracy", "p@1", "p@3", "p@5")
# How scores become decisions while configurations are compared.
DEFAULT_RULE, SHARED_RULE, CATEGORY_RULE, BETWEEN_RULE = "default", "shared", "per category", "between"
PROPORTIONAL_RULE = "proportional"
# The end of the name of a rule by which each document gets a category.
AT_LEAST_ONE = ", at least one"
# A threshold of the rules between and proportional is half the category's own with this many positive documents.
SHRINKAGE = 20


def choose_metric(metric: str | None, *, single_label: bool) -> str:
    """Return the metric that was asked for, or accuracy for one label a document and else micro F1."""
    if metric is None:
        return "accuracy" if single_label else "micro.f1"
    if metric == "accuracy" and not single_label:
        raise UsageError(
            "accuracy needs documents with one label each",
            where="--metric",
            hint="Choose micro.f1, macro.f1 or p@5, or set `corpus: {single_label: true}` if that is so.",
        )
    return metric


def measure_decisions(
    metric: str, scores: Floats, decisions: Bools, labels: Bools, train_counts: Any
) -> float:
    """Return a metric in percent; macro F1 leaves out categories without documents."""
    if metric == "accuracy":
        return argmax_accuracy(scores, labels)
    if metric.startswith("p@"):
        k = int(metric.removeprefix("p@"))
        top = find_top_labels(scores, k)
        return measure_ranking(top, labels, (k,), train_counts, len(labels))[f"precision@{k}"]
    table = count_contingency(decisions, labels)
    return float(micro_f1(table, 0) if metric == "micro.f1" else macro_f1(table, "skip"))


def make_threshold_settings(rule: str, scores: Floats, labels: Bools, *, folds: int = 5) -> ThresholdSettings:
    """Return the settings of a rule; the value of a shared threshold is the best for these held-out scores."""
    kind, one, _ = rule.partition(AT_LEAST_ONE)
    if kind == DEFAULT_RULE:
        return ThresholdSettings()
    if kind == SHARED_RULE:
        value = find_shared_threshold(scores, labels, at_least_one=bool(one))
        return ThresholdSettings(value=round(value, 6), at_least_one=bool(one))
    own: dict[str, Any] = {"rule": "scut", "shrinkage": 0 if kind == CATEGORY_RULE else SHRINKAGE}
    if kind == PROPORTIONAL_RULE:
        own |= {"rule": "pcut", "per_document": "tuned"}
    return ThresholdSettings(cross_validated=True, folds=folds, at_least_one=bool(one), **own)


def decide_held_out(rule: str, scores: Floats, labels: Bools, parts: NDArray[np.int64]) -> Bools:
    """Return decisions on each part of the documents by thresholds of the other parts."""
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    for part in np.unique(parts):
        own, others = parts == part, parts != part
        settings = make_threshold_settings(rule, scores[others], labels[others])
        thresholds = set_thresholds(settings, scores[others], labels[others])
        decisions[own] = apply_threshold_rule(settings, scores[own], thresholds, labels[others].mean(axis=0))
    return decisions


@dataclass(frozen=True)
class PathResult:
    """The metric for each value of C and threshold rule, with the time that it took.

    `preparing` and `processor_preparing` are the part of the time that other paths of these groups of terms do not
    take: documents are counted once.
    """

    values: dict[float, dict[str, float]]
    seconds: float
    processor_seconds: float
    preparing: float = 0.0
    processor_preparing: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return {
            "values": {f"{cost:g}": rules for cost, rules in self.values.items()},
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "preparing": self.preparing,
            "processor_preparing": self.processor_preparing,
        }

    def join(self, other: PathResult) -> PathResult:
        """Return both: values of C in order, times added."""
        values = dict(sorted({**self.values, **other.values}.items()))
        return PathResult(
            values,
            round(self.seconds + other.seconds, 3),
            round(self.processor_seconds + other.processor_seconds, 3),
            round(self.preparing + other.preparing, 3),
            round(self.processor_preparing + other.processor_preparing, 3),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PathResult:
        """Return the result that `as_dict` wrote."""
        values = {float(cost): dict(rules) for cost, rules in data["values"].items()}
        names = ("seconds", "processor_seconds", "preparing", "processor_preparing")
        return cls(values, *(float(data.get(name, 0.0)) for name in names))


class PathTask(NamedTuple):
    """A configuration to measure on a fold, or with None on the small one, for each C from strong to weak."""

    configuration: Configuration
    fold: int | None
    costs: tuple[float, ...]

    @property
    def name(self) -> str:
        """The task in one line: the key of the journal."""
        return f"{self.configuration.name} | {self.fold} | {' '.join(f'{cost:g}' for cost in self.costs)}"


@dataclass
class Evaluator:
    """Evaluates configurations on folds of the training documents."""

    documents: TrainingDocuments
    space: Space
    metric: str
    folds: Sequence[Fold]
    seed: int
    jobs: int = 1
    small: Fold = field(init=False)

    def __post_init__(self) -> None:
        self.small = self._draw_small_fold()

    @property
    def single_label(self) -> bool:
        """Whether each document has one label."""
        return self.documents.experiment.corpus.single_label

    @property
    def rules(self) -> tuple[str, ...]:
        """The threshold rules that are compared."""
        if self.single_label or self.metric.startswith("p@"):
            return (DEFAULT_RULE,)
        smoothed = (SHARED_RULE, BETWEEN_RULE, PROPORTIONAL_RULE)
        apart = (DEFAULT_RULE, CATEGORY_RULE, *smoothed)
        # Decisions by at least one category need the scores of all of them at once.
        return apart if self.documents.is_large else (*apart, *(f"{rule}{AT_LEAST_ONE}" for rule in smoothed))

    def _draw_small_fold(self) -> Fold:
        """Return the first fold with part of its documents to train on, so that long documents cost less."""
        kept, held = self.folds[0]
        if self.documents.is_vectors:
            return kept, held
        words = self.documents.count_words()[kept]
        order = np.random.default_rng(self.seed).permutation(len(kept))
        wanted = int(np.searchsorted(np.cumsum(words[order]), self.space.first_rung_words)) + 1
        return np.sort(kept[order[:wanted]]), held

    @property
    def has_small_fold(self) -> bool:
        """Whether the first rung trains on part of a fold."""
        return len(self.small[0]) < len(self.folds[0][0])

    def evaluate_all(self, tasks: Sequence[PathTask]) -> Generator[PathResult]:
        """Yield the result of each task, in order: by an executor's workers, or computed when it is requested."""
        context = self.documents.context
        if context.executor is None:
            yield from (self.evaluate(*task) for task in tasks)
        elif tasks:
            shared = self._share(dict.fromkeys(task.configuration for task in tasks))
            yield from context.map_items(_evaluate_task, shared, tasks)

    def measure_parts(
        self, configuration: Configuration, cost: float, parts: Sequence[tuple[str, Fold]]
    ) -> Iterator[dict[str, float]]:
        """Yield the metric by threshold rule for each of some named folds, measured by workers if there are any.

        The tolerance is that of the tuned experiment.
        """
        context = self.documents.context
        shared = self._share([configuration]) if context.executor else self
        yield from context.map_items(_measure_part, (shared, configuration, cost), parts)

    def _share(self, configurations: Iterable[Configuration]) -> Evaluator:
        """Return the evaluator with the counts that some configurations need, to be sent to workers."""
        groups: list[TermGroup] = []
        if not self.documents.is_vectors:
            groups = [group for each in configurations for group in self.space.list_groups(each)]
        shared = copy(self)
        shared.documents = self.documents.share(groups)
        return shared

    def evaluate(self, configuration: Configuration, fold: int | None, costs: Sequence[float]) -> PathResult:
        """Return the metric on a fold, or with None on the small one, for each C from strong to weak."""
        wall, processor = time.perf_counter(), time.process_time()
        rows = self.small if fold is None else self.folds[fold]
        if not self.documents.is_vectors:
            for group in self.space.list_groups(configuration):
                self.documents.count(group)
        preparing = round(time.perf_counter() - wall, 3), round(time.process_time() - processor, 3)
        values = self.measure_rows(configuration, rows, "small" if fold is None else f"fold {fold}", costs)
        # Rounded as in the journal, so that a search that is continued reports the same.
        seconds = round(time.perf_counter() - wall, 3), round(time.process_time() - processor, 3)
        return PathResult(values, *seconds, *preparing)

    def measure_rows(
        self,
        configuration: Configuration,
        rows: Fold,
        name: str,
        costs: Sequence[float],
        *,
        final: bool = False,
    ) -> dict[float, dict[str, float]]:
        """Return the metric by C and threshold rule; the path ends where more C makes it worse."""
        groups = () if self.documents.is_vectors else self.space.list_groups(configuration)
        if self.space.learns_names(configuration):
            rows, name = (np.concatenate([rows[0], self.documents.names]), rows[1]), f"{name} with names"
        vectors = self.documents.make_vectors(groups, rows, name)
        values: dict[float, dict[str, float]] = {}
        for cost, scores in self.score_path(configuration, vectors, rows, costs, final=final):
            values[cost] = self.measure(scores, rows)
            best = [max(rules.values()) for rules in values.values()]
            # The weakest regularization takes longest to train, and the metric has one peak.
            if best[-1] < max(best):
                break
        return values

    def score_path(
        self,
        configuration: Configuration,
        vectors: FoldVectors,
        rows: Fold,
        costs: Sequence[float],
        *,
        final: bool = False,
    ) -> Iterator[tuple[float, Floats]]:
        """Yield each C with the scores of the documents of a fold; linear models start from the one before."""
        labels, model = self.documents.labels[rows[0]], None
        for cost in costs:
            run = self.space.make_run(configuration, cost, final=final)
            parameters = run["parameters"]
            if run["learner"] == "linear":
                model = fit(
                    vectors.kept, labels, loss=parameters["loss"], lam=lam_from_c(cost, len(labels)), n_jobs=self.jobs,
                    algorithm=parameters["algorithm"], tol=parameters["tolerance"], init=model, seed=self.seed,
                )  # fmt: skip
                yield cost, model.scores(vectors.held)
                continue
            problem = LearningProblem(vectors.kept, labels, None, self.seed)
            checked = validate_parameters(run["learner"], parameters)
            yield cost, find_learner(run["learner"]).fit(problem, checked, self.jobs).scores(vectors.held)

    def measure(self, scores: Floats, rows: Fold) -> dict[str, float]:
        """Return the metric under each rule; thresholds of one half of the documents decide on the other."""
        labels = self.documents.labels[rows[1]]
        if self.single_label:
            decided = {DEFAULT_RULE: accept_highest(scores)}
        else:
            halves = self.documents.halve(rows[1])
            decided = {rule: decide_held_out(rule, scores, labels, halves) for rule in self.rules}
        counts = self.documents.labels[rows[0]].sum(axis=0)
        return {
            rule: measure_decisions(self.metric, scores, decisions, labels, counts)
            for rule, decisions in decided.items()
        }


def _measure_part(shared: tuple[Evaluator, Configuration, float], part: tuple[str, Fold]) -> dict[str, float]:
    evaluator, configuration, cost = shared
    name, rows = part
    return evaluator.measure_rows(configuration, rows, name, [cost], final=True)[cost]


def _evaluate_task(evaluator: Evaluator, task: PathTask) -> PathResult:
    return evaluator.evaluate(*task)
