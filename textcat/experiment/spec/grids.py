"""Write out grids of runs: one entry of `runs` with `for` stands for a run of each combination of values.

    runs:
      mfom_{dimensions}_{iterations}:
        for: {dimensions: [100, 200], iterations: [500, 1000]}
        title: "{dimensions} dimensions, {iterations} iterations"
        learner: mfom
        parameters: {iterations: "{iterations}"}
        projection: {dimensions: "{dimensions}"}

A text that is only `{NAME}` becomes the value itself, a number, a list or settings; in the run's name and in a longer
text the value is written out. An item of a list may be a mapping that gives several names their values at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from textcat.yaml_reader import KeyPath, YamlPlace, YamlSource, list_paths, make_yaml_error

KEY = "for"
MOST_RUNS = 1000
_NAME_IN_BRACES = re.compile(r"\{([^{}]*)\}")


def expand_grids(source: YamlSource) -> YamlSource:
    """Return a file's data with every grid of runs written out; other runs stay as they are."""
    given = source.data.get("runs")
    if not isinstance(given, dict) or not any(isinstance(run, dict) and KEY in run for run in given.values()):
        return source
    runs: dict[str, Any] = {}
    places = {path: place for path, place in source.places.items() if path[:1] != ("runs",) or len(path) == 1}
    for template, run in given.items():
        here: KeyPath = ("runs", template)
        written = (
            _write_runs(source, template, run) if isinstance(run, dict) and KEY in run else [(template, run)]
        )
        for name, expanded in written:
            if name in runs:
                raise make_yaml_error(
                    source.find_place(here),
                    f"the run {name!r} is written twice",
                    "Write every name of `for` into the name of the run, such as `mfom_{iterations}`.",
                )
            runs[name] = expanded
            for path in list_paths(expanded, ("runs", name)):
                place = source.find_place((*here, *path[2:]))
                if place is not None:
                    places[path] = place
    return YamlSource(source.data | {"runs": runs}, places)


def _write_runs(
    source: YamlSource, template: str, run: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and settings of each run of a grid."""
    here: KeyPath = ("runs", template)
    axes = _read_axes(run[KEY], source.find_place((*here, KEY)))
    settings = {key: value for key, value in run.items() if key != KEY}
    for combination in product(*axes):
        values = {name: value for item in combination for name, value in item.items()}
        name = _write_out(template, values, source.find_place(here))
        yield name, {key: _fill_in(value, values, source, (*here, key)) for key, value in settings.items()}


def _read_axes(given: Any, place: YamlPlace | None) -> list[list[dict[str, Any]]]:
    """Return for each list of `for` the values that its items give to names."""
    if not isinstance(given, dict) or not given or not all(isinstance(v, list) and v for v in given.values()):
        raise make_yaml_error(
            place, "`for` names lists of values", "Write for example `for: {iterations: [500, 1000]}`."
        )
    if prod(map(len, given.values())) > MOST_RUNS:
        raise make_yaml_error(place, f"a grid of more than {MOST_RUNS} runs", "Give fewer values.")
    return [
        [item if isinstance(item, dict) else {name: item} for item in items] for name, items in given.items()
    ]


def _fill_in(value: Any, values: Mapping[str, Any], source: YamlSource, keys: KeyPath) -> Any:
    """Return a setting with the values in place of their names."""
    if isinstance(value, dict):
        return {key: _fill_in(part, values, source, (*keys, key)) for key, part in value.items()}
    if isinstance(value, list):
        return [_fill_in(part, values, source, (*keys, at)) for at, part in enumerate(value)]
    if not isinstance(value, str):
        return value
    whole = _NAME_IN_BRACES.fullmatch(value)
    if whole and whole[1] in values and keys[-1] != "title":
        return values[whole[1]]
    return _write_out(value, values, source.find_place(keys))


def _write_out(text: str, values: Mapping[str, Any], place: YamlPlace | None) -> str:
    """Return a text with the values written into it."""

    def write(found: re.Match[str]) -> str:
        value = values.get(found[1])
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            what = "has no text that could be written here" if found[1] in values else "is no name of `for`"
            raise make_yaml_error(place, f"{found[0]} {what}", f"Names: {', '.join(map(str, values))}.")
        return str(value)

    return _NAME_IN_BRACES.sub(write, text)
