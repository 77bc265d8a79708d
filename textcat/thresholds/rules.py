"""Set thresholds by the rule of an experiment, which may be registered, and decide by them.

RCut, PCut and SCut with fallback are the strategies of Yang (SIGIR 2001). RCut gives every document the same number of
categories. PCut accepts documents of each category in proportion to its share of the training documents. SCut tunes
the threshold of each category; SCut.FBR replaces poor thresholds. RCut and PCut have one parameter, the mean number of
categories per document, which may be tuned for micro F1.

`expected-f1` finds the decisions of highest expected F1, given probabilities (Lewis, SIGIR 1995). The best threshold
depends on all probabilities of the documents that are decided on, so no fixed threshold is best for every set. A
threshold tuned on held-out training documents can decide new documents one by one. Expected F1 is approximated by the
ratio of expectations, 2 sum_{accepted} p / (accepted + sum of all p). It is greatest when the k most probable
documents are accepted, for some k. Accepting nothing has F1 1 if no document is positive, so its expected F1 is the
probability of that. Without this case a category whose documents are all equally improbable would accept them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from textcat.errors import UsageError
from textcat.extensions import check_numbers, claim_name, guard_function
from textcat.settings import GrowingSettings, KnownName
from textcat.thresholds.tuning import (
    BBR_RULE,
    NEVER,
    AmongEqual,
    Bools,
    Criterion,
    Floats,
    FoldCombination,
    IntervalPoint,
    Ints,
    TuningRule,
    apply_thresholds,
    cross_validate_thresholds,
    find_break_even_thresholds,
    find_thresholds_by_size,
    make_cuts,
    make_thresholds,
    tune_thresholds,
)

# Candidates of PCut's number, as multiples of the training documents' own number.
CARDINALITY_MULTIPLES = np.geomspace(0.25, 4.0, 129)


def compute_label_cardinality(labels: Bools) -> float:
    """Return the mean number of categories per document."""
    return float(np.count_nonzero(labels)) / max(len(labels), 1)


def compute_pcut_sizes(shares: Floats, per_document: float, documents: int) -> Floats:
    """Return the number of documents that PCut accepts for each category, with halves rounded up."""
    total = float(shares.sum())
    exact = shares * (per_document * documents / total if total else 0.0)
    # Rounding first makes a half out of a number that misses it by rounding errors.
    return np.asarray(np.floor(exact.round(9) + 0.5))


def tune_rcut(scores: Floats, labels: Bools) -> float:
    """Return the number of categories per document with the best micro F1; the smallest of equally good ones."""
    if not scores.size:
        return 1.0
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(labels, order, axis=1).sum(axis=0).cumsum()
    given = np.arange(1, scores.shape[1] + 1) * len(scores)
    return float(1 + np.argmax(2.0 * hits / (given + hits[-1])))


def tune_pcut(scores: Floats, labels: Bools) -> float:
    """Return the mean number of categories per document with which PCut has the best micro F1."""
    usual = compute_label_cardinality(labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    hits = make_cuts(scores, labels).hits
    best, chosen = -1.0, usual
    for per_document in usual * CARDINALITY_MULTIPLES:
        wanted = np.minimum(compute_pcut_sizes(shares, per_document, len(labels)), len(labels)).astype(
            np.int64
        )
        found = np.take_along_axis(hits, wanted[np.newaxis, :], axis=0).sum()
        f1 = 2.0 * found / max(wanted.sum() + hits[-1].sum(), 1)
        if f1 > best:
            best, chosen = float(f1), float(per_document)
    return chosen


def find_proportional_thresholds(
    scores: Floats, labels: Bools, per_document: float, rule: TuningRule = BBR_RULE
) -> Floats:
    """Return PCut as fixed thresholds, which accept here the number of documents that PCut accepts.

    With tied scores this is the nearest possible number, the larger of two equally near. A category without
    positive documents accepts nothing.
    """
    candidates = make_cuts(scores, labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    wanted = np.minimum(compute_pcut_sizes(shares, per_document, len(labels)), len(labels))
    thresholds = find_thresholds_by_size(candidates, wanted, rule)
    # A category of which no document is wanted accepts no new document either.
    thresholds[wanted == 0] = NEVER
    return thresholds


def scut_fbr(
    scores: Floats, labels: Bools, least_f1: float, fallback: Literal[0, 1], rule: TuningRule
) -> Floats:
    """Return SCut's thresholds with a fallback for categories whose validation F1 is below `least_f1` percent.

    Fallback 0 accepts no document; fallback 1 takes the highest validation score as the threshold. A category without
    positive documents accepts nothing.
    """
    thresholds = tune_thresholds(scores, labels, rule)
    accepted = apply_thresholds(scores, thresholds)
    hits = np.count_nonzero(accepted & labels, axis=0)
    size = np.count_nonzero(accepted, axis=0) + np.count_nonzero(labels, axis=0)
    reached = np.divide(200.0 * hits, size, out=np.zeros(len(size)), where=size > 0)
    poor = reached < least_f1
    thresholds[poor] = NEVER if fallback == 0 else scores.max(axis=0)[poor]
    # Without positive documents all scores are nearly equal: their highest would accept most new documents.
    thresholds[~labels.any(axis=0)] = NEVER
    return thresholds


def find_shared_threshold(scores: Floats, labels: Bools, *, at_least_one: bool = False) -> float:
    """Return the one threshold for all categories with the best micro F1 on these scores.

    With `at_least_one`, each document also gets the category of its highest score.
    """
    if at_least_one and scores.size:
        # Above all others: whatever the threshold, these are accepted.
        scores = np.where(accept_highest(scores), scores.max() + 1.0, scores)
    values, right = scores.ravel(), labels.ravel()
    positives = int(right.sum())
    size = _FIRST_RANKS * positives or len(values)
    while True:
        best, threshold = _find_best_among_highest(values, right, positives, min(size, len(values)))
        # With more accepted scores F1 is lower, even if all positive ones are among them.
        most = positives * (2.0 / best - 1.0) if best > 0 else np.inf
        if size > most or size >= len(values):
            return threshold
        size = int(min(most, len(values) - 1)) + 1


# The number of highest scores that are ranked at first, for each positive one; ranking all would take long.
_FIRST_RANKS = 4


def _find_best_among_highest(values: Floats, right: Bools, positives: int, size: int) -> tuple[float, float]:
    """Return the best F1 of thresholds that accept fewer than all of the `size` highest values, and the threshold."""
    complete = size == len(values)
    if not complete:
        kept = values >= np.partition(values, len(values) - size)[len(values) - size]
        values, right = values[kept], right[kept]
    order = np.argsort(-values, kind="stable")
    hits, ranked = np.cumsum(right[order]), values[order]
    # Far from 0 a score less 1 is the same number.
    lowest = min(ranked[-1] - 1.0, np.nextafter(ranked[-1], -np.inf)) if complete else ranked[-1]
    following = np.append(ranked[1:], lowest)
    f1 = 2.0 * hits / (np.arange(1, len(order) + 1) + positives)
    # Equal scores are accepted together.
    best = int(np.argmax(np.where(ranked > following, f1, -1.0)))
    middle = max((ranked[best] + following[best]) / 2, np.nextafter(following[best], np.inf))
    return (float(f1[best]) if ranked[best] > following[best] else 0.0), float(middle)


def shrink_thresholds(thresholds: Floats, scores: Floats, labels: Bools, shrinkage: float) -> Floats:
    """Return thresholds between a category's own and the shared one; the more positive documents, the nearer its own.

    Categories without positive documents keep their threshold.
    """
    positives = labels.sum(axis=0)
    if not positives.any():
        return thresholds
    shared = find_shared_threshold(scores, labels)
    is_moved = (positives > 0) & np.isfinite(thresholds)
    own = np.where(is_moved, thresholds, shared)
    return np.where(is_moved, (positives * own + shrinkage * shared) / (positives + shrinkage), thresholds)


def rcut(scores: Floats, categories_per_document: int) -> Bools:
    """Accept each document for its categories of highest score; ties are in category order."""
    if not 0 <= categories_per_document <= scores.shape[1]:
        raise UsageError(
            f"a document cannot be given {categories_per_document} of {scores.shape[1]} categories",
            hint="Ask for a number from 0 to the number of categories.",
        )
    first = np.argsort(-scores, axis=1, kind="stable")[:, :categories_per_document]
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(decisions, first, True, axis=1)
    return decisions


def accept_highest(scores: Floats) -> Bools:
    """Accept each document for the category of its highest score; of ties the first."""
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    decisions[np.arange(len(scores)), np.argmax(scores, axis=1)] = True
    return decisions


def accept_nearest(scores: Floats, thresholds: Floats, decisions: Bools) -> Bools:
    """Return decisions in which each document without a category gets the one whose threshold it misses by least.

    Of ties the first. Categories whose threshold is infinite are left out.
    """
    possible = np.isfinite(thresholds)
    if not possible.any():
        return decisions
    distances = np.where(possible, scores - np.where(possible, thresholds, 0.0), -np.inf)
    is_empty = np.logical_not(decisions.any(axis=1, keepdims=True))
    return np.asarray(decisions | (accept_highest(distances) & is_empty))


def accept_top_documents(scores: Floats, wanted: Floats) -> Bools:
    """Accept the wanted number of documents of highest score for each category; ties are in document order."""
    order = np.argsort(-scores, axis=0, kind="stable")
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    within = np.arange(len(scores))[:, np.newaxis] < wanted
    np.put_along_axis(decisions, order, within, axis=0)
    return decisions


def find_expected_f1_thresholds(probabilities: Floats) -> Floats:
    """Return the best threshold of each category for these documents: the lowest accepted probability.

    Among equally good cuts the smallest is used.
    """
    _check_probabilities(probabilities)
    if not len(probabilities):
        return np.full(probabilities.shape[1], NEVER)
    ranked = -np.sort(-probabilities, axis=0)
    expected = _compute_expected_f1(ranked)
    best = expected.argmax(axis=0)
    thresholds: Floats = np.take_along_axis(ranked, best[np.newaxis, :], axis=0)[0]
    thresholds[_compute_probability_of_none(probabilities) >= expected.max(axis=0)] = NEVER
    return thresholds


def tune_expected_f1_thresholds(
    scores: Floats, probabilities: Floats, labels: Bools, rule: TuningRule = BBR_RULE
) -> Floats:
    """Return thresholds on scores, at the cuts of held-out documents with the highest expected F1.

    Probabilities must not decrease with the score. Labels only tell which categories have positive documents. Of
    equally good cuts the smallest is taken.
    """
    _check_probabilities(probabilities)
    if not len(scores):
        return np.full(scores.shape[1], NEVER)
    candidates = make_cuts(scores, labels)
    order = np.argsort(-scores, axis=0, kind="stable")
    expected = np.empty(candidates.possible.shape)
    expected[0] = -np.inf if rule.accept_nothing is None else _compute_probability_of_none(probabilities)
    expected[1:] = _compute_expected_f1(np.take_along_axis(probabilities, order, axis=0))
    expected[~candidates.possible] = -np.inf
    chosen = expected.argmax(axis=0).astype(np.int64)
    return make_thresholds(candidates, chosen, rule)


def _compute_expected_f1(ranked: Floats) -> Floats:
    """Return the expected F1 of accepting the first 1, 2, ... documents of each category."""
    expected_hits = np.cumsum(ranked, axis=0)
    size = np.arange(1, len(ranked) + 1)[:, np.newaxis] + expected_hits[-1]
    return np.asarray(2.0 * expected_hits / size)


def _compute_probability_of_none(probabilities: Floats) -> Floats:
    """Return the probability that no document belongs to the category."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.log1p(-probabilities).sum(axis=0)))


def _check_probabilities(probabilities: Floats) -> None:
    # This form refuses NaN too.
    if not bool(np.all((probabilities >= 0) & (probabilities <= 1))):
        raise UsageError(
            "expected F1 needs probabilities, and some scores are not between 0 and 1",
            hint="Use a learner that gives probabilities, such as logistic regression, or set `calibration`.",
        )


THRESHOLD_RULES = ("default", "tuned", "scut", "break-even", "scut-fbr", "rcut", "pcut", "expected-f1")
RegisteredRule = Callable[[Floats, Bools, "ThresholdSettings"], Floats]
REGISTERED_RULES: dict[str, RegisteredRule] = {}


def list_rules() -> list[str]:
    """Return the names of all threshold rules."""
    return [*THRESHOLD_RULES, *REGISTERED_RULES]


def register_rule(name: str, function: RegisteredRule) -> None:
    """Add a rule: a function from scores and labels of training documents to a threshold for each category."""
    claim_name("threshold rule", name, THRESHOLD_RULES)
    REGISTERED_RULES[name] = guard_function(
        "threshold rule",
        name,
        function,
        lambda found, scores, *_: check_numbers((scores.shape[1],), found),
    )


CategoriesPerDocument = Annotated[float, Field(gt=0)] | Literal["training", "tuned"]

NO_PROBABILITIES = "expected-f1 needs probabilities, and this learner has none of its own"
PROBABILITIES_HINT = "Set `calibration: {method: platt}`, or use a learner with the logistic loss."


class ThresholdSettings(GrowingSettings):
    """How scores become decisions."""

    later = ("shrinkage", "at_least_one")

    rule: Annotated[str, KnownName("threshold rule", list_rules)] = Field(
        default="default",
        description="default: the learner's own threshold; tuned: fewest errors on training scores; scut: "
        "best F1; scut-fbr: best F1, with a fallback if that is poor; break-even: precision "
        "equals recall; rcut: the same number of categories for every document; pcut: in "
        "proportion to the training documents; expected-f1: best expected F1, from probabilities. "
        "Cross-validated pcut and expected-f1 are fixed thresholds; otherwise they depend on all "
        "documents that are decided on.",
    )
    value: float = Field(default=0.0, description="The learner's own threshold (rule default).")
    cross_validated: bool = Field(
        default=False, description="Tune on scores of held-out documents instead of training scores."
    )
    folds: int = Field(
        default=5, ge=2, description="Number of folds of the training documents when cross-validated."
    )
    combination: FoldCombination = Field(default="pooled", description="How the folds are combined.")
    criterion: Criterion = Field(
        default="errors", description="What tuning optimizes: the number of errors, or F1."
    )
    point: IntervalPoint | float = Field(
        default="midpoint",
        description="The point of an interval of equally good thresholds: lowest, midpoint, highest, or the "
        "fraction from its lower end.",
    )
    among_equal: AmongEqual = Field(default="lowest", description="Which of several equally good intervals.")
    accept_nothing: float | None = Field(
        default=1.0,
        ge=0,
        description="If accepting nothing is best: the distance above the highest score; null excludes this "
        "case.",
    )
    accept_everything: float | None = Field(
        default=None,
        ge=0,
        description="If accepting everything is best: the distance below the lowest score; null accepts every "
        "score.",
    )
    least_f1: float = Field(
        default=30.0, description="Validation F1 in percent below which scut-fbr falls back."
    )
    fallback: Literal[0, 1] = Field(
        default=1,
        description="Threshold of scut-fbr for poor categories: 0 accepts nothing, 1 is the highest score.",
    )
    shrinkage: float = Field(
        default=0.0,
        ge=0,
        description="Rule scut and cross-validated pcut: the threshold of a category with n positive "
        "documents is n / (n + shrinkage) its own and otherwise the one shared by all categories "
        "with the best micro F1.",
    )
    per_document: CategoriesPerDocument = Field(
        default=1.0,
        description="Categories per document (rcut, pcut): a number, training for the mean of the training "
        "documents, or tuned for the number with the best micro F1.",
    )
    at_least_one: bool = Field(
        default=False,
        description="A document of which no category is accepted gets the one whose threshold its score "
        "misses by least.",
    )

    @model_validator(mode="after")
    def _check_at_least_one(self) -> ThresholdSettings:
        if self.at_least_one and (self.rule == "rcut" or self.needs_all_documents):
            raise ValueError(
                f"at_least_one needs a threshold for each category, and {self.rule} has none; "
                "choose another rule or set cross_validated"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _use_f1_for_scut(cls, data: Any) -> Any:
        """Make F1 the default criterion of Yang's rules."""
        if isinstance(data, dict) and data.get("rule") in ("scut", "scut-fbr"):
            return {"criterion": "f1", **data}
        return data

    @property
    def tuning(self) -> TuningRule:
        """The tuning rule of these settings."""
        below = float("inf") if self.accept_everything is None else self.accept_everything
        return TuningRule(self.criterion, self.point, self.among_equal, self.accept_nothing, below)

    @property
    def needs_all_documents(self) -> bool:
        """Whether a decision depends on all documents that are decided on."""
        return self.rule in ("pcut", "expected-f1") and not self.cross_validated


def set_thresholds(
    settings: ThresholdSettings,
    scores: Floats,
    labels: Bools,
    fold_of_document: Ints | None = None,
    probabilities: Floats | None = None,
) -> Floats:
    """Return a threshold for each category, from scores of training documents.

    Rules that need no thresholds get the learner's own.
    """
    if settings.rule in REGISTERED_RULES:
        return REGISTERED_RULES[settings.rule](scores, labels, settings)
    if settings.rule == "expected-f1" and settings.cross_validated and probabilities is not None:
        return tune_expected_f1_thresholds(scores, probabilities, labels, settings.tuning)
    return _set_by_scores(settings, scores, labels, fold_of_document)


def _set_by_scores(
    settings: ThresholdSettings, scores: Floats, labels: Bools, fold_of_document: Ints | None
) -> Floats:
    if settings.rule in ("tuned", "scut"):
        folds = np.zeros(len(labels), dtype=np.int64) if fold_of_document is None else fold_of_document
        own = cross_validate_thresholds(scores, labels, folds, settings.tuning, settings.combination)
        if settings.rule == "scut" and settings.shrinkage:
            return shrink_thresholds(own, scores, labels, settings.shrinkage)
        return own
    if settings.rule == "break-even":
        return find_break_even_thresholds(scores, labels, settings.tuning)
    if settings.rule == "scut-fbr":
        return scut_fbr(scores, labels, settings.least_f1, settings.fallback, settings.tuning)
    if settings.rule == "pcut" and settings.cross_validated:
        per_document = set_categories_per_document(settings, scores, labels)
        own = find_proportional_thresholds(scores, labels, per_document, settings.tuning)
        return shrink_thresholds(own, scores, labels, settings.shrinkage) if settings.shrinkage else own
    return np.full(scores.shape[1], settings.value, dtype=np.float64)


def set_categories_per_document(settings: ThresholdSettings, scores: Floats, labels: Bools) -> float:
    """Return the number of categories per document for rcut and pcut, from training documents."""
    if settings.per_document == "training":
        return compute_label_cardinality(labels)
    if settings.per_document == "tuned":
        return tune_rcut(scores, labels) if settings.rule == "rcut" else tune_pcut(scores, labels)
    return settings.per_document


def apply_threshold_rule(
    settings: ThresholdSettings,
    scores: Floats,
    thresholds: Floats,
    priors: Floats,
    *,
    per_document: float = 1.0,
    probabilities: Floats | None = None,
) -> Bools:
    """Return the decisions, documents x categories.

    `priors` are the categories' shares of the training documents, `per_document` is the result of
    `set_categories_per_document`, and only expected-f1 needs `probabilities`.
    """
    if settings.rule == "rcut":
        return rcut(scores, min(max(math.floor(per_document + 0.5), 1), scores.shape[1]))
    if settings.rule == "pcut" and settings.needs_all_documents:
        return accept_top_documents(scores, compute_pcut_sizes(priors, per_document, len(scores)))
    if settings.rule == "expected-f1" and settings.needs_all_documents:
        if probabilities is None:
            raise UsageError(NO_PROBABILITIES, hint=PROBABILITIES_HINT)
        return apply_thresholds(probabilities, find_expected_f1_thresholds(probabilities))
    decisions = apply_thresholds(scores, thresholds)
    return accept_nearest(scores, thresholds, decisions) if settings.at_least_one else decisions
