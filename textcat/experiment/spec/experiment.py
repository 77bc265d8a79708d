"""The typed model of an experiment file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from textcat.corpora.own.tables import TABLES
from textcat.corpora.registry import OWN_TEXT_FORMATS
from textcat.evaluation.run_measures import EvaluationSettings
from textcat.selection import SelectionSettings
from textcat.settings import GrowingSettings, StrictSettings
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import VectorSettings
from textcat.thresholds.calibration import CalibrationSettings
from textcat.thresholds.rejection import RejectSettings
from textcat.thresholds.rules import ThresholdSettings


class CorpusSettings(StrictSettings):
    """The documents, their categories and their division."""

    name: str
    path: str = ""
    split: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    categories: Literal["all", "train", "train-or-test", "train-and-test"] | list[str] = "train-or-test"
    documents: Literal["all", "labelled"] = "all"
    learn: list[str] | None = None
    single_label: bool = False

    @model_validator(mode="after")
    def _one_label_a_cell(self) -> CorpusSettings:
        """Split the labels of single-label documents only at a separator that is given."""
        if self.single_label and self.name in TABLES:
            self.options.setdefault("label_separator", None)
        return self


class ResampleSettings(StrictSettings):
    """Random splits or folds in place of the collection's own split."""

    kind: Literal["splits", "folds"]
    number: int = Field(ge=2, le=100)
    train_share: float = Field(default=0.8, gt=0, lt=1)
    seed: int = Field(default=1, ge=0)
    stratify: bool = False


class ProjectionSettings(StrictSettings):
    """Latent semantic dimensions in place of words."""

    dimensions: int | Literal["full"]
    computed: int | None = None
    scaling: Literal["none", "inverse"] = "none"
    length: float | None = Field(default=1.0, gt=0)


class SearchSettings(GrowingSettings):
    """A parameter chosen by cross-validation on the training documents."""

    later = ("own_divisions", "stratify")

    parameter: str
    grid: list[float] = Field(min_length=1)
    folds: int = Field(default=5, ge=2)
    use: int | None = Field(default=None, ge=1)
    criterion: Literal["micro.f1", "micro.bep", "accuracy", "log-likelihood", "errors"] = "micro.f1"
    per_category: bool = False
    own_divisions: bool = False
    stratify: bool = False
    seed: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _check_criterion(self) -> SearchSettings:
        if self.per_category and self.criterion != "log-likelihood":
            raise ValueError("with per_category the criterion is log-likelihood")
        if self.own_divisions and not self.per_category:
            raise ValueError("own_divisions needs per_category: true")
        if self.stratify and not self.own_divisions:
            raise ValueError("stratify needs own_divisions: true")
        return self


class RunSettings(GrowingSettings):
    """One learner with its parameters, and settings that differ from the experiment's."""

    later = ("categories_at_once",)

    learner: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    title: str = ""
    search: SearchSettings | None = None
    train_documents: int | None = Field(default=None, ge=1)
    categories_at_once: int | None = Field(default=None, ge=1)
    text: TextSettings = Field(default_factory=TextSettings)
    vector: VectorSettings = Field(default_factory=VectorSettings)
    selection: SelectionSettings = Field(default_factory=SelectionSettings)
    projection: ProjectionSettings | None = None
    calibration: CalibrationSettings | None = None
    reject: RejectSettings | None = None
    threshold: ThresholdSettings = Field(default_factory=ThresholdSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)

    @model_validator(mode="after")
    def _check_divisions(self) -> RunSettings:
        if self.search and self.search.own_divisions and self.selection.folds == "inside":
            raise ValueError(
                "own_divisions of `search` need `selection: {folds: once}`: "
                "with a division for each category, no fold can learn features of its own"
            )
        return self


class ComparisonSettings(StrictSettings):
    """Two runs whose errors are compared, category by category."""

    left: str
    right: str


class Experiment(GrowingSettings):
    """An experiment: one corpus and text representation, and the runs that are compared on it."""

    later = ("variant_of",)

    name: str = ""
    title: str = ""
    paper: str = ""
    tables: list[str] = Field(default_factory=list)
    figures: list[str] = Field(default_factory=list)
    variant_of: str = ""
    notes: str = ""
    imports: list[str] = Field(default_factory=list)
    seed: int = Field(default=1, ge=0)
    corpus: CorpusSettings
    resample: ResampleSettings | None = None
    text: TextSettings = Field(default_factory=TextSettings)
    vector: VectorSettings = Field(default_factory=VectorSettings)
    selection: SelectionSettings = Field(default_factory=SelectionSettings)
    projection: ProjectionSettings | None = None
    calibration: CalibrationSettings | None = None
    reject: RejectSettings | None = None
    threshold: ThresholdSettings = Field(default_factory=ThresholdSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    runs: dict[str, RunSettings] = Field(min_length=1)

    comparisons: dict[str, ComparisonSettings] = Field(default_factory=dict)
    scalings: dict[str, Annotated[list[str], Field(min_length=2)]] = Field(default_factory=dict)

    _folder: Path = PrivateAttr(default=Path())
    _extended: tuple[str, ...] = PrivateAttr(default=())
    _reading: str = PrivateAttr(default="")

    @property
    def extended(self) -> tuple[str, ...]:
        """Names of the experiments that this one varies: the one it names, then those it extends, nearest first."""
        return (self.variant_of, *self._extended) if self.variant_of else self._extended

    @property
    def reading(self) -> str:
        """The reading of the paper that was asked for; empty where the experiment is what its file says."""
        return self._reading

    def set_reading(self, reading: str) -> Experiment:
        """Remember the name of the reading, and return the experiment."""
        self._reading = reading
        return self

    def set_extended(self, names: Iterable[str]) -> Experiment:
        """Set the experiments that this one extends, and return it."""
        self._extended = tuple(names)
        return self

    @property
    def own_documents(self) -> Path:
        """File or folder of the user's own documents."""
        return self._folder / self.corpus.path

    def set_folder(self, folder: Path) -> Experiment:
        """Set the folder that paths are relative to, and return the experiment."""
        self._folder = folder
        return self

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        """Refuse names that are not a path below the results folder."""
        if name and not all(map(is_folder_name, name.split("/"))):
            raise ValueError(f"{name!r} cannot name a folder below results")
        return name

    @field_validator("runs")
    @classmethod
    def _check_run_names(cls, runs: dict[str, RunSettings]) -> dict[str, RunSettings]:
        """Refuse names that cannot be a folder: a run's model is written to a folder with its name."""
        for name in runs:
            if not is_folder_name(name):
                raise ValueError(f"{name!r} cannot name a run: the folder of its model gets this name")
        return runs

    @model_validator(mode="after")
    def _check_folds(self) -> Experiment:
        if self.corpus.name in (*OWN_TEXT_FORMATS, "svmlight") and not self.paper:
            for name, run in self.runs.items():
                if run.selection.folds == "once":
                    raise ValueError(
                        f"run {name!r}: `folds: once` of `selection` is for the experiments of the papers; "
                        "held-out values of your own documents would be too high; write `folds: inside`"
                    )
        return self

    @model_validator(mode="after")
    def _check_temperature(self) -> Experiment:
        settings = [self.calibration, *(run.calibration for run in self.runs.values())]
        if any(each and each.method == "temperature" for each in settings) and not self.corpus.single_label:
            raise ValueError(
                "calibration by temperature is for one category per document; "
                "write `single_label: true` in `corpus`, or `method: platt`"
            )
        return self

    @model_validator(mode="after")
    def _check_reject(self) -> Experiment:
        for name, run in self.runs.items():
            if run.reject and not (self.corpus.single_label and run.calibration):
                raise ValueError(
                    f"run {name!r}: `reject` needs probabilities of one category per document; write "
                    "`single_label: true` in `corpus` and `calibration: {method: temperature}`"
                )
        return self

    @model_validator(mode="after")
    def _check_compared_runs(self) -> Experiment:
        named = [run for pair in self.comparisons.values() for run in (pair.left, pair.right)]
        named += [run for runs in self.scalings.values() for run in runs]
        for run in named:
            if run not in self.runs:
                raise ValueError(f"a comparison names the run {run!r}, which does not exist")
        if self.comparisons and self.resample and self.resample.kind == "splits":
            raise ValueError(
                "`comparisons` count the errors on documents that are each decided once, and random splits overlap: "
                "write `kind: folds` in `resample`, or leave `comparisons` out"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _share_settings_with_runs(cls, data: Any) -> Any:
        """Give each run the experiment's text, vector, ... settings, overridden key by key by its own."""
        if not isinstance(data, dict) or not isinstance(data.get("runs"), dict):
            return data
        data = _with_own_defaults(data)
        runs = {
            name: _merge_shared_settings(run, data) if isinstance(run, dict) else run
            for name, run in data["runs"].items()
        }
        return data | {"runs": runs}


def is_folder_name(name: str) -> bool:
    """Return whether a text can be the name of a visible folder."""
    return (
        bool(name)
        and len(name.encode()) <= 200
        and not name.startswith(".")
        and name.isprintable()
        and "/" not in name
    )


# The general default of `text.tokenizer` comes from a paper; the user's own documents may be in any script.
OWN_TOKENIZER = "unicode"
OPTIONAL_SECTIONS = ("projection", "calibration", "reject")
SHARED_BY_RUNS = ("text", "vector", "selection", *OPTIONAL_SECTIONS, "threshold", "evaluation")


def _with_own_defaults(data: dict[str, Any]) -> dict[str, Any]:
    """Set what an experiment on the user's own documents does not name: a tokenizer for any script, and macro averages.

    Categories without test documents are left out of them and counted.
    """
    corpus, evaluation = data.get("corpus"), data.get("evaluation", {})
    name = (
        corpus.name if isinstance(corpus, CorpusSettings) else isinstance(corpus, dict) and corpus.get("name")
    )
    if name in (*OWN_TEXT_FORMATS, "svmlight") and isinstance(evaluation, dict):
        data = data | {"evaluation": {"zero_division": "skip"} | evaluation}
    if name in OWN_TEXT_FORMATS and isinstance(text := data.get("text", {}), dict):
        data = data | {"text": {"tokenizer": OWN_TOKENIZER} | text}
    return data


def _merge_shared_settings(run: dict[str, Any], experiment: dict[str, Any]) -> dict[str, Any]:
    filled = dict(run)
    for key in SHARED_BY_RUNS:
        shared, own = experiment.get(key, {}), run.get(key, {})
        if (
            isinstance(shared, dict)
            and isinstance(own, dict)
            and (key not in OPTIONAL_SECTIONS or key in experiment or key in run)
        ):
            filled[key] = shared | own
    return filled
