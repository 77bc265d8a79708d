"""Find experiment files by path or name, merge `extends:`, and read them into the typed model."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from textcat.errors import UsageError
from textcat.experiment.spec.config_files import config_folders, experiment_files
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.learners import LEARNERS, parameters_of
from textcat.experiment.steps.probabilities import check_probabilities
from textcat.yaml_reader import Keys, Place, Source, did_you_mean, error_at, read_source


def read_experiment_source(path: Path) -> Source:
    """The file's data over the data of what it extends, with the place of every key."""
    return _read(path, ())


def _read(path: Path, chain: tuple[Path, ...]) -> Source:
    resolved = path.resolve()
    if resolved in chain:
        circle = " -> ".join(p.name for p in (*chain, resolved))
        raise UsageError(
            f"experiments extend each other in a circle: {circle}",
            where=str(path),
            hint="Take one of the `extends` out.",
        )
    source = read_source(path)
    extended = source.data.pop("extends", None)
    if extended is None:
        return source
    place = source.places[("extends",)]
    parents = extended if isinstance(extended, list) else [extended]
    if not parents or not all(isinstance(parent, str) for parent in parents):
        raise error_at(
            place,
            "`extends` names one experiment file, or a list of them",
            hint="Write `extends: FILE.yaml` or `extends: [A.yaml, B.yaml]`.",
        )
    below: Source | None = None
    for parent in parents:
        parent_path = path.parent / parent
        if not parent_path.is_file():
            raise error_at(place, f"there is no file {parent_path}", "The path is relative to this file.")
        read = _read(parent_path, (*chain, resolved))
        below = read if below is None else _overlay(below, read)
    return source if below is None else _overlay(below, source)


def _overlay(below: Source, above: Source) -> Source:
    places = dict(below.places)
    data = _merge(below.data, above.data, (), above.places, places)
    places[()] = above.places[()]
    return Source(data, places)


def _merge(
    below: dict[str, Any],
    above: dict[str, Any],
    keys: Keys,
    from_above: dict[Keys, Place],
    places: dict[Keys, Place],
) -> dict[str, Any]:
    """Mappings merge key by key; anything else replaces; null takes a key away."""
    merged = dict(below)
    for name, value in above.items():
        here = (*keys, name)
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merge(merged[name], value, here, from_above, places)
            places[here] = from_above[here]
            continue
        for known in [k for k in places if k[: len(here)] == here]:
            del places[known]
        if value is None:
            merged.pop(name, None)
            continue
        merged[name] = value
        places.update({k: v for k, v in from_above.items() if k[: len(here)] == here})
    return merged


__all__ = ["config_folders", "experiment_files", "find_experiment", "load_experiment", "name_of", "validated"]

HOW_TO_FIND_ONE = (
    "`textcat list experiments` names those there are; "
    "`textcat init DOCUMENTS` writes one for documents of yours."
)


def find_experiment(wanted: str) -> Path:
    """The file of an experiment given by path or by name."""
    path = Path(wanted)
    if path.is_file():
        return path
    known = experiment_files()
    name = wanted.removesuffix(".yaml").removeprefix("configs/")
    if name in known:
        return known[name]
    if (beside := Path(f"{wanted}.yaml")).is_file():
        return beside
    what = f"there is no file {wanted}" if path.suffix == ".yaml" else f"there is no experiment {wanted!r}"
    near = get_close_matches(name, known, n=3)
    raise UsageError(what, hint=f"Did you mean {' or '.join(near)}?" if near else HOW_TO_FIND_ONE)


def name_of(path: Path) -> str:
    """An experiment's name: its place under a configs folder, or the file's own name."""
    for folder in config_folders():
        if path.resolve().is_relative_to(folder.resolve()):
            return path.resolve().relative_to(folder.resolve()).with_suffix("").as_posix()
    return path.stem


def load_experiment(wanted: str | Path) -> Experiment:
    """The resolved experiment; every fault in the file is one message with its place."""
    path = find_experiment(str(wanted))
    source = read_experiment_source(path)
    source.data.setdefault("name", name_of(path))
    return validated(source).placed(path.parent)


def validated(source: Source) -> Experiment:
    """Check plain data against the typed model."""
    try:
        experiment = Experiment.model_validate(source.data)
    except ValidationError as error:
        raise _explain(error, source) from error
    _check_runs(experiment, source)
    return experiment


def _check_runs(experiment: Experiment, source: Source) -> None:
    """Check each run's learner and parameters, which the registry of learners knows."""
    for name, run in experiment.runs.items():
        try:
            parameters_of(run.learner, run.parameters)
            check_probabilities(run)
        except KeyError as error:
            raise error_at(
                source.nearest(("runs", name, "learner")),
                f"there is no learner {run.learner!r}",
                str(error.args[0]),
            ) from error
        except ValidationError as error:
            raise _explain(error, source, ("runs", name, "parameters")) from error
        except UsageError as error:
            raise error_at(source.nearest(("runs", name)), error.what, error.hint) from error


def _explain(error: ValidationError, source: Source, above: tuple[str | int, ...] = ()) -> UsageError:
    # A misspelt key is also a missing one: the misspelling is what to say.
    faults = error.errors()
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    keys = (*above, *(part for part in first["loc"] if _is_key(part, source)))
    place = source.nearest(keys)
    if first["type"] == "extra_forbidden":
        known = _fields_at(error, first["loc"])
        return error_at(place, f"unknown key {keys[-1]!r}", did_you_mean(str(keys[-1]), known))
    if first["type"] == "missing":
        where = ".".join(map(str, keys[:-1])) or "the experiment"
        return error_at(
            source.nearest(keys[:-1]),
            f"the key {keys[-1]!r} is missing in {where}",
            hint="Add it; `textcat show --schema` says what it takes.",
        )
    what = f"{'.'.join(map(str, keys)) or 'experiment'}: {first['msg'][0].lower()}{first['msg'][1:]}"
    now = f"It is {first['input']!r} now. " if isinstance(first["input"], str | int | float | bool) else ""
    return error_at(place, what, f"{now}`textcat show --schema` says what it takes.")


def _is_key(part: str | int, source: Source) -> bool:
    """Tell real keys from the names that pydantic gives to the branches of a union."""
    return isinstance(part, int) or not (
        part.startswith(("literal[", "list[", "constrained")) or part in {"int", "str"}
    )


def _fields_at(error: ValidationError, location: tuple[int | str, ...]) -> list[str]:
    """The keys known where an unknown one was found."""
    models = {entry.parameters.__name__: entry.parameters for entry in LEARNERS.values()}
    annotation: Any = models.get(error.title, Experiment)
    for part in location[:-1]:
        annotation = _inside(annotation, part)
    model = _model_in(annotation)
    return sorted(model.model_fields) if model else []


def _inside(annotation: Any, part: int | str) -> Any:
    """The type of one part of a value of some type."""
    model = _model_in(annotation)
    if get_origin(annotation) in (dict, list):
        return get_args(annotation)[-1]
    if model and str(part) in model.model_fields:
        return model.model_fields[str(part)].annotation
    return None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The settings class that a type is, or is optionally."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (dict, list):
        return None
    return next((model for model in map(_model_in, get_args(annotation)) if model), None)
