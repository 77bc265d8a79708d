"""The typed parts of an experiment file: documents, divisions, projection, search, evaluation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from textcat.corpora.own import TABLES
from textcat.evaluation.elsewhere import own_measures
from textcat.plugins import Named


class Settings(BaseModel):
    """Base of all settings: immutable, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusSettings(Settings):
    """Which documents, with which labels, divided how."""

    name: str = Field(
        description="A collection's name (see `textcat list corpora`), or the format of your own documents: "
        "csv, tsv, jsonl, folders, svmlight or rcv1-like."
    )
    path: str = Field(default="", description="Where your own documents are, seen from the experiment file.")
    split: str = Field(default="", description="The collection's own division, such as modapte.")
    options: dict[str, Any] = Field(
        default_factory=dict, description="What the collection's reader takes besides."
    )
    categories: Literal["all", "train", "train-or-test", "train-and-test"] | list[str] = Field(
        default="train-or-test",
        description="Categories kept: all, those with a training document, with a training or test document, "
        "with both, or the ones listed.",
    )
    documents: Literal["all", "labelled"] = Field(
        default="all", description="All documents, or only those that carry a category that is kept."
    )
    learn: list[str] | None = Field(
        default=None,
        description="Of the categories kept, those that are learned; the others only say which documents are "
        "labelled.",
    )
    single_label: bool = Field(
        default=False,
        description="Each document has one category, which is checked; predict the one with the highest score.",
    )

    @model_validator(mode="after")
    def _one_label_a_cell(self) -> CorpusSettings:
        """With one label a document, the cells of tables are only split at a separator that is written."""
        if self.single_label and self.name in TABLES:
            self.options.setdefault("label_separator", None)
        return self


class ResampleSettings(Settings):
    """Random divisions made here instead of the collection's own."""

    kind: Literal["splits", "folds"] = Field(
        description="Independent random splits, or folds that cover all."
    )
    number: int = Field(ge=2, le=100, description="How many splits or folds.")
    train_share: float = Field(
        default=0.8, gt=0, lt=1, description="Share of training documents in a random split."
    )
    seed: int = Field(default=1, ge=0, description="Seed of the divisions.")
    stratify: bool = Field(default=False, description="Keep the categories' shares in each part.")


class ProjectionSettings(Settings):
    """Latent semantic features in place of words."""

    dimensions: int | Literal["full"] = Field(description="How many leading dimensions the learner sees.")
    computed: int | None = Field(
        default=None,
        description="How many are computed, so that several runs share them; default: as many as seen.",
    )
    scaling: Literal["none", "inverse"] = Field(
        default="none", description="Project on U (none) or on U divided by the singular values (inverse)."
    )
    length: float | None = Field(
        default=1.0,
        gt=0,
        description="Length that projected documents are brought to; null leaves it as it is.",
    )


class SearchSettings(Settings):
    """A hyperparameter found by cross-validation on the training documents."""

    parameter: str = Field(description="Which of the learner's parameters is searched.")
    grid: list[float] = Field(min_length=1, description="The values tried.")
    folds: int = Field(default=5, ge=2, description="In how many parts the training documents are divided.")
    use: int | None = Field(
        default=None, ge=1, description="How many of the folds are really run; default: all."
    )
    criterion: Literal["micro.f1", "micro.bep", "accuracy", "log-likelihood", "errors"] = Field(
        default="micro.f1", description="What is best on the parts held out."
    )
    per_category: bool = Field(
        default=False,
        description="One value a category, the best by the likelihood of the parts held out, or one for all.",
    )
    seed: int = Field(default=1, ge=0, description="Seed of the division into folds.")

    @model_validator(mode="after")
    def _each_category_by_likelihood(self) -> SearchSettings:
        if self.per_category and self.criterion != "log-likelihood":
            raise ValueError("with per_category the criterion is log-likelihood")
        return self


StudyName = Literal["margins", "precision-recall", "objectives", "iterations", "weights"]


class EvaluationSettings(Settings):
    """What is measured, and how undefined ratios count."""

    zero_division: Literal[1, 0, "skip"] = Field(
        default=1, description="What a category counts in a macro average where its F1 is 0/0."
    )
    largest: list[Annotated[int, Field(ge=1)]] = Field(
        default=[5, 10, 20, 40, 60, 80, 100],
        description="Macro and micro averages are also taken over so many largest categories.",
    )
    studies: list[StudyName] = Field(
        default_factory=list,
        description="What is looked at besides, for a figure or a remark: the distribution of margins, the "
        "precision-recall curve, the objectives of the SVM and of its approximation, the course of the training "
        "F1 over iterations, the weights of features.",
    )
    measures: list[Annotated[str, Named("measures", own_measures)]] = Field(
        default_factory=list, description="Measures of other packages that are taken besides textcat's own."
    )
    study_category: str | None = Field(
        default=None, description="The category that studies look at; default: all together."
    )

    @model_serializer(mode="wrap")
    def _without_no_measures(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Settings that name no measure are spelled as if there were no such key."""
        spelled: dict[str, Any] = dump(self)
        if not self.measures:
            spelled.pop("measures", None)
        return spelled
