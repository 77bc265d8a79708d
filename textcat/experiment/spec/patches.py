"""Patches of experiment settings: dotted paths to values, checked against the typed model.

`text.stem` sets a key of the experiment. `runs.WHICH.parameters.lam` sets a key of runs, where WHICH is `*` (all
runs), names separated by `|`, or `learner:` and learners separated by `|`. A path into a section that an experiment
may leave out (projection, calibration, resample, a run's search) changes nothing where the section is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Any, get_args

from pydantic import BaseModel

from textcat.errors import UsageError
from textcat.experiment.spec.experiment import OPTIONAL_SECTIONS, Experiment, RunSettings
from textcat.experiment.spec.learner_table import LEARNERS
from textcat.linear.algorithm_options import ColumnOptions, GradientOptions, RowOptions
from textcat.yaml_reader import suggest_names

NOT_CREATED = {*OPTIONAL_SECTIONS, "resample", "search"}
FREE_SECTIONS = {("corpus", "options")}
OPTION_KINDS = (ColumnOptions, RowOptions, GradientOptions)
Patch = Mapping[str, Any]


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
    """The learners that a selector of runs can mean."""
    if not which.startswith("learner:"):
        return list(LEARNERS)
    named = which.removeprefix("learner:").split("|")
    for name in named:
        if name not in LEARNERS:
            raise _make_path_error(path, f"no such learner: {name}. {suggest_names(name, LEARNERS)}")
    return named


def _check_keys(model: type[BaseModel], keys: list[str], path: str) -> None:
    """Follow the keys through nested settings."""
    for position, key in enumerate(keys):
        if key not in model.model_fields:
            raise _make_path_error(path, f"no such key: {key}. {suggest_names(key, model.model_fields)}")
        if position == len(keys) - 1:
            return
        if (*keys[:position], key) in FREE_SECTIONS:
            return
        annotation = model.model_fields[key].annotation
        if key == "comparisons":
            _check_keys(get_args(annotation)[1], keys[position + 2 :], path)
            return
        nested = next((each for each in (annotation, *get_args(annotation)) if _is_model(each)), None)
        if nested is None:
            raise _make_path_error(path, f"{key} has no parts")
        model = nested


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _make_path_error(path: str, what: str) -> UsageError:
    return UsageError(f"not a setting of experiments: {what}", where=path, hint="Correct the patch's path.")


def apply_patch(data: Mapping[str, Any], patch: Patch) -> dict[str, Any]:
    """Return an experiment's plain data with the patch's values in place."""
    patched = deepcopy(dict(data))
    for path, value in patch.items():
        keys = path.split(".")
        if keys[0] == "runs":
            for run in _select_runs(patched.get("runs", {}), keys[1]):
                if keys[2] != "parameters" or _takes_parameter(run, keys[3]):
                    _set_value(run, keys[2:], value)
        else:
            _set_value(patched, keys, value)
    return patched


def _select_runs(runs: Mapping[str, Any], which: str) -> list[dict[str, Any]]:
    if which == "*":
        return list(runs.values())
    if which.startswith("learner:"):
        learners = set(which.removeprefix("learner:").split("|"))
        return [run for run in runs.values() if run.get("learner") in learners]
    return [runs[name] for name in which.split("|") if name in runs]


def _takes_parameter(run: Mapping[str, Any], name: str) -> bool:
    """Whether a run's learner has such a parameter; `runs.*` leaves the other runs alone."""
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
