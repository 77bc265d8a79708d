"""Scores of held-out folds, and the choice of a prior variance by cross-validation or by document norms.

Paper: genkin_2004, section 4.4. Variances are those of minus log posteriors, sum f + w^2 / (2 tau) or
sum f + sqrt(2 / tau) |w|; textcat.linear.regularization turns them into lam.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear.algorithm_options import FastOptions
from textcat.linear.fit import fit, walk_path
from textcat.linear.mapped_arrays import select_rows
from textcat.linear.model import LinearModel
from textcat.linear.priors import Prior
from textcat.linear.problem import Floats, labels_as_columns, make_matrix_with_bias
from textcat.linear.regularization import lam_from_laplace_rate, lam_from_variance
from textcat.linear.training import FitSettings, make_matrix, make_problem, split_start
from textcat.parallel import Executor, SerialExecutor

Numbers = NDArray[np.int64]

# The number of the part of rows that are in the training part of each fold.
_NEVER_HELD_OUT = -1

# The most columns of a path where all parts are trained together: more fill vectors better, fewer need less memory.
MAX_LANES = 128


def score_held_out_folds(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[tuple[Numbers, Numbers]],
    lams: Sequence[float | ArrayLike],
    init: LinearModel | None = None,
    **settings: Any,
) -> list[Floats]:
    """Return the scores, documents x categories, of each fold (documents to train on, documents to score).

    lams: the lam of each fold. init: a model of all documents, from which the fast algorithm starts where
    that helps. `settings` are those of `fit`. The fast algorithm with the Gaussian prior reads the same rows
    for all folds, without copies.
    """
    if len(lams) != len(folds) or not folds or not all(len(kept) for kept, _ in folds):
        raise UsageError(
            f"{len(lams)} values of lam for {len(folds)} folds, or a fold without documents to train on",
            where="held-out scores",
            hint="Give one for each fold, one fold at least, and documents to each.",
        )
    if _can_share_rows(settings):
        return _score_on_shared_rows(X, Y, folds, lams, init, settings)
    start = init if settings.get("algorithm") == "fast" else None
    labels, found = np.asarray(Y), []
    for (kept, held), lam in zip(folds, lams, strict=True):
        model = fit(select_rows(X, kept), labels[kept], lam=lam, init=start, **settings)
        found.append(model.scores(select_rows(X, held)))
    return found


def _can_share_rows(settings: dict[str, Any]) -> bool:
    """Return whether folds can share rows: fast algorithm, Gaussian prior, no mask, equal weights."""
    prior = settings.get("prior", "gaussian")
    plain = all(settings.get(name) is None for name in ("mask", "sample_weight", "class_weight"))
    name = prior.name if isinstance(prior, Prior) else prior
    return settings.get("algorithm") == "fast" and name == "gaussian" and plain


def _score_on_shared_rows(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[tuple[Numbers, Numbers]],
    lams: Sequence[float | ArrayLike],
    init: LinearModel | None,
    settings: dict[str, Any],
) -> list[Floats]:
    prior = settings.get("prior", "gaussian")
    chosen = Prior(prior) if isinstance(prior, str) else prior
    known = FitSettings(**{**settings, "prior": chosen, "lam": lams[0], "init": init})
    options = known.read_algorithm_options()
    if not isinstance(options, FastOptions):
        raise TypeError("the fast algorithm needs FastOptions")
    problem = make_problem(X, Y, known, options)
    strengths = [np.broadcast_to(np.asarray(lam, np.float64), problem.categories) for lam in lams]
    start = None if init is None else split_start(problem, init)
    from textcat.linear.fast import solver  # noqa: PLC0415 - imports kernels

    return solver.score_fast_folds(problem, options, folds, strengths, start)


# The grids of section 4.4, from the strongest prior to the weakest.
GAUSSIAN_VARIANCES = tuple(10.0**k for k in range(-4, 5))
LAPLACE_RATES = tuple(10.0 ** (k / 2) for k in range(5, -5, -1))


def compute_norm_based_variance(X: Any, mask: NDArray[np.bool_] | None = None) -> Any:
    """Return d / u, equation 29 of genkin_2004: one number, or with a mask one per category.

    d is the number of selected features plus 1 for the constant. u is the mean squared norm of the
    documents over the selected features, as the paper's text says; the printed formula sums norms that are
    not squared. The constant is counted in d but not in the norm, so that u is 1 for documents of cosine
    length, as in the authors' program; with the constant in the norm u would be 2 for them.
    """
    values = X.astype(np.float64, copy=False)
    squares = values.multiply(values) if hasattr(values, "multiply") else np.square(values)
    if mask is None:
        mean_square = float(squares.sum()) / X.shape[0]
        return (X.shape[1] + 1) / mean_square
    by_feature = np.asarray(squares.sum(axis=0)).ravel() / X.shape[0]
    features = mask.sum(axis=0)
    # The documents of a category without features have no length: any variance will do.
    return (features + 1) / np.where(features > 0, by_feature @ mask, 1.0)


@dataclass(frozen=True)
class HyperparameterChoice:
    """The lam of each grid value for the whole training set, held-out log-likelihoods, and the best index."""

    lams: Floats
    likelihood: Floats
    best: NDArray[np.int64]

    @property
    def lam(self) -> Floats:
        """The chosen lam of each category."""
        return self.lams[self.best]


def convert_grid_to_lams(prior: str, documents: int, grid: Sequence[float] | None = None) -> Floats:
    """Return the lam of each value of a grid: variances for the Gaussian prior, rates for the Laplace prior."""
    if prior == "gaussian":
        return lam_from_variance(np.asarray(grid or GAUSSIAN_VARIANCES, dtype=np.float64), documents)
    if prior == "laplace":
        return lam_from_laplace_rate(np.asarray(grid or LAPLACE_RATES, dtype=np.float64), documents)
    raise UsageError(
        f"prior {prior!r} has no hyperparameter to choose",
        where="cross-validation",
        hint="Choose the prior gaussian or laplace.",
    )


def choose_lam_by_cross_validation(
    X: Any, Y: ArrayLike, prior: str = "laplace", grid: Sequence[float] | None = None, folds: int = 10,
    runs: int = 2, seed: int = 0, own_divisions: bool = False, stratify: bool = False,
    executor: Executor | None = None, always: int = 0, **settings: Any,
) -> HyperparameterChoice:  # fmt: skip
    """Choose each category's hyperparameter by the likelihood of `runs` of `folds` held-out parts.

    Held-out documents count 1 each, also under sample weights. All categories share one division, drawn from the
    seed; with `own_divisions` each draws its own, as in the paper, and the documents that it holds out weigh 0 in
    training, so that a path over the grid is still trained for all categories at once. With `stratify` each part has
    its share of the category's documents. Of equal likelihoods the strongest prior wins. `executor` runs the parts in
    parallel. The last `always` rows are in the training part of each. `settings` go to `fit`.
    """
    matrix = make_matrix_with_bias(X, 0.0)
    labels = labels_as_columns(Y, matrix.shape[0])
    n = labels.shape[0]
    drawn = n - always
    if not 1 <= runs <= folds or folds < 2 or drawn < folds:
        raise UsageError(
            f"{runs} of {folds} folds cannot be drawn from {drawn} documents",
            where="cross-validation",
            hint="Ask for fewer folds, at least 2, and no more runs than folds.",
        )
    weight = settings.pop("sample_weight", None)
    random = np.random.default_rng(seed)
    divisions = labels.shape[1] if own_divisions else 1
    part = np.full((n, divisions), _NEVER_HELD_OUT)
    for division in range(divisions):
        if stratify:
            # The permutation orders the documents within each class; parts are dealt in turn.
            order = np.lexsort((random.permutation(drawn), labels[:drawn, division]))
            part[order, division] = np.arange(drawn) % folds
        else:
            part[:drawn, division] = random.permutation(drawn) % folds
    strengths = np.sort(convert_grid_to_lams(prior, n, grid))[::-1]
    chosen = {**settings, "prior": prior, "seed": seed, "loss": "logistic"}
    parts = _CrossValidationData(
        matrix, labels, part, None if weight is None else np.asarray(weight), strengths, chosen
    )
    likelihood = np.zeros((len(strengths), labels.shape[1]))
    if divisions > 1:
        apart = executor is not None or settings.get("mask") is not None
        tasks: list[Any] = [range(k, k + 1) for k in range(runs)] if apart else [range(runs)]
        compute: Any = _compute_likelihood_of_own_parts
    else:
        tasks, compute = list(range(runs)), _compute_held_out_likelihood
    for found in (executor or SerialExecutor()).map_items(compute, parts, tasks):
        for of_part in found if divisions > 1 else [found]:
            likelihood += of_part
    return HyperparameterChoice(np.asarray(strengths), likelihood, np.argmax(likelihood, axis=0))


@dataclass(frozen=True)
class LikelihoodFold:
    """Documents to train on with their labels and the terms of each category, and documents to score."""

    kept: Any
    kept_labels: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None
    held: Any
    held_labels: NDArray[np.bool_]


def choose_lam_on_folds(
    folds: Iterable[LikelihoodFold], documents: int, prior: str, grid: Sequence[float] | None, **settings: Any
) -> HyperparameterChoice:
    """Choose each category's hyperparameter where each fold has features of its own; `documents` are all of them.

    Of equal likelihoods the strongest prior wins. `settings` go to `fit`.
    """
    strengths = np.sort(convert_grid_to_lams(prior, documents, grid))[::-1]
    likelihood: Any = 0.0
    for fold in folds:
        lams = [lam * documents / len(fold.kept_labels) for lam in strengths]
        path = walk_path(
            fold.kept, fold.kept_labels, lams, prior=prior, mask=fold.mask, **{**settings, "loss": "logistic"}
        )
        likelihood = likelihood + np.array(
            [_compute_log_likelihood(model.scores(fold.held), fold.held_labels).sum(axis=0) for model in path]
        )
    return HyperparameterChoice(np.asarray(strengths), likelihood, np.argmax(likelihood, axis=0))


@dataclass(frozen=True)
class _CrossValidationData:
    """The data of all parts: documents, the grid, and the settings of `fit`.

    numbers: the part of each document, in one column for all categories or one for each.
    """

    matrix: Any
    labels: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    weight: Floats | None
    strengths: Floats
    settings: dict[str, Any]


def _compute_held_out_likelihood(parts: _CrossValidationData, number: int) -> Floats:
    """Return the log-likelihood of one part by models of the others: grid x categories."""
    kept, held = np.flatnonzero(parts.numbers != number), np.flatnonzero(parts.numbers == number)
    lams = [lam * len(parts.numbers) / len(kept) for lam in parts.strengths]
    weight = None if parts.weight is None else parts.weight[kept]
    path = walk_path(
        select_rows(parts.matrix, kept), parts.labels[kept], lams, sample_weight=weight, **parts.settings
    )
    documents = select_rows(parts.matrix, held)
    return np.array(
        [_compute_log_likelihood(model.scores(documents), parts.labels[held]).sum(axis=0) for model in path]
    )


def _compute_likelihood_of_own_parts(parts: _CrossValidationData, numbers: Sequence[int]) -> Floats:
    """Return the same where each category has a division of its own: parts x grid x categories.

    Held-out documents weigh 0 in training, so that all parts of a category are columns of one problem, next to each
    other because they move the same features. With a mask there is one part: the division of a masked problem, which
    depends on all of its columns, decides in which order scores are added. Weights keep the number of documents, so
    that lam is that of all.
    """
    shape, many = parts.labels.shape, len(numbers)
    given = 1.0 if parts.weight is None else parts.weight.reshape(len(parts.weight), -1)
    weights, settings = np.broadcast_to(given, shape), dict(parts.settings)
    matrix = make_matrix(parts.matrix, FitSettings(**{k: v for k, v in settings.items() if k != "prior"}))
    at_once = shape[1]
    if settings.get("mask") is None:
        settings["options"] = {**settings.get("options", {}), "lanes": MAX_LANES}
        at_once = max(1, MAX_LANES // many)
    found = np.zeros((many, len(parts.strengths), shape[1]))
    for first in range(0, shape[1], at_once):
        block = slice(first, min(first + at_once, shape[1]))
        columns = np.repeat(np.arange(block.start, block.stop), many)
        held = parts.numbers[:, columns] == np.tile(numbers, block.stop - block.start)
        settings["sample_weight"] = np.where(held, 0.0, weights[:, columns])
        path = walk_path(matrix, parts.labels[:, columns], list(parts.strengths), **settings)
        for at, model in enumerate(path):
            scores = model.scores(parts.matrix)
            for place, number in enumerate(numbers):
                # Arrays keep their order in memory, which decides in which order numpy adds documents.
                own = np.ascontiguousarray(scores[:, place::many])
                likelihood = _compute_log_likelihood(own, parts.labels[:, block])
                found[place, at, block] = (likelihood * (parts.numbers[:, block] == number)).sum(axis=0)
    return found


def _compute_log_likelihood(scores: Floats, labels: NDArray[np.bool_]) -> Floats:
    """Return the log-likelihood of each label."""
    return -np.logaddexp(0.0, -np.where(labels, 1.0, -1.0) * scores)
