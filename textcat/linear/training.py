"""Training from checked settings: the table of algorithms, blocks of categories, jobs.

A new algorithm needs a line in ALGORITHMS and a rule in textcat.linear.combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.errors import make_fit_error
from textcat.linear import combinations
from textcat.linear.algorithm_options import (
    ColumnOptions,
    FastOptions,
    GradientOptions,
    Options,
    RowOptions,
    read_options,
)
from textcat.linear.blocks import (
    Part,
    PassCost,
    PrunedBlock,
    SolveBlock,
    check_finite,
    divide_block,
    divide_blocks,
    estimate_column_pass,
    estimate_row_pass,
    join_pruned,
    prune_block,
    solve_part,
    split_blocks,
)
from textcat.linear.certificate import BlockResult
from textcat.linear.losses import find_loss
from textcat.linear.model import LinearModel, make_dense
from textcat.linear.priors import Prior, make_penalty
from textcat.linear.problem import (
    Bools,
    Floats,
    LinearProblem,
    ProblemMatrix,
    compute_document_weights,
    labels_as_columns,
    make_matrix_with_bias,
    split_into_blocks,
)


def make_lane_blocks(problem: LinearProblem, options: Options) -> list[slice]:
    """Divide the categories into blocks of as many lanes as the options say."""
    return split_into_blocks(problem.categories, options.lanes)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: how to solve a block of categories, and what it needs for that.

    `solve_block(problem, block, options, start)` returns weights and certificates; `start` holds weights, or
    dual variables if `starts_from_dual`. `blocks(problem, options)`: which categories are solved together.
    `narrow`: a block gets only the features that it selects, and is divided where that makes it cheaper.
    `estimate_pass_cost`: the cost of a pass over some categories of a block; with it, a block is also divided into
    parts for the threads. None: `solve_block` uses the threads itself, or needs a whole block.
    `version` rises when a change of the code moves the numbers, so that stored
    models are trained again; None leaves it out of the keys of artifacts.
    """

    solve_block: SolveBlock
    options: type[Options]
    starts_from_dual: bool = False
    blocks: Callable[..., list[slice]] = make_lane_blocks
    narrow: bool = True
    version: int | None = None
    estimate_pass_cost: PassCost | None = None


# The kernels of an algorithm take long to import: they are imported when a block is solved.
def _solve_by_columns(
    problem: LinearProblem, block: slice, options: ColumnOptions, start: Floats
) -> BlockResult:
    from textcat.linear.papers import column_relaxation  # noqa: PLC0415

    return column_relaxation.solve_block(problem, block, options, start)


def _solve_by_rows(problem: LinearProblem, block: slice, options: RowOptions, start: Floats) -> BlockResult:
    from textcat.linear.papers import row_relaxation  # noqa: PLC0415

    return row_relaxation.solve_block(problem, block, options, start)


def _solve_by_gradients(
    problem: LinearProblem, block: slice, options: GradientOptions, start: Floats
) -> BlockResult:
    from textcat.linear.papers import conjugate_gradient  # noqa: PLC0415

    return conjugate_gradient.solve_block(problem, block, options, start)


def _solve_fast(problem: LinearProblem, block: slice, options: FastOptions, start: Floats) -> BlockResult:
    from textcat.linear.fast import solver  # noqa: PLC0415

    return solver.solve_block(problem, block, options, start)


def make_single_block(problem: LinearProblem, options: FastOptions) -> list[slice]:
    """Return one block of all categories; the solver divides them into lanes itself."""
    return [slice(0, problem.categories)] if problem.categories else []


def make_row_blocks(problem: LinearProblem, options: RowOptions) -> list[slice]:
    """Blocks of lanes; a grouped order is each category's own, so each is solved alone."""
    if options.order == "grouped":
        return [slice(k, k + 1) for k in range(problem.categories)]
    return split_into_blocks(problem.categories)


ALGORITHMS: dict[str, Algorithm] = {
    "column": Algorithm(_solve_by_columns, ColumnOptions, estimate_pass_cost=estimate_column_pass),
    "row": Algorithm(
        _solve_by_rows,
        RowOptions,
        starts_from_dual=True,
        blocks=make_row_blocks,
        estimate_pass_cost=estimate_row_pass,
    ),
    "conjugate_gradient": Algorithm(_solve_by_gradients, GradientOptions),
    "fast": Algorithm(_solve_fast, FastOptions, blocks=make_single_block, narrow=False, version=7),
}


@dataclass(frozen=True)
class FitSettings:
    """The arguments of `fit` other than the data; see there."""

    loss: str = "logistic"
    prior: Prior = Prior("gaussian")  # noqa: RUF009
    lam: Any = 1e-4
    algorithm: str = "column"
    bias: float = 1.0
    tol: float = 1e-6
    max_passes: int = 1000
    n_jobs: int = 1
    mask: NDArray[np.bool_] | None = None
    sample_weight: ArrayLike | None = None
    class_weight: str | Mapping[bool, float] | None = None
    penalize_bias: bool = True
    init: LinearModel | None = None
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    prune: float = 0.0

    def describe(self) -> dict[str, Any]:
        """Return the settings that a model keeps, as JSON-able data."""
        described = {
            "loss": self.loss, "prior": self.prior.name, "lam": np.asarray(self.lam).tolist(),
            "algorithm": self.algorithm, "bias": self.bias, "penalize_bias": self.penalize_bias,
            "tol": self.tol, "max_passes": self.max_passes, "seed": self.seed, "options": dict(self.options),
        }  # fmt: skip
        return {**described, "prune": self.prune} if self.prune else described

    def request(self) -> combinations.SolveRequest:
        """Return the properties that decide which algorithms can solve this."""
        return combinations.SolveRequest(
            find_loss(self.loss, float(self.options.get("gamma", Options.gamma))),
            self.prior.name,
            self.penalize_bias,
            self.bias,
            self.prior.variance is None,
            self.class_weight is not None
            or np.ndim(self.sample_weight if self.sample_weight is not None else 0) > 1,
        )

    def read_algorithm_options(self) -> Options:
        """Refuse impossible combinations and return the algorithm's options."""
        combinations.check_combination(self.algorithm, self.request())
        from joblib import effective_n_jobs  # noqa: PLC0415 - takes long to import

        jobs = effective_n_jobs(self.n_jobs)
        shared = {"tol": self.tol, "max_passes": self.max_passes, "seed": self.seed, "jobs": jobs}
        return read_options(ALGORITHMS[self.algorithm].options, self.options, shared)


def train(X: Any, Y: ArrayLike, settings: FitSettings) -> LinearModel:
    """Solve every category of Y under the settings."""
    options = settings.read_algorithm_options()
    if not (np.isfinite(settings.prune) and settings.prune >= 0):
        raise make_fit_error(
            f"prune cannot be {settings.prune}", "Give a number such as 0.02, or 0 for none."
        )
    algorithm = ALGORITHMS[settings.algorithm]
    problem = make_problem(X, Y, settings, options)
    start = make_start(problem, settings.init, algorithm.starts_from_dual)
    blocks = algorithm.blocks(problem, options)
    if algorithm.narrow:
        blocks = divide_blocks(problem, blocks)
    estimate, threads = algorithm.estimate_pass_cost, settings.n_jobs
    solve: Callable[..., Any] = partial(solve_part, algorithm.solve_block, dual=algorithm.starts_from_dual)
    if settings.prune:
        blocks, estimate = split_blocks(blocks), None
        # Blocks of the fast algorithm use all threads themselves.
        inner, threads = (options.jobs, 1) if settings.algorithm == "fast" else (1, threads)
        solve = partial(_solve_and_prune, solve, problem, settings.prune, inner)
    parts = [
        part
        for block in blocks
        for part in divide_block(problem, block, estimate, options.jobs, narrow=algorithm.narrow)
    ]
    from joblib import Parallel, delayed  # noqa: PLC0415 - takes long to import

    order = sorted(range(len(parts)), key=lambda place: -parts[place].cost)

    def take_start(part: Part) -> Floats:
        # Zeros take memory when they are read, copies at once. Blocks to prune are undivided and need no copy.
        if settings.init is None:
            return np.zeros((len(start), len(part.categories)))
        return start[:, part.block.block] if settings.prune else np.take(start, part.categories, axis=1)

    jobs = (delayed(solve)(parts[place], options, take_start(parts[place])) for place in order)
    results = Parallel(n_jobs=threads, prefer="threads")(jobs) if parts else []
    check_finite(results)
    if settings.prune and results:
        return _make_pruned_model(problem, results, settings.describe())
    categories = np.concatenate([np.arange(0), *(parts[place].categories for place in order)])
    return _make_model(problem, results, categories, settings.describe())


def _solve_and_prune(
    solve: Callable[..., BlockResult], problem: LinearProblem, threshold: float, jobs: int, *arguments: Any
) -> PrunedBlock:
    """Solve a block and drop its small weights, so that its dense weights are freed before the next."""
    return prune_block(problem, solve(*arguments), threshold, jobs)


def make_matrix(X: Any, settings: FitSettings) -> ProblemMatrix:
    """Return the documents in the algorithm's form; several fits can take the same one in place of X."""
    rows = make_matrix_with_bias(X, settings.bias)
    return ProblemMatrix(rows, None if settings.algorithm == "fast" else sp.csc_matrix(rows))


def make_problem(X: Any, Y: ArrayLike, settings: FitSettings, options: Options) -> LinearProblem:
    """Convert data and settings to the problem that every algorithm reads."""
    matrix = X if isinstance(X, ProblemMatrix) else make_matrix(X, settings)
    rows = matrix.rows
    positive = labels_as_columns(Y, rows.shape[0])
    shape, constant = (rows.shape[1], positive.shape[1]), settings.bias != 0.0
    if not rows.shape[1]:
        raise make_fit_error(
            "there is no weight to train: X has no features, and bias is 0", "Leave `bias` out."
        )
    penalty = make_penalty(
        settings.prior, settings.lam, shape, rows.shape[0], constant, settings.penalize_bias
    )
    if settings.algorithm in ("row", "fast") and not (penalty.strength > 0).all():
        raise make_fit_error(
            f"algorithm {settings.algorithm!r} divides by lam, which must be above 0",
            "Give a lam above 0, or choose another algorithm.",
        )
    weights = compute_document_weights(positive, settings.sample_weight, settings.class_weight)
    loss = find_loss(settings.loss, options.gamma)
    mask = _extend_mask(settings.mask, shape, constant)
    return LinearProblem(matrix, positive, mask, weights, loss, penalty, settings.bias)


def _extend_mask(mask: NDArray[np.bool_] | None, shape: tuple[int, int], constant: bool) -> Bools | None:
    if mask is None:
        return None
    given = np.asarray(mask, dtype=bool)
    if given.shape != (shape[0] - constant, shape[1]):
        raise make_fit_error(
            f"mask has shape {given.shape}, not {(shape[0] - constant, shape[1])}",
            "Give a mask of features x categories.",
        )
    return np.vstack([given, np.ones((1, shape[1]), dtype=bool)]) if constant else given


def make_start(problem: LinearProblem, init: LinearModel | None, dual: bool) -> Floats:
    """Return the weights, or dual variables, to start from."""
    if dual:
        shape = (problem.documents, problem.categories)
        if init is None:
            return np.zeros(shape)
        if init.dual is None or init.dual.shape != shape:
            raise make_fit_error(
                "the model to start from kept no dual variables for these documents",
                'Train it with algorithm "row" and options keep_dual: true.',
            )
        return init.dual
    if init is None:
        return np.zeros((problem.features, problem.categories))
    start = np.vstack(split_start(problem, init))
    return start if problem.mask is None else start * problem.mask


def split_start(problem: LinearProblem, init: LinearModel) -> list[Floats]:
    """Return the weights to start from, those of the features and of the constant, without joining them."""
    parts = [make_dense(init.coef)]
    if problem.bias != 0.0:
        parts.append(init.intercept[None, :] / problem.bias)
    if (sum(map(len, parts)), parts[0].shape[1]) != (problem.features, problem.categories):
        raise make_fit_error(
            f"the model to start from has shape {init.coef.shape}",
            "Start from a model of the same features and categories.",
        )
    return parts


def _make_pruned_model(
    problem: LinearProblem, results: list[PrunedBlock], settings: dict[str, Any]
) -> LinearModel:
    intercept = np.concatenate([each.constants for each in results]) * (problem.bias or 1.0)
    certificates = [one for each in results for one in each.certificates]
    return LinearModel(join_pruned(results), intercept, certificates, settings)


def _make_model(
    problem: LinearProblem,
    results: list[BlockResult],
    categories: NDArray[np.int64],
    settings: dict[str, Any],
) -> LinearModel:
    """Return the model of all results; `categories` holds the category of each of their columns."""
    places = np.argsort(categories)

    def join(parts: list[Floats], rows: int) -> Floats:
        if len(parts) == 1 and np.array_equal(places, np.arange(len(places))):
            return parts[0]
        return np.take(np.hstack([np.zeros((rows, 0)), *parts]), places, axis=1)

    weights = join([each.weights for each in results], problem.features)
    given = [one for each in results for one in each.certificates]
    certificates = [given[place] for place in places]
    duals = [each.dual for each in results if each.dual is not None]
    dual = join(duals, problem.documents) if duals and settings["options"].get("keep_dual") else None
    if problem.bias == 0.0:
        model = LinearModel(weights, np.zeros(problem.categories), certificates, settings)
    else:
        coef = np.ascontiguousarray(weights[:-1])
        model = LinearModel(coef, weights[-1] * problem.bias, certificates, settings)
    return replace(model, dual=dual)
