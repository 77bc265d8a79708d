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

    name: str = Field(
        description="A collection's name (see `textcat list corpora`), or the format of your own documents: "
        "csv, tsv, jsonl, fasttext, folders, svmlight or rcv1-like."
    )
    path: str = Field(
        default="", description="File or folder of your own documents, relative to the experiment file."
    )
    split: str = Field(default="", description="The collection's own split, such as modapte.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the collection's reader.")
    categories: Literal["all", "train", "train-or-test", "train-and-test"] | list[str] = Field(
        default="train-or-test",
        description="Categories kept: all, those with a training document, with a training or test document, "
        "with both, or the ones listed.",
    )
    documents: Literal["all", "labelled"] = Field(
        default="all", description="All documents, or only those with a kept category."
    )
    learn: list[str] | None = Field(
        default=None,
        description="The categories to learn. Other categories only decide which documents count as labelled.",
    )
    single_label: bool = Field(
        default=False,
        description="Each document has one category; this is checked. Predict the category with the highest "
        "score.",
    )

    @model_validator(mode="after")
    def _one_label_a_cell(self) -> CorpusSettings:
        """Split the labels of single-label documents only at a separator that is given."""
        if self.single_label and self.name in TABLES:
            self.options.setdefault("label_separator", None)
        return self


class ResampleSettings(StrictSettings):
    """Random splits or folds in place of the collection's own split."""

    kind: Literal["splits", "folds"] = Field(
        description="Independent random splits, or folds that test every document once."
    )
    number: int = Field(ge=2, le=100, description="Number of splits or folds.")
    train_share: float = Field(
        default=0.8, gt=0, lt=1, description="Share of training documents in a random split."
    )
    seed: int = Field(default=1, ge=0, description="Seed of the splits or folds.")
    stratify: bool = Field(default=False, description="Give each part the same shares of categories.")


class ProjectionSettings(StrictSettings):
    """Latent semantic dimensions in place of words."""

    dimensions: int | Literal["full"] = Field(
        description="Number of leading dimensions that the learner uses."
    )
    computed: int | None = Field(
        default=None,
        description="Number of dimensions to compute, so that several runs share them; default: those used.",
    )
    scaling: Literal["none", "inverse"] = Field(
        default="none", description="Project on U (none) or on U divided by the singular values (inverse)."
    )
    length: float | None = Field(
        default=1.0, gt=0, description="Length of projected documents; null does not change it."
    )


class SearchSettings(GrowingSettings):
    """A parameter chosen by cross-validation on the training documents."""

    later = ("own_divisions", "stratify")

    parameter: str = Field(description="The learner's parameter to choose.")
    grid: list[float] = Field(min_length=1, description="Values to try.")
    folds: int = Field(default=5, ge=2, description="Number of folds of the training documents.")
    use: int | None = Field(default=None, ge=1, description="Number of folds that are run; default: all.")
    criterion: Literal["micro.f1", "micro.bep", "accuracy", "log-likelihood", "errors"] = Field(
        default="micro.f1",
        description="Measure on the held-out folds that is maximised (for errors: minimised).",
    )
    per_category: bool = Field(
        default=False,
        description="Choose a value for each category by the held-out likelihood, not one for all.",
    )
    own_divisions: bool = Field(
        default=False,
        description="With `per_category`: divide the documents into folds separately for each category.",
    )
    stratify: bool = Field(
        default=False,
        description="With `own_divisions`: divide the documents of a category and the others evenly among the "
        "folds.",
    )
    seed: int = Field(default=1, ge=0, description="Seed of the folds.")

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

    learner: str = Field(description="A learner's name (see `textcat list learners`).")
    parameters: dict[str, Any] = Field(default_factory=dict, description="The learner's own parameters.")
    title: str = Field(default="", description="Name of the run in tables.")
    search: SearchSettings | None = Field(
        default=None, description="Choose one parameter by cross-validation."
    )
    train_documents: int | None = Field(
        default=None, ge=1, description="Number of training documents to draw by the seed; default: all."
    )
    categories_at_once: int | None = Field(
        default=None,
        ge=1,
        description="Number of categories that are trained together; 1 gives the seconds of each. Default: "
        "the learner's.",
    )
    text: TextSettings = Field(
        default_factory=TextSettings, description="Keys that override the experiment's."
    )
    vector: VectorSettings = Field(
        default_factory=VectorSettings, description="Keys that override the experiment's."
    )
    selection: SelectionSettings = Field(
        default_factory=SelectionSettings, description="Keys that override the experiment's."
    )
    projection: ProjectionSettings | None = Field(
        default=None, description="Keys that override the experiment's."
    )
    calibration: CalibrationSettings | None = Field(
        default=None, description="Keys that override the experiment's."
    )
    reject: RejectSettings | None = Field(default=None, description="Keys that override the experiment's.")
    threshold: ThresholdSettings = Field(
        default_factory=ThresholdSettings, description="Keys that override the experiment's."
    )
    evaluation: EvaluationSettings = Field(
        default_factory=EvaluationSettings, description="Keys that override the experiment's."
    )

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

    left: str = Field(description="The run that may make fewer errors.")
    right: str = Field(description="The run that it is compared with.")


class Experiment(GrowingSettings):
    """An experiment: one corpus and text representation, and the runs that are compared on it."""

    later = ("variant_of",)

    name: str = Field(default="", description="Default: the path of the file below configs/.")
    title: str = Field(
        default="", description="What is compared, in one line; default: the name of the file."
    )
    paper: str = Field(
        default="", description="The paper whose tables this reproduces, such as zhang_oles_2001."
    )
    tables: list[str] = Field(
        default_factory=list, description="Ids of the published tables to compare with."
    )
    figures: list[str] = Field(default_factory=list, description="Ids of the papers' figures to draw.")
    variant_of: str = Field(
        default="",
        description="The experiment that this is a changed copy of (`textcat copy`): its numbers are compared "
        "with those printed for that one.",
    )
    notes: str = Field(default="", description="Choices where the paper says nothing.")
    imports: list[str] = Field(
        default_factory=list,
        description="Your own modules that register tokenizers, scores, losses, learners, rules, measures or "
        "collections.",
    )
    seed: int = Field(default=1, ge=0, description="Seed of all random choices without their own seed.")
    corpus: CorpusSettings
    resample: ResampleSettings | None = Field(default=None, description="Random splits or folds.")
    text: TextSettings = Field(default_factory=TextSettings)
    vector: VectorSettings = Field(default_factory=VectorSettings)
    selection: SelectionSettings = Field(default_factory=SelectionSettings)
    projection: ProjectionSettings | None = None
    calibration: CalibrationSettings | None = Field(
        default=None, description="Probabilities for learners without their own; default: none."
    )
    reject: RejectSettings | None = Field(
        default=None,
        description="Give no class to documents whose best probability is low (`single_label`, with "
        "`calibration`).",
    )
    threshold: ThresholdSettings = Field(default_factory=ThresholdSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    runs: dict[str, RunSettings] = Field(
        min_length=1, description="The learners to compare, by name of the run."
    )

    comparisons: dict[str, ComparisonSettings] = Field(
        default_factory=dict, description="Pairs of runs to compare by their errors in each category."
    )
    scalings: dict[str, Annotated[list[str], Field(min_length=2)]] = Field(
        default_factory=dict,
        description="Runs on increasing numbers of training documents, to measure the growth of training "
        "time.",
    )

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
