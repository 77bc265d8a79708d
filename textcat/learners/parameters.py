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

    lam: float = Field(default=0.01, gt=0, description="Count added to every word of every class.")


class SmoParameters(LearnerParameters):
    """Parameters of the support vector machine with an explicit threshold."""

    lam: float | None = Field(default=None, gt=0, description="Weight of the penalty added to the mean loss.")
    cost: float | Literal["norm"] | None = Field(
        default=None,
        description="C, the weight of the summed loss, or `norm` for one over the mean squared norm of the "
        "training documents (the default of SVM-light), in place of lam.",
    )
    tolerance: float = Field(
        default=1e-3, gt=0, description="Relative duality gap at which training of a category stops."
    )
    most_passes: int = Field(
        default=1000, ge=1, description="Maximum number of passes over the documents per category."
    )


class OnlineParameters(LearnerParameters):
    """Parameters of the Perceptron, Winnow and their large-margin forms."""

    cost: float | None = Field(default=None, gt=0, description="C, the bound of a document's multiplier.")
    rate: float = Field(default=0.01, gt=0, description="Learning rate.")
    passes: int = Field(
        default=200, ge=1, description="Maximum number of passes over the training documents."
    )
    initial: float = Field(default=0.01, gt=0, description="Initial weight of each feature (Winnow).")
    norm: float | None = Field(default=None, gt=0, description="Sum of the weights (normalized Winnow).")
    shuffle: int | None = Field(
        default=None, description="Seed of the documents' order; default: the order of the corpus."
    )


class TreeParameters(LearnerParameters):
    """Parameters of binary trees whose splits are batch perceptrons."""

    iterations: int = Field(default=500, ge=1, description="Maximum number of iterations at each node.")
    rate: float = Field(default=0.01, gt=0, description="Learning constant of the first iteration.")
    depth: int = Field(default=1, ge=1, le=30, description="Maximum number of splits between root and leaf.")


class MeritParameters(LearnerParameters):
    """Parameters of binary trees learned by maximal figure of merit."""

    merit: Literal["f1", "mce"] = Field(default="f1", description="What is optimised: F1, or the error.")
    alpha: float = Field(default=20.0, gt=0, description="Steepness of the sigmoid.")
    offset: Literal["zero", "mean", "centred"] | None = Field(
        default=None,
        description="Offset beta of the sigmoid: 0 (zero, the default), the mean measure of the documents "
        "(mean), or its negative (centred).",
    )
    kappa: float = Field(default=0.05, gt=0, description="Step size of the first iteration.")
    horizon: int | None = Field(default=None, ge=1, description="Iteration at which the step size reaches 0.")
    iterations: int = Field(default=2000, ge=0, description="Steps of the descent; 0 with checkpoints only.")
    start: Literal["mean", "perceptron"] = Field(
        default="mean", description="Start from the means of the smaller class or from a batch perceptron."
    )
    trace: bool = Field(default=False, description="Keep the training F1 of every iteration.")
    checkpoints: list[int] = Field(
        default=[], description="Iterations of one descent to keep, so that runs share it."
    )
    depth: int = Field(default=1, ge=1, le=30, description="Maximum number of splits between root and leaf.")

    @field_validator("checkpoints")
    @classmethod
    def _keep_own_iterations(cls, checkpoints: list[int], info: ValidationInfo) -> list[int]:
        """Keep the run's own number of iterations too."""
        own = info.data.get("iterations", 0)
        return sorted([*checkpoints, own]) if checkpoints and own not in checkpoints else checkpoints


class SoftmaxParameters(LearnerParameters):
    """Parameters of polytomous logistic regression."""

    prior: Literal["gaussian", "laplace"] = Field(default="gaussian", description="The prior.")
    lam: float | None = Field(
        default=None,
        gt=0,
        description="Weight of the penalty added to the mean loss; default: derived from `cost`.",
    )
    cost: float | None = Field(
        default=None,
        gt=0,
        description="C: lam = 1 / (2 C n) for n documents and the Gaussian prior, 1 / (C n) for Laplace; "
        "default: 10 unless `lam` is given.",
    )
    penalize_bias: bool = Field(default=True, description="Also penalise the weights of the constants.")
    algorithm: Literal["dual", "lbfgs"] | None = Field(
        default=None,
        description="dual: coordinate ascent, for the Gaussian prior on all weights; lbfgs; default: dual "
        "where it applies.",
    )
    tolerance: float | None = Field(
        default=None,
        gt=0,
        description="Duality gap (dual; default 1e-4) or optimality violation (lbfgs; default 1e-6) at which "
        "to stop.",
    )
    passes: int = Field(default=5000, ge=1, description="Maximum number of iterations.")

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

    lam: float = Field(default=1e-3, gt=0, description="Weight of the penalty added to the mean loss.")
    steps: int = Field(default=200, ge=1, description="Conjugate gradient steps.")
    steps_each: int = Field(default=10, ge=1, description="Steps before gamma is raised.")
    gamma: float = Field(default=1.0, gt=0, description="First gamma.")
    increase: float = Field(default=10.0, ge=0, description="Increase of gamma.")


class LabelTreeParameters(LearnerParameters):
    """Parameters of label trees."""

    loss: Literal["squared_hinge", "logistic", "hinge"] = Field(
        default="squared_hinge", description="The loss of every node."
    )
    cost: float = Field(default=1.0, gt=0, description="C, the weight of the summed loss.")
    tolerance: float = Field(default=1e-3, gt=0, description="Tolerance of the stopping rule.")
    prune: float = Field(
        default=0.05, ge=0, allow_inf_nan=False, description="Drop weights smaller than this; 0 keeps all."
    )
    branches: int = Field(
        default=32, ge=2, description="Maximum number of clusters of a node, rounded down to a power of two."
    )
    leaf_labels: int = Field(
        default=200, ge=2, description="Maximum number of labels of a node without clusters."
    )
    trees: int = Field(
        default=1, ge=1, le=100, description="Number of trees; their probabilities are averaged."
    )
    beam: int = Field(default=10, ge=1, description="Number of nodes of each level that prediction follows.")
    most_labels: int = Field(
        default=200, ge=1, description="Number of labels of each document that get a score."
    )

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
    ) = Field(default=None, description="The loss; the named learners have their own.")
    prior: Annotated[str, KnownName("prior", _names("priors", "ALL_PRIORS"))] | None = Field(
        default=None, description="The prior; the named learners have their own."
    )
    algorithm: Annotated[str, KnownName("algorithm", _names("training", "ALGORITHMS"))] | None = Field(
        default=None, description="The algorithm; the named learners have their own."
    )
    lam: float | None = Field(default=None, gt=0, description="Weight of the penalty added to the mean loss.")
    cost: float | None = Field(
        default=None, gt=0, description="C, the weight of the summed loss, in place of lam."
    )
    variance: float | Literal["norm"] | None = Field(
        default=None,
        description="Variance of the prior, or `norm` for the norm-based value, in place of lam.",
    )
    rate: float | None = Field(
        default=None, gt=0, description="Rate of the Laplace density (genkin_2004's lambda), in place of lam."
    )
    bare_variance: bool = Field(
        default=False,
        description="Penalise w^2 / variance, as printed in genkin_2004, not w^2 / (2 variance).",
    )
    passes: int | None = Field(default=None, ge=1, description="Maximum number of passes over the data.")
    stop: Literal["passes", "scores", "optimality"] | None = Field(
        default=None, description="Stop after all passes, when scores stop changing, or at a proven optimum."
    )
    tolerance: float | None = Field(default=None, gt=0, description="Tolerance of the stopping rule.")
    bias: float = Field(default=1.0, ge=0, description="Value of the constant feature; 0 for none.")
    penalize_bias: bool | None = Field(default=None, description="Also penalise the weight of the constant.")
    precision: Literal["float32", "float64"] = Field(
        default="float64", description="Precision of weights and scores during training."
    )
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the algorithm.")
    prune: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] = Field(
        default=0.0,
        description="Drop weights smaller than this and keep the others as sparse float32; 0 keeps all. For "
        "thousands of labels on documents of length 1, 0.02 drops most weights and hardly moves a "
        "ranking. `auto` takes the largest threshold that costs at most 0.15 points of any "
        "measure on a held-out fold of the training documents.",
    )

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


_SVM = "`learner: linear` with `parameters: {loss: squared_hinge, prior: gaussian, cost: 1}`"
_LOGISTIC = "`learner: linear` with `parameters: {loss: logistic, prior: gaussian, cost: 1}`"
# Names that people try, and what to write instead.
USUAL_NAMES = {
    "svm": _SVM,
    "svc": _SVM,
    "linear_svm": _SVM,
    "linearsvc": _SVM,
    "logistic": _LOGISTIC,
    "logistic_regression": _LOGISTIC,
    "logisticregression": _LOGISTIC,
    "ridge": "`learner: linear` with `parameters: {loss: squared, prior: gaussian, cost: 1}`",
    "lasso": "`learner: linear` with `parameters: {loss: logistic, prior: laplace, cost: 1}`",
    "maxent": "`learner: softmax`",
    "multinomialnb": "`learner: naive_bayes_multiclass`",
}

LEARNERS: dict[str, LearnerEntry] = {
    **_read_named_learners(),
    "linear": _make_linear_entry("any loss x prior x algorithm, by default to the optimum"),
    "naive_bayes": LearnerEntry(
        "naive Bayes 2: multinomial, one category against the rest", NaiveBayesParameters
    ),
    "naive_bayes_multiclass": LearnerEntry(
        "naive Bayes 1: multinomial over all classes", NaiveBayesParameters
    ),
    "smo": LearnerEntry(
        "support vector machine with explicit threshold, by sequential minimal optimization",
        SmoParameters,
        categories_at_once=16,
    ),
    "perceptron": LearnerEntry("Perceptron (zhang_2000)", OnlineParameters),
    "dual_svm": LearnerEntry(
        "support vector machine by dual ascent with a fixed learning rate (zhang_2000)", OnlineParameters
    ),
    "winnow": LearnerEntry("balanced Winnow, unnormalized (zhang_2000)", OnlineParameters),
    "normalized_winnow": LearnerEntry("balanced Winnow, normalized (zhang_2000)", OnlineParameters),
    "large_margin_winnow": LearnerEntry(
        "large-margin balanced Winnow, unnormalized (zhang_2000)", OnlineParameters
    ),
    "normalized_large_margin_winnow": LearnerEntry(
        "large-margin balanced Winnow, normalized (zhang_2000)", OnlineParameters
    ),
    "perceptron_tree": LearnerEntry(
        "binary tree, splits by the batch perceptron (gao_2003, section 5.1)", TreeParameters, version=3
    ),
    "mfom": LearnerEntry(
        "binary tree, splits of maximal figure of merit (gao_2003, section 4)", MeritParameters, version=3
    ),
    "softmax": LearnerEntry(
        "polytomous logistic regression (genkin_2004, section 7)", SoftmaxParameters, version=3
    ),
    "label_tree": LearnerEntry(
        "label trees: clusters of labels, linear classifiers at every node, beam search",
        LabelTreeParameters,
        solver="fast",
    ),
    "mmlr_cg": LearnerEntry(
        "multiclass modified logistic regression by conjugate gradient (zhang_jin_2003, section 4)",
        MulticlassParameters,
    ),
}


def validate_parameters(learner: str, given: dict[str, Any]) -> LearnerParameters:
    """Return a learner's checked parameters; raise KeyError with a hint where there is no such learner."""
    if learner not in LEARNERS:
        usual = USUAL_NAMES.get(learner.lower().replace("-", "_"))
        raise KeyError(f"Write {usual}." if usual else suggest_names(learner, LEARNERS))
    return LEARNERS[learner].parameters.model_validate(given)
