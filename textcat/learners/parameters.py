"""The parameters of learners, with defaults and limits. Importing this module loads no numerical library."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from textcat.settings import GrowingSettings


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


class DescentParameters(LearnerParameters):
    """Parameters of the descent that maximises a figure of merit."""

    merit: Literal["f1", "mce"] = "f1"
    alpha: float = Field(default=20.0, gt=0)
    offset: Literal["zero", "mean", "centred"] | None = None
    kappa: float = Field(default=0.05, gt=0)
    horizon: int | None = Field(default=None, ge=1)


class MeritParameters(DescentParameters):
    """Parameters of binary trees learned by maximal figure of merit."""

    iterations: int = Field(default=2000, ge=0)
    start: Literal["mean", "perceptron"] = "mean"
    trace: bool = False
    checkpoints: list[int] = Field(default=[])
    depth: int = Field(default=1, ge=1, le=30)


class MulticategoryMeritParameters(DescentParameters):
    """Parameters of maximal figure of merit for one category per document."""

    iterations: int = Field(default=2000, ge=1)
    eta: float = Field(default=4.0, gt=0)
    score: Literal["power", "exponential"] = "exponential"


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


class RatioParameters(LearnerParameters):
    """Parameters of support vector machines on log-count ratios."""

    loss: Literal["squared_hinge", "logistic", "hinge"] = "squared_hinge"
    cost: float = Field(default=1.0, gt=0)
    alpha: float = Field(default=1.0, gt=0)
    beta: float = Field(default=1.0, ge=0, le=1)
    tolerance: float = Field(default=1e-4, gt=0)


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
