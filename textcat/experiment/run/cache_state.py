"""Tell what of a plan is in the cache, and which settings keep the rest from being there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from textcat.experiment.context import Step
from textcat.store import Store
from textcat.store.artifacts import find_differences
from textcat.yaml_reader import list_first

# The parameters of these artifacts are those of a section of an experiment.
SECTIONS = {
    "select": "selection",
    "project": "projection",
    "calibrate": "calibration",
    "threshold": "threshold",
}
INPUTS = {"corpus": "the documents", "mask": "selection", "projection": "projection"}
SHOWN = 3


def describe_state(step: Step, store: Store) -> str:
    """Return `ready`, or what is missing, or the settings in which it differs from the most similar artifact."""
    if store.find(step.recipe):
        return "ready"
    stored = list(store.read_recipes(step.recipe.stage))
    if not stored:
        return "to do: nothing similar is cached"
    numbers = [_count_own_changes(step, other) for other in stored]
    similar = [other for other, number in zip(stored, numbers, strict=True) if number == min(numbers)]
    changes = [list(dict.fromkeys(_list_changes(step, other, store))) for other in similar]
    nearest = min(changes, key=len)
    return (
        f"to do: {list_first(nearest, SHOWN)} {'differs' if len(nearest) == 1 else 'differ'} from the cache"
    )


def _count_own_changes(step: Step, other: Mapping[str, Any]) -> int:
    """Return in how many settings of its own a step differs from a stored recipe."""
    differences = find_differences(step.recipe.as_dict(), other)
    return sum(not path.startswith("inputs.") for path in differences)


def _list_changes(step: Step, other: Mapping[str, Any], store: Store) -> Iterator[str]:
    """Yield the settings in which a step differs from a stored recipe; for an input, the settings that made it."""
    for path in find_differences(step.recipe.as_dict(), other):
        part, _, name = path.partition(".")
        if part == "parameters":
            section = SECTIONS.get(step.recipe.stage)
            yield f"{section}.{name}" if section and name != "seed" else name
        elif part == "inputs":
            yield from _follow_input(step, name, other, store)
        else:
            yield "the version of textcat"


def _follow_input(step: Step, name: str, other: Mapping[str, Any], store: Store) -> Iterator[str]:
    key, other_key = step.recipe.inputs.get(name), other.get("inputs", {}).get(name)
    need = next((each for each in step.needs if each.recipe.key == key), None)
    made = next(store.read_recipes(need.recipe.stage, other_key), None) if need and other_key else None
    if need and made:
        yield from _list_changes(need, made, store)
    else:
        yield INPUTS.get(name, need.title if need else name)
