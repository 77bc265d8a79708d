"""The learners by name: what each is and the parameters it takes. Importing this module loads no numerical library.

`textcat.experiment.steps.learners` has the code that trains them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from textcat.settings import GrowingSettings, KnownName
from textcat.yaml_reader import read_packaged_yaml, suggest_names


class LearnerParameters(GrowingSettings):
    """Base class of learners' parameters."""


class NaiveBayesParameters(LearnerParameters):
    """Parameters of naive Bayes."""

    lam: float = Field(default=0.01, gt=0)


class SmoParameters(LearnerParameters):
    """Parameters of the support vector machine with an explicit threshold."""

    lam: float | None = Field(default=None, gt=0)
    cost: float | Literal["norm"] | None = None
    tolerance: float = Field(default=1e-3, gt=0)
    most_passes: int = Field(default=1000, ge=1)


class OnlineParameters(LearnerParameters):
    """Parameters of the Perceptron, Winnow and their large-margin forms."""

    cost: float | None = Field(default=None, gt=0)
    rate: float = Field(default=0.01, gt=0)
    passes: int = Field(default=200, ge=1)
    initial: float = Field(default=0.01, gt=0)
    norm: float | None = Field(default=None, gt=0)
    shuffle: int | None = None


class TreeParameters(LearnerParameters):
    """Parameters of binary trees whose splits are batch perceptrons."""

    iterations: int = Field(default=500, ge=1)
    rate: float = Field(default=0.01, gt=0)
    depth: int = Field(default=1, ge=1, le=30)


class MeritParameters(LearnerParameters):
    """Parameters of binary trees learned by maximal figure of merit."""

    merit: Literal["f1", "mce"] = "f1"
    alpha: float = Field(default=20.0, gt=0)
    offset: Literal["zero", "mean", "centred"] | None = None
    kappa: float = Field(default=0.05, gt=0)
    horizon: int | None = Field(default=None, ge=1)
    iterations: int = Field(default=2000, ge=0)
    start: Literal["mean", "perceptron"] = "mean"
    trace: bool = False
    checkpoints: list[int] = Field(default=[])
    depth: int = Field(default=1, ge=1, le=30)

    @field_validator("checkpoints")
    @classmethod
    def _keep_own_iterations(cls, checkpoints: list[int], info: ValidationInfo) -> list[int]:
        """Keep the run's own number of iterations too."""
        own = info.data.get("iterations", 0)
        return sorted([*checkpoints, own]) if checkpoints and own not in checkpoints else checkpoints


class SoftmaxParameters(LearnerParameters):
    """Parameters of polytomous logistic regression."""

    prior: Literal["gaussian", "laplace"] = "gaussian"
    lam: float | None = Field(default=None, gt=0)
    cost: float | None = Field(default=None, gt=0)
    penalize_bias: bool = True
    algorithm: Literal["dual", "lbfgs"] | None = None
    tolerance: float | None = Field(default=None, gt=0)
    passes: int = Field(default=5000, ge=1)

    @model_validator(mode="after")
    def _check_strength(self) -> SoftmaxParameters:
        if self.lam is not None and self.cost is not None:
            raise ValueError("give lam or cost, not both")
        if self.algorithm == "dual" and (self.prior != "gaussian" or not self.penalize_bias):
            raise ValueError(
                "algorithm: dual needs the Gaussian prior on all weights; write algorithm: lbfgs"
            )
        return self


class MulticlassParameters(LearnerParameters):
    """Parameters of multiclass modified logistic regression by conjugate gradient."""

    lam: float = Field(default=1e-3, gt=0)
    steps: int = Field(default=200, ge=1)
    steps_each: int = Field(default=10, ge=1)
    gamma: float = Field(default=1.0, gt=0)
    increase: float = Field(default=10.0, ge=0)


class LabelTreeParameters(LearnerParameters):
    """Parameters of label trees."""

    loss: Literal["squared_hinge", "logistic", "hinge"] = "squared_hinge"
    cost: float = Field(default=1.0, gt=0)
    tolerance: float = Field(default=1e-3, gt=0)
    prune: float = Field(default=0.05, ge=0, allow_inf_nan=False)
    branches: int = Field(default=32, ge=2)
    leaf_labels: int = Field(default=200, ge=2)
    trees: int = Field(default=1, ge=1, le=100)
    beam: int = Field(default=10, ge=1)
    most_labels: int = Field(default=200, ge=1)

    @field_validator("branches")
    @classmethod
    def _round_branches(cls, branches: int) -> int:
        """Round down to a power of two: clusters are halved."""
        return 1 << (branches.bit_length() - 1)


def _names(module: str, table: str) -> Callable[[], Collection[str]]:
    """Return a function that loads a table of names; importing the solvers takes long."""
    return lambda: getattr(import_module(f"textcat.linear.{module}"), table)


class LinearParameters(LearnerParameters):
    """Parameters of learners that are loss x prior x algorithm."""

    later = ("prune",)

    loss: (
        Annotated[str, KnownName("loss", lambda: import_module("textcat.linear.losses").list_losses())] | None
    ) = None
    prior: Annotated[str, KnownName("prior", _names("priors", "ALL_PRIORS"))] | None = None
    algorithm: Annotated[str, KnownName("algorithm", _names("training", "ALGORITHMS"))] | None = None
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
    "naive_bayes": {"parameters": NaiveBayesParameters},
    "naive_bayes_multiclass": {"parameters": NaiveBayesParameters},
    "smo": {"parameters": SmoParameters, "categories_at_once": 16},
    "perceptron": {"parameters": OnlineParameters},
    "dual_svm": {"parameters": OnlineParameters},
    "winnow": {"parameters": OnlineParameters},
    "normalized_winnow": {"parameters": OnlineParameters},
    "large_margin_winnow": {"parameters": OnlineParameters},
    "normalized_large_margin_winnow": {"parameters": OnlineParameters},
    "perceptron_tree": {"parameters": TreeParameters, "version": 3},
    "mfom": {"parameters": MeritParameters, "version": 3},
    "softmax": {"parameters": SoftmaxParameters, "version": 3},
    "label_tree": {"parameters": LabelTreeParameters, "solver": "fast"},
    "mmlr_cg": {"parameters": MulticlassParameters},
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
