"""Find experiment files by path or name, merge `extends:`, and read them into the typed model."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from textcat.corpora.registry import OWN_FORMATS, find_option_fault, list_known_corpora
from textcat.errors import UsageError
from textcat.experiment.spec.config_files import find_config_folders, find_experiment_files
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.grids import expand_grids
from textcat.experiment.steps.decide import check_probabilities
from textcat.experiment.steps.features import keeps_all_features
from textcat.extensions import import_module
from textcat.learners.parameters import LEARNERS, validate_parameters
from textcat.yaml_reader import (
    KeyPath,
    YamlPlace,
    YamlSource,
    find_near_names,
    list_paths,
    make_yaml_error,
    read_yaml,
    suggest_names,
)


def read_experiment_source(path: Path) -> YamlSource:
    """Return a file's data merged over the data that it extends, with the place of every key."""
    return _read_with_parents(path, (), {})


MAX_PARENTS = 100
MAX_GENERATIONS = 50


def _read_with_parents(path: Path, chain: tuple[Path, ...], done: dict[Path, YamlSource]) -> YamlSource:
    """Return a file merged over its parents; `done` holds the files merged before, so each is read once."""
    resolved = path.resolve()
    if resolved not in done:
        done[resolved] = _merge_parents(path, resolved, chain, done)
    return done[resolved]


def _merge_parents(
    path: Path, resolved: Path, chain: tuple[Path, ...], done: dict[Path, YamlSource]
) -> YamlSource:
    if resolved in chain:
        circle = " -> ".join(p.name for p in (*chain, resolved))
        raise UsageError(
            f"experiments extend each other in a circle: {circle}",
            where=str(path),
            hint="Remove one of the `extends`.",
        )
    if len(chain) >= MAX_GENERATIONS:
        raise UsageError(
            f"more than {MAX_GENERATIONS} files extend one another",
            where=str(path),
            hint="Merge some of the files.",
        )
    source = expand_grids(check_mapping(read_yaml(path)))
    extended = source.data.pop("extends", None)
    if extended is None:
        return source
    place = source.places[("extends",)]
    parents = extended if isinstance(extended, list) else [extended]
    if not parents or not all(isinstance(parent, str) for parent in parents):
        raise make_yaml_error(
            place,
            "`extends` names one experiment or its file, or a list of them",
            hint="Write `extends: FILE.yaml`, `extends: NAME` or `extends: [A.yaml, B.yaml]`.",
        )
    if len(parents) > MAX_PARENTS:
        raise make_yaml_error(place, f"more than {MAX_PARENTS} files to extend", "Merge some of the files.")
    below: YamlSource | None = None
    for parent in parents:
        parent_path = path.parent / parent
        if not parent_path.is_file():
            parent_path = _find_named_parent(parent, parent_path, place)
        read = _read_with_parents(parent_path, (*chain, resolved), done)
        below = read if below is None else _overlay(below, read)
    return source if below is None else _overlay(below, source)


def _find_named_parent(name: str, path: Path, place: YamlPlace | None) -> Path:
    """Return the file of the experiment with this name, because there is no file at `path`."""
    known = find_experiment_files()
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    raise make_yaml_error(
        place,
        f"there is no file {path} and no experiment {name!r}",
        (f"Did you mean {near[0]}? " if near else "")
        + "A path is relative to this file; `textcat list experiments` has the names.",
    )


def check_mapping(source: YamlSource) -> YamlSource:
    """Return the source of a mapping; an empty file is an empty mapping."""
    if source.data is None:
        return YamlSource({}, source.places)
    if not isinstance(source.data, dict):
        raise make_yaml_error(
            source.find_place(()),
            "an experiment is a mapping of keys to values",
            hint="Begin with lines such as `title: My documents`. If this file holds documents: `textcat init FILE` "
            "writes an experiment for them.",
        )
    return source


def _overlay(below: YamlSource, above: YamlSource) -> YamlSource:
    places = dict(below.places)
    data = _merge(below.data, above.data, (), above.places, places)
    places[()] = above.places[()]
    return YamlSource(data, places)


def _merge(
    below: dict[str, Any],
    above: dict[str, Any],
    keys: KeyPath,
    from_above: dict[KeyPath, YamlPlace],
    places: dict[KeyPath, YamlPlace],
) -> dict[str, Any]:
    """Merge mappings key by key; other values replace; null removes a key."""
    merged = dict(below)
    for name, value in above.items():
        here = (*keys, name)
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merge(merged[name], value, here, from_above, places)
            places[here] = from_above[here]
            continue
        for known in list_paths(merged.get(name), here):
            places.pop(known, None)
        if value is None:
            merged.pop(name, None)
            continue
        merged[name] = value
        places.update((path, from_above[path]) for path in list_paths(value, here))
    return merged


FIND_EXPERIMENT_HINT = (
    "`textcat list experiments` lists the available ones; "
    "`textcat init DOCUMENTS` writes one for your own documents."
)


def find_experiment(wanted: str) -> Path:
    """Return the file of an experiment given by path or by name."""
    path = Path(wanted)
    if path.is_file():
        return path
    known = find_experiment_files()
    name = wanted.removesuffix(".yaml").removeprefix("configs/")
    if name in known:
        return known[name]
    if (beside := Path(f"{wanted}.yaml")).is_file():
        return beside
    what = f"there is no file {wanted}" if path.suffix else f"there is no experiment {wanted!r}"
    near = get_close_matches(name, known, n=3)
    raise UsageError(what, hint=f"Did you mean {' or '.join(near)}?" if near else FIND_EXPERIMENT_HINT)


def derive_experiment_name(path: Path) -> str:
    """Return an experiment's name: its path below a configs folder, or the name of the file."""
    for folder in find_config_folders():
        if path.resolve().is_relative_to(folder.resolve()):
            return path.resolve().relative_to(folder.resolve()).with_suffix("").as_posix()
    return path.stem


def load_experiment(wanted: str | Path) -> Experiment:
    """Return the resolved experiment; an error in the file is one message with its place."""
    path = find_experiment(str(wanted))
    read: dict[Path, YamlSource] = {}
    source = _read_with_parents(path, (), read)
    source.data.setdefault("name", derive_experiment_name(path))
    source.data.setdefault("title", path.stem)
    # A file is read after the files that it extends.
    extended = [derive_experiment_name(each) for each in reversed(read) if each != path.resolve()]
    experiment = validate_experiment(source)
    if (varied := experiment.variant_of) and varied not in (known := find_experiment_files()):
        place = source.find_place(("variant_of",))
        raise make_yaml_error(place, f"there is no experiment {varied!r}", suggest_names(varied, known))
    return experiment.set_folder(path.parent).set_extended(extended)


def validate_experiment(source: YamlSource) -> Experiment:
    """Import the modules of `imports` and return the experiment; raise UsageError with the place of an error."""
    _import_modules(source)
    try:
        experiment = Experiment.model_validate(source.data)
    except ValidationError as error:
        raise _to_usage_error(error, source) from error
    _check_corpus_options(experiment, source)
    _check_runs(experiment, source)
    return experiment


def _import_modules(source: YamlSource) -> None:
    """Import the modules that an experiment names, from the folder of the file that names them or from sys.path."""
    names = source.data.get("imports")
    for number, name in enumerate(names if isinstance(names, list) else ()):
        place = source.find_place(("imports", number))
        if isinstance(name, str):
            try:
                import_module(name, place.file.parent if place else Path())
            except UsageError as error:
                raise make_yaml_error(place, error.what, error.hint) from error


def _check_corpus_options(experiment: Experiment, source: YamlSource) -> None:
    """Refuse options that the reader of the documents does not take, with their place."""
    name = experiment.corpus.name
    known = list_known_corpora()
    near = find_near_names(name, known, most=1)
    # Some collections of the papers have no reader here; their experiments can be read, but not run.
    if name not in known and (near or experiment.corpus.path):
        raise make_yaml_error(
            source.find_place(("corpus", "name")),
            f"there is no collection or format {name!r}",
            (f"Did you mean {near[0]}? " if near else "")
            + f"Your own documents are {', '.join(OWN_FORMATS)}; `textcat list corpora` names the collections.",
        )
    fault = find_option_fault(experiment.corpus.name, experiment.corpus.options)
    if fault:
        place = source.find_place(("corpus", "options", *fault.keys))
        raise make_yaml_error(place, fault.what, fault.hint or "docs/configuration.md lists the options.")


def _check_runs(experiment: Experiment, source: YamlSource) -> None:
    """Check each run's learner, its parameters and whether its settings agree."""
    for name, run in experiment.runs.items():
        if run.projection and not keeps_all_features(run.selection):
            raise make_yaml_error(
                _find_projection(source, name),
                f"run {name!r} has a `projection` and a `selection` of features, which cannot be combined",
                hint="Leave one of them out; in a run, `selection: {features: all, minimum_documents: 1}` "
                "keeps every feature.",
            )
        try:
            validate_parameters(run.learner, run.parameters)
            check_probabilities(run)
        except KeyError as error:
            raise make_yaml_error(
                source.find_place(("runs", name, "learner")),
                f"there is no learner {run.learner!r}",
                str(error.args[0]),
            ) from error
        except ValidationError as error:
            raise _to_usage_error(error, source, ("runs", name, "parameters")) from error
        except UsageError as error:
            raise make_yaml_error(source.find_place(("runs", name)), error.what, error.hint) from error


def _find_projection(source: YamlSource, run: str) -> YamlPlace | None:
    """Return the place of a run's projection: in the run, or in the experiment that shares it with all runs."""
    own = ("runs", run, "projection")
    return source.find_place(own if own in source.places else ("projection",))


def _to_usage_error(
    error: ValidationError, source: YamlSource, above: tuple[str | int, ...] = ()
) -> UsageError:
    # A misspelt key may also be reported as missing: report the misspelling.
    faults = error.errors()
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    keys = above
    for part in first["loc"]:
        if (*keys, part) in source.places or not _is_branch(part):
            keys = (*keys, part)
    place = source.find_place(keys)
    if first["type"] == "extra_forbidden":
        known = _find_known_fields(error, first["loc"])
        return make_yaml_error(place, f"unknown key {keys[-1]!r}", suggest_names(str(keys[-1]), known))
    if first["type"] == "missing":
        where = ".".join(map(str, keys[:-1])) or "the experiment"
        return make_yaml_error(
            source.find_place(keys[:-1]),
            f"the key {keys[-1]!r} is missing in {where}",
            hint="Add it; `textcat show --schema` says what it takes.",
        )
    what = f"{'.'.join(map(str, keys)) or 'experiment'}: {first['msg'][0].lower()}{first['msg'][1:]}"
    now = f"It is {first['input']!r} now. " if isinstance(first["input"], str | int | float | bool) else ""
    return make_yaml_error(place, what, f"{now}`textcat show --schema` says what it takes.")


def _is_branch(part: str | int) -> bool:
    """Return whether a part of a location may be the name that pydantic gives to a branch of a union."""
    return isinstance(part, str) and (
        part.startswith(("literal[", "list[", "constrained")) or part in {"int", "str"}
    )


def _find_known_fields(error: ValidationError, location: tuple[int | str, ...]) -> list[str]:
    """Return the known keys at the location of an unknown one."""
    models = {entry.parameters.__name__: entry.parameters for entry in LEARNERS.values()}
    annotation: Any = models.get(error.title, Experiment)
    for part in location[:-1]:
        annotation = get_part_type(annotation, part)
    model = find_model(annotation)
    return sorted(model.model_fields) if model else []


def get_part_type(annotation: Any, part: int | str) -> Any:
    """Return the type of one part of a value of some type."""
    model = find_model(annotation)
    if get_origin(annotation) in (dict, list):
        return get_args(annotation)[-1]
    if get_origin(annotation) is tuple:
        return get_args(annotation)[0]
    if model and str(part) in model.model_fields:
        return model.model_fields[str(part)].annotation
    return None


def find_model(annotation: Any) -> type[BaseModel] | None:
    """Return the settings class of a type, which may be optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (dict, list, tuple):
        return None
    return next((model for model in map(find_model, get_args(annotation)) if model), None)
