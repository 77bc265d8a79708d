"""Readings of a paper: its open questions with their options, and the answers that its printed numbers identify.

A reading takes one option for every question. The literal reading is computed from the support of the options in words
and never written down, so that no number can choose it. The reconstructed and the held-out readings are what
`textcat multiverse` found; answers.yaml keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from textcat.errors import UsageError
from textcat.published.printed_tables import PAPERS
from textcat.settings import StrictSettings, describe_fault
from textcat.yaml_reader import YamlSource, make_yaml_error, parse_yaml, read_packaged_yaml, read_yaml

Support = Literal["paper", "author", "training", "convention", "none"]
SUPPORTS: tuple[Support, ...] = ("paper", "author", "training", "convention", "none")
"""From the strongest support to none: the paper's own text, another text or program of its authors, training
data (cross-validation, printed counts of words, features or documents), and the habit of the field."""

Assignment = Mapping[str, str]
"""One reading: question -> option."""


class ReadingOption(StrictSettings):
    """One answer to a question: the settings it changes, and what speaks for it."""

    patch: dict[str, Any] = Field(default_factory=dict)
    support: Support
    because: str = Field(min_length=1)
    simplest: bool = False
    implemented: bool = True
    contradicted: bool = False

    @property
    def runs(self) -> bool:
        """Whether the option is tried: it is implemented, and the paper does not contradict it."""
        return self.implemented and not self.contradicted


class Question(StrictSettings):
    """One thing that a paper leaves open; `experiments` are patterns of the experiments it concerns."""

    question: str = Field(min_length=1)
    where: str = Field(min_length=1)
    says: str = Field(min_length=1)
    experiments: tuple[str, ...] = ("*",)
    options: dict[str, ReadingOption] = Field(min_length=2)

    @model_validator(mode="after")
    def _check_options(self) -> Question:
        if sum(option.simplest for option in self.options.values()) > 1:
            raise ValueError("at most one option is the simplest")
        if not self.tried:
            raise ValueError("at least one option must be implemented and not contradicted by the paper")
        return self

    @property
    def tried(self) -> dict[str, ReadingOption]:
        """The options that readings take."""
        return {name: option for name, option in self.options.items() if option.runs}

    @property
    def literal(self) -> str:
        """The option with the strongest support of those tried; of equal ones the simplest, else the first."""

        def rank(name: str) -> tuple[int, bool]:
            option = self.options[name]
            return SUPPORTS.index(option.support), not option.simplest

        return min(self.tried, key=rank)

    @property
    def settings(self) -> set[tuple[str, ...]]:
        """The last two keys of each path that an option sets, such as (selection, scope)."""
        return {tuple(path.split(".")[-2:]) for option in self.options.values() for path in option.patch}

    def shares_setting(self, other: Question) -> bool:
        """Return whether both questions set the same key, of the experiment or of runs."""
        return not self.settings.isdisjoint(other.settings)

    def concerns(self, experiment: str) -> bool:
        """Return whether one of the patterns matches the experiment's name."""
        return any(fnmatchcase(experiment, pattern) for pattern in self.experiments)


class Readings(StrictSettings):
    """All open questions of one paper, or of a user's own experiment (then `paper` is empty).

    `decided_with`: papers whose questions of the same names have the same answers. `screen`: the runs of long
    experiments, by patterns, that the search measures; the others, or all where it names none, are measured under its
    results only.
    """

    paper: str = ""
    decided_with: tuple[str, ...] = ()
    screen: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    questions: dict[str, Question] = Field(min_length=1)

    @property
    def literal(self) -> dict[str, str]:
        """The literal reading."""
        return {name: question.literal for name, question in self.questions.items()}

    @property
    def patches(self) -> dict[str, Any]:
        """What the options of each question set, the literal one first; their reasons may be reworded."""
        return {
            name: [question.literal, {option: entry.patch for option, entry in question.tried.items()}]
            for name, question in self.questions.items()
        }

    @model_validator(mode="after")
    def _check_patches_apart(self) -> Readings:
        """Refuse two questions that set the same thing, since the later one would silently win."""
        owner: dict[str, str] = {}
        for name, question in self.questions.items():
            for path in {path for option in question.options.values() for path in option.patch}:
                other = owner.setdefault(path, name)
                both = [self.questions[question_name].experiments for question_name in (other, name)]
                # Patterns are compared as names of each other.
                overlap = any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in both[0] for b in both[1])
                if other != name and overlap:
                    raise ValueError(f"the questions {other} and {name} both set {path}")
        return self


@cache
def load_readings(paper: str) -> Readings:
    """Return the readings of a paper."""
    if paper not in PAPERS:
        raise UsageError(f"there are no readings of '{paper}'", hint=f"The papers are {', '.join(PAPERS)}.")
    name = f"readings/{paper}.yaml"
    text = files("textcat.published").joinpath(name).read_text(encoding="utf-8")
    return _validate(parse_yaml(text, Path(name)), paper)


def read_readings(path: Path) -> Readings:
    """Read the questions and options of a user's own file."""
    return _validate(read_yaml(path), "")


def _validate(source: YamlSource, paper: str) -> Readings:
    try:
        readings = Readings.model_validate(source.data)
    except ValidationError as error:
        place = source.find_place(error.errors()[0]["loc"])
        hint = "The format is described in docs/readings.md."
        raise make_yaml_error(place, describe_fault(error), hint) from error
    if paper and readings.paper != paper:
        raise make_yaml_error(source.find_place(("paper",)), f"`paper` must be {paper}", "Correct the key.")
    return readings


class Answers(StrictSettings):
    """What the printed numbers of a paper identify: options other than the literal ones, by question.

    `certainty`: the share of resamples of the evidence in which the answer beats the literal option. `held_out`: table
    -> run, or * for the other cells of the table -> the answers found without these cells.
    """

    reconstructed: dict[str, str] = Field(default_factory=dict)
    certainty: dict[str, float] = Field(default_factory=dict)
    held_out: dict[str, dict[str, dict[str, str]]] = Field(default_factory=dict)


WHOLE_TABLE = "*"
ANSWERS_HEADER = """# What the printed numbers of each paper identify; written by textcat multiverse PAPER --pin.
# reconstructed: answers other than the literal ones; certainty: the share of resamples of the evidence in which each
# beats the literal option; held_out: the answers found without a table, or without a run of it.
"""


@cache
def load_answers() -> dict[str, Answers]:
    """Load the answers by paper."""
    contents = read_packaged_yaml("published/readings/answers.yaml") or {}
    return {paper: Answers.model_validate(each) for paper, each in contents.items()}


def find_reading(wanted: str, readings: Readings, table: str | None = None) -> dict[str, str]:
    """Return the answers of a reading that is named `literal`, `reconstructed`, `held-out`, or by QUESTION=OPTION,...

    Questions that QUESTION=OPTION does not name keep their reconstructed answers.
    """
    answers = load_answers().get(readings.paper, Answers())
    reconstructed = {**readings.literal, **answers.reconstructed}
    if wanted == "literal":
        return readings.literal
    if wanted == "reconstructed":
        return reconstructed
    if wanted == "held-out":
        if table not in answers.held_out:
            hint = f"Those of {', '.join(answers.held_out) or 'no table'} are known."
            raise UsageError(
                f"there is no held-out reading of {table or 'an experiment without a table'}", hint=hint
            )
        return {**readings.literal, **answers.held_out[table].get(WHOLE_TABLE, {})}
    chosen = dict(reconstructed)
    for part in wanted.split(","):
        name, _, option = part.strip().partition("=")
        if name not in readings.questions or option not in readings.questions[name].options:
            known = readings.questions[name].options if name in readings.questions else readings.questions
            hint = f"Write literal, reconstructed, held-out, or QUESTION=OPTION,... Known here: {', '.join(known)}."
            raise UsageError(f"not a reading: {part.strip()}", where=readings.paper, hint=hint)
        chosen[name] = option
    return chosen
