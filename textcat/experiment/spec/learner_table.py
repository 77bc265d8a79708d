"""The learners by name: what each is and the parameters it takes. Importing this module loads no numerical library.

`textcat.experiment.steps.learners` has the code that trains them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from textcat.learners import parameters as own
from textcat.learners.parameters import LearnerParameters
from textcat.plugins import KnownName
from textcat.yaml_reader import read_packaged_yaml, suggest_names


def _names(module: str, table: str) -> Callable[[], Collection[str]]:
    """Return a function that loads a table of names; importing the solvers takes long."""
    return lambda: getattr(import_module(f"textcat.linear.{module}"), table)


class LinearParameters(LearnerParameters):
    """Parameters of learners that are loss x prior x algorithm."""

    later = ("prune",)

    loss: Annotated[str, KnownName("losses", _names("losses", "LOSS_NAMES"))] | None = None
    prior: Annotated[str, KnownName("priors", _names("priors", "ALL_PRIORS"))] | None = None
    algorithm: Annotated[str, KnownName("algorithms", _names("training", "ALGORITHMS"))] | None = None
    lam: float | None = Field(default=None, gt=0)
    cost: float | None = Field(default=None, gt=0)
    variance: float | Literal["norm"] | None = None
    rate: float | None = Field(default=None, gt=0)
    bare_variance: bool = False
    passes: int | None = Field(default=None, ge=1)
    stop: Literal["passes", "scores", "optimality"] | None = None
    tolerance: float | None = Field(default=None, gt=0)
    bias: float = Field(default=1.0, ge=0)
    penalize_bias: bool | None = None
    precision: Literal["float32", "float64"] = "float64"
    options: dict[str, Any] = Field(default_factory=dict)
    prune: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] = 0.0

    @model_validator(mode="after")
    def _check_regularization(self) -> LinearParameters:
        given = [name for name in ("lam", "cost", "variance", "rate") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} set the same value; give one of them")
        return self


@dataclass(frozen=True)
class LearnerEntry:
    """One row of the table.

    `categories_at_once` is the size of the blocks of categories trained one by one; `settings` are those of a
    combination with a name; `solver` is the linear algorithm of a learner that has no parameter for it.
    """

    title: str
    parameters: type[LearnerParameters]
    version: int = 1
    categories_at_once: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    solver: str = ""


def _make_linear_entry(title: str, version: int = 2, **settings: Any) -> LearnerEntry:
    return LearnerEntry(title, LinearParameters, version, 64, settings)


def _read_named_learners() -> dict[str, LearnerEntry]:
    """Return the combinations of loss, prior and algorithm that have a name."""
    table = read_packaged_yaml("linear/learners.yaml")
    rows = {}
    for name, row in table.items():
        settings = row["settings"]
        combination = f"{settings['loss']} x {settings['prior']} x {settings['algorithm']}"
        title = f"{combination} ({row['paper']}, {row['where']})"
        rows[name] = _make_linear_entry(title, row.get("version", 2), **settings)
    return rows


_TEXTS = read_packaged_yaml("experiment/methods.yaml")
# Names that people try, and what to write instead.
USUAL_NAMES: dict[str, str] = _TEXTS["usual_names"]


_OTHERS: dict[str, dict[str, Any]] = {
    "naive_bayes": {"parameters": own.NaiveBayesParameters},
    "naive_bayes_multiclass": {"parameters": own.NaiveBayesParameters},
    "smo": {"parameters": own.SmoParameters, "categories_at_once": 16},
    "perceptron": {"parameters": own.OnlineParameters},
    "dual_svm": {"parameters": own.OnlineParameters},
    "winnow": {"parameters": own.OnlineParameters},
    "normalized_winnow": {"parameters": own.OnlineParameters},
    "large_margin_winnow": {"parameters": own.OnlineParameters},
    "normalized_large_margin_winnow": {"parameters": own.OnlineParameters},
    "perceptron_tree": {"parameters": own.TreeParameters, "version": 3},
    "mfom": {"parameters": own.MeritParameters, "version": 3},
    "mfom_multicategory": {"parameters": own.MulticategoryMeritParameters},
    "softmax": {"parameters": own.SoftmaxParameters, "version": 2},
    "nb_svm": {"parameters": own.RatioParameters, "version": 2, "categories_at_once": 64, "solver": "fast"},
    "label_tree": {"parameters": own.LabelTreeParameters, "solver": "fast"},
    "mmlr_cg": {"parameters": own.MulticlassParameters},
}
LEARNERS: dict[str, LearnerEntry] = {
    **_read_named_learners(),
    "linear": _make_linear_entry(_TEXTS["learners"]["linear"]),
    **{name: LearnerEntry(_TEXTS["learners"][name], **facts) for name, facts in _OTHERS.items()},
}


def validate_parameters(learner: str, given: dict[str, Any]) -> LearnerParameters:
    """Return a learner's checked parameters; raise KeyError with a hint where there is no such learner."""
    if learner not in LEARNERS:
        usual = USUAL_NAMES.get(learner.lower().replace("-", "_"))
        raise KeyError(f"Write {usual}." if usual else suggest_names(learner, LEARNERS))
    return LEARNERS[learner].parameters.model_validate(given)
