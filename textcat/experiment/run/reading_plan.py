"""List the readings of an experiment: all of them, or the default, its neighbours and a seeded sample."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from textcat.errors import UsageError
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import (
    derive_experiment_name,
    find_experiment,
    read_experiment_source,
    validate_experiment,
)
from textcat.experiment.spec.patches import apply_patch, check_patch_path
from textcat.published.readings import Assignment, Question, Readings
from textcat.store import hash_json
from textcat.yaml_reader import YamlSource

SAMPLE_BATCH = 32
# Where in the order of the steps a setting comes in: readings that share early steps run one after another.
STEP_OF_SECTION = {
    "corpus": 0, "text": 0, "resample": 1, "vector": 1, "selection": 2, "projection": 3, "threshold": 5,
    "calibration": 5, "evaluation": 6, "comparisons": 7,
}  # fmt: skip
TRAINING_STEP = 4


@dataclass(frozen=True)
class ReadableExperiment:
    """An experiment's file with the questions that concern it."""

    name: str
    source: YamlSource
    readings: Readings

    @classmethod
    def load(cls, wanted: str, readings: Readings) -> ReadableExperiment:
        """Return an experiment by name or path, after checking every patch path of the readings."""
        for question in readings.questions.values():
            for option in question.options.values():
                for path in option.patch:
                    check_patch_path(path)
        file = find_experiment(wanted)
        source = read_experiment_source(file)
        source.data.setdefault("name", derive_experiment_name(file))
        committed = validate_experiment(source)
        return cls(committed.name, source, readings)

    @property
    def committed(self) -> Experiment:
        """The experiment as its file has it."""
        return self.validate(self.source.data)

    @property
    def questions(self) -> dict[str, Question]:
        """The questions whose patterns match this experiment."""
        return {name: q for name, q in self.readings.questions.items() if q.concerns(self.name)}

    def validate(self, data: dict[str, Any]) -> Experiment:
        """Check patched data as an experiment file is checked."""
        experiment = validate_experiment(YamlSource(data, self.source.places))
        place = self.source.find_place(())
        return experiment.set_folder(place.file.parent) if place else experiment

    def apply(self, reading: Assignment) -> Experiment:
        """Return the experiment under a reading; questions it does not name take their default."""
        chosen = {name: reading.get(name, question.default) for name, question in self.questions.items()}
        return self.apply_options(chosen)

    def apply_options(self, reading: Assignment) -> Experiment:
        """Return the experiment with the options of these questions alone; others stay as the file has them."""
        data = self.source.data
        for name, option in reading.items():
            data = apply_patch(data, self.readings.questions[name].options[option].patch)
        try:
            return self.validate(data)
        except UsageError as error:
            named = ", ".join(f"{name}={option}" for name, option in reading.items())
            hint = "Correct the patch of one of these options in the file of readings."
            raise UsageError(f"under {named}: {error.what}", where=self.name, hint=hint) from error

    def find_departures(self) -> list[str]:
        """The questions that the file answers otherwise than the default reading, or leaves to a setting's default."""
        committed = self.identify(self.committed)
        return [
            name
            for name, question in self.questions.items()
            if self.identify(self.apply_options({name: question.default})) != committed
        ]

    def find_effective_options(self) -> dict[str, dict[str, str]]:
        """Question -> option -> the option it equals here, for questions with options that differ here.

        An option that gives the same settings as an earlier one is counted as that one; the default comes first.
        """
        found = {}
        for name, question in self.questions.items():
            kept: dict[str, str] = {}
            same: dict[str, str] = {}
            for option in sorted(question.tried, key=lambda each: each != question.default):
                key = self.identify(self.apply({name: option}))
                same[option] = kept.setdefault(key, option)
            if len(kept) > 1:
                found[name] = same
        return found

    def find_committed_options(self) -> dict[str, str | None]:
        """The option of each question that the file takes; None where its setting is left out or another value."""
        wanted = self.identify(self.committed)
        return {
            name: next(
                (
                    option
                    for option in question.options
                    if self.identify(self.apply_options({name: option})) == wanted
                ),
                None,
            )
            for name, question in self.questions.items()
        }

    @staticmethod
    def identify(experiment: Experiment) -> str:
        """The sha256 of an experiment's settings, titles and notes left out."""
        left_out = {"title", "notes", "figures", "tables", "name"}
        return hash_json(experiment.model_dump(mode="json", exclude=left_out))


@dataclass(frozen=True)
class ReadingSpace:
    """The options that make a difference in any of some experiments, in the order of the questions."""

    readings: Readings
    options: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, experiments: Iterable[ReadableExperiment], readings: Readings) -> ReadingSpace:
        """Collect the options of all experiments; the default of each question comes first."""
        found: dict[str, dict[str, None]] = {}
        for experiment in experiments:
            for name, same in experiment.find_effective_options().items():
                found.setdefault(name, {}).update(dict.fromkeys(same.values()))
        ordered = {name: list(found[name]) for name in readings.questions if name in found}
        return cls(readings, ordered)

    @property
    def size(self) -> int:
        """The number of readings there are."""
        return prod(len(options) for options in self.options.values())

    @property
    def default(self) -> dict[str, str]:
        """The default reading."""
        return {name: self.readings.questions[name].default for name in self.options}

    def list_neighbours(self) -> list[dict[str, str]]:
        """The readings that differ from the default in one question."""
        default = self.default
        return [
            default | {name: option}
            for name, options in self.options.items()
            for option in options
            if option != default[name]
        ]

    def iterate(self, seed: int) -> Iterator[dict[str, str]]:
        """Yield every reading once: the default, its neighbours, then the others in a random order of the seed."""
        first = [self.default, *self.list_neighbours()]
        yield from first
        seen = {tuple(reading.values()) for reading in first}
        if self.size <= 4096:
            others = [choice for choice in itertools.product(*self.options.values()) if choice not in seen]
            random.Random(seed).shuffle(others)  # noqa: S311
            yield from (dict(zip(self.options, choice, strict=True)) for choice in others)
            return
        generator = random.Random(seed)  # noqa: S311
        while len(seen) < self.size:
            choice = tuple(generator.choice(list(options)) for options in self.options.values())
            if choice not in seen:
                seen.add(choice)
                yield dict(zip(self.options, choice, strict=True))

    def select(self, number: int | None, seed: int) -> list[dict[str, str]]:
        """Return `number` readings (None: all); too few for every neighbour, a seeded choice of neighbours."""
        neighbours = self.list_neighbours()
        if number is not None and 0 < number - 1 < len(neighbours):
            chosen = sorted(random.Random(seed).sample(range(len(neighbours)), number - 1))  # noqa: S311
            return [self.default, *(neighbours[index] for index in chosen)]
        return list(itertools.islice(self.iterate(seed), number))

    def batches(self, readings: Sequence[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
        """Yield readings in batches: the default, its neighbours, then the sample; sorted so that steps are shared."""
        neighbours = 1 + len(self.list_neighbours())
        yield list(readings[:1])
        yield self.sort(readings[1:neighbours])
        for start in range(neighbours, len(readings), SAMPLE_BATCH):
            yield self.sort(readings[start : start + SAMPLE_BATCH])

    def sort(self, readings: Iterable[dict[str, str]]) -> list[dict[str, str]]:
        """Order readings by the options of the earliest steps first."""
        names = sorted(self.options, key=lambda name: find_first_step(self.readings.questions[name]))
        return sorted(readings, key=lambda reading: [list(self.options[n]).index(reading[n]) for n in names])


def find_first_step(question: Question) -> int:
    """The earliest step that a question's options change."""
    paths = [path.split(".") for option in question.options.values() for path in option.patch]
    sections = [keys[2] if keys[0] == "runs" else keys[0] for keys in paths]
    return min((STEP_OF_SECTION.get(section, TRAINING_STEP) for section in sections), default=TRAINING_STEP)


def project_reading(reading: Assignment, same: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The part of a reading that makes a difference in one experiment (see `find_effective_options`)."""
    return {name: options.get(reading[name], reading[name]) for name, options in same.items()}
