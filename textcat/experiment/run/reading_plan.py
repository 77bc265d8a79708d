"""Apply readings to experiments.

A reading patches settings of the experiment. A patch maps dotted paths to values, checked against the typed model:
`text.stem` sets a key of the experiment. `runs.WHICH.parameters.lam` sets a key of runs, where WHICH is `*` (all
runs), names or patterns such as `f1_*` separated by `|`, or `learner:` and learners separated by `|`. A path into a
section that an experiment may leave out (projection, calibration, resample, a run's search) changes nothing where the
section is absent. A setting that only other options of a question name is left out, so that it has its default.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, get_origin

from pydantic import BaseModel

from textcat.errors import UsageError
from textcat.experiment.spec.experiment import OPTIONAL_SECTIONS, Experiment, RunSettings
from textcat.experiment.spec.loading import (
    derive_experiment_name,
    find_experiment,
    find_model,
    get_part_type,
    load_experiment,
    read_experiment_source,
    validate_experiment,
)
from textcat.learners.parameters import LEARNERS
from textcat.linear.algorithm_options import ColumnOptions, GradientOptions, RowOptions
from textcat.published.printed_tables import PAPERS
from textcat.published.readings import (
    Assignment,
    Question,
    Readings,
    find_reading,
    load_answers,
    load_readings,
)
from textcat.store import hash_json
from textcat.yaml_reader import YamlSource, suggest_names

Patch = Mapping[str, Any]
log = logging.getLogger(__name__)
Key = tuple[str, ...]


NOT_CREATED = {*OPTIONAL_SECTIONS, "resample", "search"}
OPTION_KINDS = (ColumnOptions, RowOptions, GradientOptions)


def check_patch_path(path: str) -> None:
    """Refuse a path that no experiment has."""
    keys = path.split(".")
    if keys[0] != "runs":
        _check_keys(Experiment, keys, path)
        return
    if len(keys) < 3:
        raise _make_path_error(path, "a path into runs is runs.WHICH.KEY")
    learners = _list_learners(keys[1], path)
    if keys[2] != "parameters":
        _check_keys(RunSettings, keys[2:], path)
        return
    if len(keys) < 4:
        raise _make_path_error(path, "parameters are set one by one")
    models = {LEARNERS[name].parameters for name in learners}
    _check_parameter(keys[3:], models, path)


def _check_parameter(keys: list[str], models: Iterable[type[BaseModel]], path: str) -> None:
    known = {name for model in models for name in model.model_fields}
    if keys[0] not in known:
        raise _make_path_error(path, f"no such parameter: {keys[0]}. {suggest_names(keys[0], known)}")
    if keys[0] == "options" and len(keys) == 2:
        names = {field.name for kind in OPTION_KINDS for field in fields(kind)}
        if keys[1] not in names:
            raise _make_path_error(path, f"no such option: {keys[1]}. {suggest_names(keys[1], names)}")
    elif len(keys) > 1:
        raise _make_path_error(path, f"{keys[0]} has no parts")


def _list_learners(which: str, path: str) -> list[str]:
    """Return the learners that a selector of runs can mean."""
    if not which.startswith("learner:"):
        return list(LEARNERS)
    named = which.removeprefix("learner:").split("|")
    for name in named:
        if name not in LEARNERS:
            raise _make_path_error(path, f"no such learner: {name}. {suggest_names(name, LEARNERS)}")
    return named


def _check_keys(model: type[BaseModel], keys: list[str], path: str) -> None:
    """Follow the keys through nested settings; what a mapping of any values holds is not checked."""
    annotation: Any = model
    for position, key in enumerate(keys):
        section = find_model(annotation)
        if section and key not in section.model_fields:
            raise _make_path_error(path, f"no such key: {key}. {suggest_names(key, section.model_fields)}")
        if not section and get_origin(annotation) is not dict:
            raise _make_path_error(path, f"{keys[position - 1]} has no parts")
        annotation = get_part_type(annotation, key)
        if annotation is Any:
            return


def _make_path_error(path: str, what: str) -> UsageError:
    return UsageError(f"not a setting of experiments: {what}", where=path, hint="Correct the patch's path.")


def apply_patch(data: Mapping[str, Any], patch: Patch, left_out: Collection[str] = ()) -> dict[str, Any]:
    """Return an experiment's plain data with the patch's values in place and without the settings `left_out`.

    What a run leaves out it takes from the experiment, and what the experiment leaves out has its default.
    """
    patched = deepcopy(dict(data))
    for path in sorted(left_out):
        for section, keys in _find_sections(patched, path):
            _remove_value(section, keys)
    for path, value in patch.items():
        for section, keys in _find_sections(patched, path):
            _set_value(section, keys, value)
    return patched


def _find_sections(data: dict[str, Any], path: str) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the experiment, or each of its runs that a path means, with the keys within it."""
    keys = path.split(".")
    if keys[0] != "runs":
        yield data, keys
        return
    for run in _select_runs(data.get("runs", {}), keys[1]):
        if keys[2] != "parameters" or _takes_parameter(run, keys[3]):
            yield run, keys[2:]


def _select_runs(runs: Mapping[str, Any], which: str) -> list[dict[str, Any]]:
    if which.startswith("learner:"):
        learners = set(which.removeprefix("learner:").split("|"))
        return [run for run in runs.values() if run.get("learner") in learners]
    patterns = which.split("|")
    return [run for name, run in runs.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _takes_parameter(run: Mapping[str, Any], name: str) -> bool:
    """Return whether a run's learner has such a parameter; `runs.*` does not change the other runs."""
    learner = LEARNERS.get(str(run.get("learner")))
    return learner is None or name in learner.parameters.model_fields


def _set_value(section: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        if not isinstance(section.get(key), dict):
            if key in NOT_CREATED or key == "comparisons":
                return
            section[key] = {}
        section = section[key]
    section[keys[-1]] = deepcopy(value)


def _remove_value(section: dict[str, Any], keys: list[str]) -> None:
    for key in keys[:-1]:
        section = section.get(key) or {}
    section.pop(keys[-1], None)


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
        name = self.source.data.get("variant_of") or self.name
        return {key: q for key, q in self.readings.questions.items() if q.concerns(name)}

    def validate(self, data: dict[str, Any]) -> Experiment:
        """Check patched data as an experiment file is checked."""
        experiment = validate_experiment(YamlSource(data, self.source.places))
        place = self.source.find_place(())
        return experiment.set_folder(place.file.parent) if place else experiment

    def apply(self, reading: Assignment) -> Experiment:
        """Return the experiment under a reading; questions it does not name take their literal option."""
        chosen = {name: reading.get(name, question.literal) for name, question in self.questions.items()}
        return self.apply_options(chosen)

    def apply_options(self, reading: Assignment) -> Experiment:
        """Return the experiment with the options of these questions alone; others stay as the file has them."""
        data = self.source.data
        for name, option in reading.items():
            options = self.readings.questions[name].options
            others = {path for other in options.values() for path in other.patch}
            data = apply_patch(data, options[option].patch, others - set(options[option].patch))
        try:
            return self.validate(data)
        except UsageError as error:
            named = ", ".join(f"{name}={option}" for name, option in reading.items())
            hint = "Correct the patch of one of these options in the file of readings."
            raise UsageError(f"under {named}: {error.what}", where=self.name, hint=hint) from error

    def find_departures(self, reading: Assignment) -> list[str]:
        """Return the questions that the file answers differently from a reading or does not answer."""
        committed = self.identify(self.committed)
        return [
            name
            for name in self.questions
            if self.identify(self.apply_options({name: reading[name]})) != committed
        ]

    def find_effective_options(self) -> dict[str, dict[str, str]]:
        """Map questions with options that differ here to a mapping from each option to the one it equals here.

        An option that gives the same settings as an earlier one is counted as that one; the literal one comes first.
        Where another question sets the same thing for other runs, options may differ only under one of its answers.
        """
        found = {}
        for name, question in self.questions.items():
            kept: dict[Key, str] = {}
            same: dict[str, str] = {}
            others = [
                (each, q) for each, q in self.questions.items() if each != name and q.shares_setting(question)
            ]
            contexts = [{}, *({each: option} for each, other in others for option in other.tried)]
            for option in sorted(question.tried, key=lambda each: each != question.literal):
                key = tuple(self.identify(self.apply({**context, name: option})) for context in contexts)
                same[option] = kept.setdefault(key, option)
            if len(kept) > 1:
                found[name] = same
        return found

    def find_committed_options(self) -> dict[str, str | None]:
        """Return the file's option for each question; None where the setting is left out or has another value."""
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
        """Return the sha256 of an experiment's settings without titles and notes."""
        left_out = {"title", "notes", "figures", "tables", "name"}
        return hash_json(experiment.model_dump(mode="json", exclude=left_out))


def project_reading(reading: Assignment, same: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the options of a reading that make a difference in one experiment (see `find_effective_options`)."""
    return {name: options.get(reading[name], reading[name]) for name, options in same.items()}


def load_under_reading(wanted: str, reading: str) -> Experiment:
    """Return an experiment of a paper under a reading: literal, reconstructed, held-out, or QUESTION=OPTION,..."""
    committed = load_experiment(wanted)
    if committed.paper not in PAPERS:
        hint = "Only experiments of the papers have readings; `textcat list experiments` names them."
        raise UsageError("there are no readings for this experiment", where=wanted, hint=hint)
    readings = load_readings(committed.paper)
    answers = find_reading(reading, readings, next(iter(committed.tables), None))
    return ReadableExperiment.load(wanted, readings).apply(answers).set_reading(reading)


def answer_questions(wanted: str) -> list[dict[str, Any]]:
    """Return the open questions that concern an experiment of a paper: each option with those whose answer it is."""
    committed = load_experiment(wanted)
    if committed.paper not in PAPERS:
        return []
    readings = load_readings(committed.paper)
    readable = ReadableExperiment.load(wanted, readings)
    of_file = readable.find_committed_options()
    certainty: dict[str, float] = {}
    found = {"literal": readings.literal}
    if answers := load_answers().get(committed.paper):
        certainty = answers.certainty
        found["reconstructed"] = find_reading("reconstructed", readings)
        if (table := next(iter(committed.tables), "")) in answers.held_out:
            found["held out"] = find_reading("held-out", readings, table)
    answered = []
    for name, question in readable.questions.items():
        given: dict[str, list[str]] = {option: [] for option in question.options}
        if (option := of_file[name]) is not None:
            given[option].append("this file")
        for reading, assignment in found.items():
            sure = name in certainty and reading == "reconstructed"
            given[assignment[name]].append(f"{reading} {certainty[name]:.0%}" if sure else reading)
        answered.append(
            {"name": name, "question": question.question, "says": question.says, "options": given}
        )
    return answered
