"""The table of learners by name: what each is, the parameters it takes, and the adapter that trains it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from textcat.experiment.yaml_source import did_you_mean


class Parameters(BaseModel):
    """Base of all learners' parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LinearParameters(Parameters):
    """Of every learner that is loss x prior x algorithm."""

    loss: str | None = Field(default=None, description="The loss; the named learners have their own.")
    prior: str | None = Field(default=None, description="The prior; the named learners have their own.")
    algorithm: str | None = Field(
        default=None, description="The algorithm; the named learners have their own."
    )
    lam: float | None = Field(default=None, gt=0, description="Weight of the penalty beside the mean loss.")
    cost: float | None = Field(
        default=None, gt=0, description="C, the weight of the summed loss; instead of lam."
    )
    variance: float | Literal["norm"] | None = Field(
        default=None, description="Variance of the prior, or `norm` for the norm-based value; instead of lam."
    )
    bare_variance: bool = Field(
        default=False,
        description="Penalise w^2 / variance, as printed in genkin_2004, not w^2 / (2 variance).",
    )
    passes: int | None = Field(default=None, ge=1, description="Most passes over the data.")
    stop: Literal["passes", "scores", "optimality"] | None = Field(
        default=None, description="Stop after all passes, when scores settle, or at a proven optimum."
    )
    tolerance: float | None = Field(default=None, gt=0, description="What the stopping rule compares with.")
    bias: float = Field(default=1.0, ge=0, description="Value of the constant feature; 0 leaves it out.")
    penalize_bias: bool | None = Field(
        default=None, description="Whether the constant's weight is penalised too."
    )
    precision: Literal["float32", "float64"] = Field(
        default="float64", description="In which precision the kernels keep weights and scores."
    )
    options: dict[str, Any] = Field(default_factory=dict, description="Settings of the algorithm itself.")

    @model_validator(mode="after")
    def _one_regularization(self) -> LinearParameters:
        given = [name for name in ("lam", "cost", "variance") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} say the same thing; give one of them")
        return self


class NaiveBayesParameters(Parameters):
    """Of naive Bayes."""

    lam: float = Field(default=0.01, gt=0, description="Count added to every word of every class.")


class SmoParameters(Parameters):
    """Of the support vector machine with an explicit threshold."""

    lam: float | None = Field(default=None, gt=0, description="Weight of the penalty beside the mean loss.")
    cost: float | None = Field(
        default=None, gt=0, description="C, the weight of the summed loss; instead of lam."
    )
    tolerance: float = Field(
        default=1e-3, gt=0, description="Relative duality gap at which a category is done."
    )
    most_passes: int = Field(default=1000, ge=1, description="Most sweeps over the documents.")


class OnlineParameters(Parameters):
    """Of the Perceptron, Winnow and their large-margin forms."""

    cost: float | None = Field(default=None, gt=0, description="C, the bound of a document's multiplier.")
    rate: float = Field(default=0.01, gt=0, description="Learning rate.")
    passes: int = Field(default=200, ge=1, description="Passes over the training documents.")
    initial: float = Field(default=0.01, gt=0, description="Initial weight of each feature (Winnow).")
    norm: float | None = Field(
        default=None, gt=0, description="Sum of weights (normalized Winnow); default: initial sum."
    )


@dataclass(frozen=True)
class Learner:
    """One row of the table."""

    title: str
    parameters: type[BaseModel]
    adapter: str
    version: int = 1
    categories_at_once: int | None = None


def _linear(title: str) -> Learner:
    return Learner(
        title, LinearParameters, "textcat.experiment.adapters.linear:fit_linear", categories_at_once=64
    )


def _named() -> dict[str, Learner]:
    """The combinations of loss, prior and algorithm that papers gave names to."""
    table = yaml.safe_load(files("textcat.linear").joinpath("learners.yaml").read_text(encoding="utf-8"))
    rows = {}
    for name, row in table.items():
        settings = row["settings"]
        combination = f"{settings['loss']} x {settings['prior']} x {settings['algorithm']}"
        rows[name] = _linear(f"{combination} ({row['paper']}, {row['where']})")
    return rows


LEARNERS: dict[str, Learner] = {
    **_named(),
    "linear": _linear("any loss x prior x algorithm, by default to the optimum"),
    "naive_bayes": Learner(
        "naive Bayes 2: multinomial, one category against the rest",
        NaiveBayesParameters,
        "textcat.experiment.adapters.bayes:fit_binary",
    ),
    "naive_bayes_multiclass": Learner(
        "naive Bayes 1: multinomial over all classes",
        NaiveBayesParameters,
        "textcat.experiment.adapters.bayes:fit_multiclass",
    ),
    "smo": Learner(
        "support vector machine with explicit threshold, by sequential minimal optimization",
        SmoParameters,
        "textcat.experiment.adapters.smo:fit_smo",
        categories_at_once=16,
    ),
}


def parameters_of(learner: str, given: dict[str, Any]) -> BaseModel:
    """A learner's checked parameters; KeyError with a hint when there is no such learner."""
    if learner not in LEARNERS:
        raise KeyError(did_you_mean(learner, LEARNERS))
    return LEARNERS[learner].parameters.model_validate(given)
