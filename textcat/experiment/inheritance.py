"""`extends:` one experiment file takes the keys of others and says only what differs; later ones go over earlier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textcat.errors import UsageError
from textcat.experiment.yaml_source import Keys, Place, Source, error_at, read_source


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
