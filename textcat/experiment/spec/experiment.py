"""The typed model of an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from textcat.corpora.own.documents import TABLES
from textcat.corpora.registry import OWN_TEXT_FORMATS
from textcat.evaluation.run_measures import list_builtin_measures
from textcat.plugins import KnownName
from textcat.selection.choice import SelectionSettings
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import VectorSettings
from textcat.thresholds.calibration import CalibrationSettings
from textcat.thresholds.rules import ThresholdSettings


class StrictSettings(BaseModel):
    """Base of all settings: immutable, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusSettings(StrictSettings):
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


class ResampleSettings(StrictSettings):
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


class ProjectionSettings(StrictSettings):
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


class SearchSettings(StrictSettings):
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
    def _check_criterion(self) -> SearchSettings:
        if self.per_category and self.criterion != "log-likelihood":
            raise ValueError("with per_category the criterion is log-likelihood")
        return self


StudyName = Literal["margins", "precision-recall", "objectives", "iterations", "weights"]


class EvaluationSettings(StrictSettings):
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
    measures: list[Annotated[str, KnownName("measures", list_builtin_measures)]] = Field(
        default_factory=list, description="Measures of other packages that are taken besides textcat's own."
    )
    study_category: str | None = Field(
        default=None, description="The category that studies look at; default: all together."
    )

    @model_serializer(mode="wrap")
    def _omit_empty_measures(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Settings that name no measure are spelled as if there were no such key."""
        spelled: dict[str, Any] = dump(self)
        if not self.measures:
            spelled.pop("measures", None)
        return spelled


class RunSettings(StrictSettings):
    """One learner with its parameters, and what it takes differently from the experiment."""

    learner: str = Field(description="A learner's name (see `textcat list learners`).")
    parameters: dict[str, Any] = Field(default_factory=dict, description="The learner's own parameters.")
    title: str = Field(default="", description="How tables call this run.")
    search: SearchSettings | None = Field(default=None, description="Find one parameter by cross-validation.")
    train_documents: int | None = Field(
        default=None, ge=1, description="Learn from so many of the training documents, drawn by the seed."
    )
    text: TextSettings = Field(default_factory=TextSettings, description="Keys over the experiment's.")
    vector: VectorSettings = Field(default_factory=VectorSettings, description="Keys over the experiment's.")
    selection: SelectionSettings = Field(
        default_factory=SelectionSettings, description="Keys over the experiment's."
    )
    projection: ProjectionSettings | None = Field(default=None, description="Keys over the experiment's.")
    calibration: CalibrationSettings | None = Field(default=None, description="Keys over the experiment's.")
    threshold: ThresholdSettings = Field(
        default_factory=ThresholdSettings, description="Keys over the experiment's."
    )
    evaluation: EvaluationSettings = Field(
        default_factory=EvaluationSettings, description="Keys over the experiment's."
    )


class ComparisonSettings(StrictSettings):
    """Two runs held against each other, category by category."""

    left: str = Field(description="The run that may make fewer errors.")
    right: str = Field(description="The run that it is compared with.")


class Experiment(StrictSettings):
    """An experiment: one corpus and text representation, and the runs that are compared on it."""

    name: str = Field(default="", description="Taken from the file's place under configs/.")
    title: str = Field(description="One line on what is compared.")
    paper: str = Field(default="", description="The paper whose tables this makes, such as zhang_oles_2001.")
    tables: list[str] = Field(
        default_factory=list, description="Ids of the published tables it is compared with."
    )
    figures: list[str] = Field(
        default_factory=list, description="Ids of the papers' figures that are drawn from it."
    )
    notes: str = Field(default="", description="Choices made where the paper is silent.")
    seed: int = Field(default=1, ge=0, description="Seed of everything random that has no seed of its own.")
    corpus: CorpusSettings
    resample: ResampleSettings | None = Field(default=None, description="Random splits or folds.")
    text: TextSettings = Field(default_factory=TextSettings)
    vector: VectorSettings = Field(default_factory=VectorSettings)
    selection: SelectionSettings = Field(default_factory=SelectionSettings)
    projection: ProjectionSettings | None = None
    calibration: CalibrationSettings | None = Field(
        default=None, description="Probabilities for learners that have none of their own; default: none."
    )
    threshold: ThresholdSettings = Field(default_factory=ThresholdSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    runs: dict[str, RunSettings] = Field(
        min_length=1, description="The learners compared, by the name of the run."
    )

    comparisons: dict[str, ComparisonSettings] = Field(
        default_factory=dict, description="Pairs of runs compared by their errors in each category."
    )
    scalings: dict[str, Annotated[list[str], Field(min_length=2)]] = Field(
        default_factory=dict,
        description="Runs on more and more training documents, over which the growth of the time is measured.",
    )

    _folder: Path = PrivateAttr(default=Path())

    @property
    def own_documents(self) -> Path:
        """The file or folder of a user's own documents."""
        return self._folder / self.corpus.path

    def set_folder(self, folder: Path) -> Experiment:
        """The same experiment, with paths seen from a folder."""
        self._folder = folder
        return self

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        """An experiment's results lie in a folder of this name: it must not lead elsewhere."""
        if name and not all(map(names_a_folder, name.split("/"))):
            raise ValueError(f"{name!r} cannot name a folder below results")
        return name

    @field_validator("runs")
    @classmethod
    def _check_run_names(cls, runs: dict[str, RunSettings]) -> dict[str, RunSettings]:
        """A run's model lies in a folder of the run's name, which is replaced whole."""
        for name in runs:
            if not names_a_folder(name):
                raise ValueError(f"{name!r} cannot name a run, whose model's folder is called so")
        return runs

    @model_validator(mode="after")
    def _check_compared_runs(self) -> Experiment:
        named = [run for pair in self.comparisons.values() for run in (pair.left, pair.right)]
        named += [run for runs in self.scalings.values() for run in runs]
        for run in named:
            if run not in self.runs:
                raise ValueError(f"a comparison names the run {run!r}, which is not there")
        return self

    @model_validator(mode="before")
    @classmethod
    def _share_settings_with_runs(cls, data: Any) -> Any:
        """Lay each run's own vector, selection, ... over the experiment's, key by key."""
        if not isinstance(data, dict) or not isinstance(data.get("runs"), dict):
            return data
        data = _with_own_tokenizer(data)
        runs = {
            name: _merge_shared_settings(run, data) if isinstance(run, dict) else run
            for name, run in data["runs"].items()
        }
        return data | {"runs": runs}


def names_a_folder(name: str) -> bool:
    """Whether a text is the name of one visible folder."""
    return (
        bool(name)
        and len(name.encode()) <= 200
        and not name.startswith(".")
        and name.isprintable()
        and "/" not in name
    )


# The default of `text.tokenizer` is one of the papers; a user's documents may be in any script.
OWN_TOKENIZER = "unicode"
OPTIONAL_SECTIONS = ("projection", "calibration")
SHARED_BY_RUNS = ("text", "vector", "selection", *OPTIONAL_SECTIONS, "threshold", "evaluation")


def _with_own_tokenizer(data: dict[str, Any]) -> dict[str, Any]:
    """Choose a tokenizer for any script where a user's own documents come without one."""
    corpus, text = data.get("corpus"), data.get("text", {})
    name = (
        corpus.name if isinstance(corpus, CorpusSettings) else isinstance(corpus, dict) and corpus.get("name")
    )
    if name not in OWN_TEXT_FORMATS or not isinstance(text, dict):
        return data
    return data | {"text": {"tokenizer": OWN_TOKENIZER} | text}


def _merge_shared_settings(run: dict[str, Any], experiment: dict[str, Any]) -> dict[str, Any]:
    filled = dict(run)
    for key in SHARED_BY_RUNS:
        shared, own = experiment.get(key, {}), run.get(key, {})
        if (
            isinstance(shared, dict)
            and isinstance(own, dict)
            and (key not in OPTIONAL_SECTIONS or shared or own)
        ):
            filled[key] = shared | own
    return filled
