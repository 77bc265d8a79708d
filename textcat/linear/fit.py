"""`fit`: any loss x prior x algorithm, for all categories in one go; `fit_path`: the same over a sequence
of lam."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear import column, combinations, conjugate_gradient, row
from textcat.linear.losses import loss_named
from textcat.linear.model import LinearModel
from textcat.linear.options import (
    ColumnOptions,
    GradientOptions,
    Options,
    RowOptions,
    read_options,
)
from textcat.linear.priors import Prior, penalty_of
from textcat.linear.problem import (
    Bools,
    Floats,
    Problem,
    blocks_of,
    document_weights,
    labels_as_columns,
    matrix_with_bias,
)
from textcat.linear.progress import BlockResult


@dataclass(frozen=True)
class Algorithm:
    """How to solve a block of categories, which options that takes, and whether it starts from dual
    variables."""

    solve_block: Callable[..., BlockResult]
    options: type[Options]
    starts_from_dual: bool = False


ALGORITHMS: dict[str, Algorithm] = {
    "column": Algorithm(column.solve_block, ColumnOptions),
    "row": Algorithm(row.solve_block, RowOptions, starts_from_dual=True),
    "conjugate_gradient": Algorithm(conjugate_gradient.solve_block, GradientOptions),
}


def fit(
    X: Any,
    Y: ArrayLike,
    loss: str = "logistic",
    prior: str | Prior = "gaussian",
    lam: float | ArrayLike = 1e-4,
    algorithm: str = "column",
    bias: float = 1.0,
    tol: float = 1e-6,
    max_passes: int = 1000,
    n_jobs: int = 1,
    mask: NDArray[np.bool_] | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: str | Mapping[bool, float] | None = None,
    penalize_bias: bool = True,
    init: LinearModel | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> LinearModel:
    """Train one category a column of Y by minimizing (1/n) sum loss + lam * penalty.

    X: documents x features, sparse or dense. Y: bool, documents x categories. lam: a number, or one a
    category. bias: the value of the appended constant feature, 0 for none. mask: bool, features x
    categories, the selected features of each. init: a model to start from (one that kept its dual
    variables, for algorithm "row"). options: what is particular to the algorithm, see
    textcat.linear.options. The answer depends neither on n_jobs nor on the company in which a category is
    trained.
    """
    chosen = Prior(prior) if isinstance(prior, str) else prior
    given = dict(options or {})
    shared = {"tol": tol, "max_passes": max_passes, "seed": seed}
    known = loss_named(loss, float(given.get("gamma", Options.gamma)))
    request = combinations.Request(
        known, chosen.name, penalize_bias, bias, chosen.informed, chosen.variance is None
    )
    combinations.check(algorithm, request)
    means = ALGORITHMS[algorithm]
    settled = read_options(means.options, given, shared)
    rows, columns = matrix_with_bias(X, bias)
    positive = labels_as_columns(Y, rows.shape[0])
    shape = (rows.shape[1], positive.shape[1])
    penalty = penalty_of(chosen, lam, shape, rows.shape[0], bias != 0.0, penalize_bias)
    if algorithm == "row" and not (penalty.strength > 0).all():
        raise UsageError("row relaxation divides by lam, which must be above 0", where="fit")
    problem = Problem(
        rows, columns, positive, _whole_mask(mask, shape, bias),
        document_weights(positive, sample_weight, class_weight), known, penalty, bias,
    )  # fmt: skip
    start = _start(problem, init, means.starts_from_dual)
    blocks = _blocks(problem, settled)
    jobs = (delayed(means.solve_block)(problem, block, settled, start[:, block]) for block in blocks)
    results: list[BlockResult] = Parallel(n_jobs=n_jobs, prefer="threads")(jobs) if blocks else []
    settings = {
        "loss": loss, "prior": chosen.name, "lam": np.asarray(lam).tolist(), "algorithm": algorithm,
        "bias": bias,
        "penalize_bias": penalize_bias, "tol": tol, "max_passes": max_passes, "seed": seed, "options": given,
    }  # fmt: skip
    return _model(problem, results, settings)


def fit_path(X: Any, Y: ArrayLike, lams: Sequence[float], **settings: Any) -> list[LinearModel]:
    """Fit for each lam in turn, each from where the one before ended; `settings` are those of `fit`."""
    if "lam" in settings or "init" in settings:
        raise UsageError("fit_path sets lam and init itself", where="fit_path")
    if settings.get("algorithm") == "row":
        settings["options"] = {**settings.get("options", {}), "keep_dual": True}
    models: list[LinearModel] = []
    for lam in lams:
        models.append(fit(X, Y, lam=lam, init=models[-1] if models else None, **settings))
    return models


def _whole_mask(mask: NDArray[np.bool_] | None, shape: tuple[int, int], bias: float) -> Bools | None:
    if mask is None:
        return None
    given = np.asarray(mask, dtype=bool)
    constant = bias != 0.0
    if given.shape != (shape[0] - constant, shape[1]):
        raise UsageError(f"mask has shape {given.shape}, not {(shape[0] - constant, shape[1])}", where="fit")
    return np.vstack([given, np.ones((1, shape[1]), dtype=bool)]) if constant else given


def _start(problem: Problem, init: LinearModel | None, dual: bool) -> Floats:
    if dual:
        shape = (problem.documents, problem.categories)
        if init is None:
            return np.zeros(shape)
        if init.dual is None or init.dual.shape != shape:
            raise UsageError(
                "the model to start from kept no dual variables for these documents", where="fit",
                hint='Train it with algorithm "row" and options keep_dual: true',
            )  # fmt: skip
        return init.dual
    if init is None:
        return np.zeros((problem.features, problem.categories))
    constant = (
        init.intercept[None, :] / problem.bias if problem.bias != 0.0 else np.zeros((0, init.coef.shape[1]))
    )
    start = np.vstack([init.coef, constant])
    if start.shape != (problem.features, problem.categories):
        raise UsageError(f"the model to start from has shape {init.coef.shape}", where="fit")
    return start * problem.free(slice(None))


def _blocks(problem: Problem, options: Options) -> list[slice]:
    """Blocks of lanes; an order of its own for each category takes each category alone."""
    if isinstance(options, RowOptions) and options.order == "grouped":
        return [slice(k, k + 1) for k in range(problem.categories)]
    return blocks_of(problem.categories)


def _model(problem: Problem, results: list[BlockResult], settings: dict[str, Any]) -> LinearModel:
    weights = np.hstack([each.weights for each in results]) if results else np.zeros((problem.features, 0))
    certificates = [one for each in results for one in each.certificates]
    duals = [each.dual for each in results if each.dual is not None]
    dual = np.hstack(duals) if duals and settings["options"].get("keep_dual") else None
    if problem.bias == 0.0:
        model = LinearModel(weights, np.zeros(problem.categories), certificates, settings)
    else:
        coef = np.ascontiguousarray(weights[:-1])
        model = LinearModel(coef, weights[-1] * problem.bias, certificates, settings)
    return replace(model, dual=dual)
