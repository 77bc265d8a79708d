"""Make the JSON Schema of experiment files and the page of keys: `python -m textcat.experiment.spec.schema`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from inspect import cleandoc
from typing import Any

from textcat.corpora.cards import list_corpora
from textcat.corpora.registry import OWN_FORMATS, list_reader_options, load_option_descriptions
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.learner_table import LEARNERS
from textcat.linear.training import ALGORITHMS


def make_experiment_schema() -> dict[str, Any]:
    """Return the schema of a file: that of a resolved experiment, with `extends` and without required keys."""
    schema = Experiment.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "textcat experiment"
    schema["properties"]["extends"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
        "description": "Other experiment files, relative to this one, whose keys this one takes and overrides.",
    }
    schema.pop("required", None)
    run = schema["$defs"]["RunSettings"]
    run.pop("required", None)
    run["properties"]["learner"]["enum"] = sorted(LEARNERS)
    run["allOf"] = [_make_parameters_condition(name) for name in sorted(LEARNERS)]
    for name in sorted(LEARNERS):
        model = LEARNERS[name].parameters
        own = model.model_json_schema()
        own.pop("required", None)
        schema["$defs"].update(own.pop("$defs", {}))
        schema["$defs"][model.__name__] = own
    return schema


def _make_parameters_condition(learner: str) -> dict[str, Any]:
    parameters = {"$ref": f"#/$defs/{LEARNERS[learner].parameters.__name__}"}
    return {
        "if": {"properties": {"learner": {"const": learner}}, "required": ["learner"]},
        "then": {"properties": {"parameters": parameters}},
    }


REFERENCE_HEAD = """# The keys of an experiment file

Every key that an experiment file may hold, what it takes and what it is when left out. A key that is not here is
refused with its line and the nearest name. An editor that knows JSON Schema completes them from
`textcat show --schema`; `textcat show EXPERIMENT` prints an experiment with all its keys as they came out.

Keys of `text`, `vector`, `selection`, `projection`, `calibration`,
`threshold` and `evaluation` may stand in the experiment, for all
its runs, and in a run, for that one alone: there they are laid over the experiment's, key by key. A file takes over
the keys of those that `extends` names. This page is made from the model of the file, by
`python -m textcat.experiment.spec.schema`.
"""
SECTION_HEADINGS = {
    "CorpusSettings": "corpus",
    "ResampleSettings": "resample",
    "TextSettings": "text",
    "VectorSettings": "vector",
    "SelectionSettings": "selection",
    "ProjectionSettings": "projection",
    "CalibrationSettings": "calibration",
    "ThresholdSettings": "threshold",
    "EvaluationSettings": "evaluation",
    "RunSettings": "runs",
    "SearchSettings": "search",
    "ComparisonSettings": "comparisons",
}
OPTIONS_SET_BY_PARAMETERS = ("tol", "max_passes", "seed", "stop", "precision", "jobs")


def make_configuration_page() -> str:
    """Return the page of keys as Markdown."""
    return "\n".join([REFERENCE_HEAD, *_format_sections(make_experiment_schema())])


def _format_sections(schema: dict[str, Any]) -> Iterator[str]:
    yield from _format_section("The file", schema["properties"])
    for model, heading in SECTION_HEADINGS.items():
        yield from _format_section(heading, schema["$defs"][model]["properties"])
        if heading == "corpus":
            yield from _format_reader_options()
    for model, learners in _group_learners().items():
        names = ", ".join(f"`{name}`" for name in learners)
        yield f"## Parameters of {names}\n"
        for name in learners:
            yield f"- `{name}`: {LEARNERS[name].title}"
        yield ""
        yield from _format_table(schema["$defs"][model]["properties"])
        if model == "LinearParameters":
            yield from _format_algorithm_options()


def _format_algorithm_options() -> Iterator[str]:
    """Yield the options of each algorithm that are not parameters already."""
    for name, algorithm in ALGORITHMS.items():
        yield f"### options of algorithm `{name}`\n"
        yield cleandoc(algorithm.options.__doc__ or "") + "\n"
        yield "| option | when left out |\n|---|---|"
        for option in fields(algorithm.options):
            if option.name not in OPTIONS_SET_BY_PARAMETERS:
                yield f"| `{option.name}` | `{json.dumps(option.default)}` |"
        yield ""


def _format_reader_options() -> Iterator[str]:
    """A table for the readers that share their options, own documents first."""
    sharing: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in (*OWN_FORMATS, *list_corpora()):
        if meanings := load_option_descriptions(name):
            sharing.setdefault(tuple(meanings.items()), []).append(name)
    for pairs, names in sharing.items():
        defaults = list_reader_options(names[0])
        yield f"### options of {', '.join(f'`{name}`' for name in names)}\n"
        yield "| option | when left out | what it says |\n|---|---|---|"
        for option, meaning in pairs:
            default = "" if defaults[option] is None else f"`{json.dumps(defaults[option])}`"
            yield f"| `{option}` | {default} | {meaning} |"
        yield ""


def _group_learners() -> dict[str, list[str]]:
    """Group the learners by the class of their parameters, in the order of the table."""
    found: dict[str, list[str]] = {}
    for name, learner in LEARNERS.items():
        found.setdefault(learner.parameters.__name__, []).append(name)
    return found


def _format_section(heading: str, properties: dict[str, Any]) -> Iterator[str]:
    yield f"## {heading}\n"
    yield from _format_table(properties)


def _format_table(properties: dict[str, Any]) -> Iterator[str]:
    yield "| key | takes | when left out | what it says |\n|---|---|---|---|"
    for key, value in properties.items():
        meaning = value.get("description", "").replace("|", "\\|")
        yield f"| `{key}` | {_describe_type(value)} | {_format_default(value)} | {meaning} |"
    yield ""


def _describe_type(value: dict[str, Any]) -> str:
    """Describe the type of a key in words. Pydantic before 2.9 wraps a described reference in `allOf`."""
    if several := value.get("anyOf", value.get("allOf")):
        return " or ".join(dict.fromkeys(_describe_type(each) for each in several))
    if "$ref" in value:
        model = value["$ref"].rsplit("/", 1)[1]
        return f"keys of `{SECTION_HEADINGS.get(model, model)}`"
    if allowed := value.get("enum", [value["const"]] if "const" in value else []):
        return ", ".join(f"`{each}`" for each in allowed)
    return _describe_composite(value) if value.get("type") in ("array", "object") else _describe_simple(value)


def _describe_composite(value: dict[str, Any]) -> str:
    if value["type"] == "array":
        return f"list of {_describe_type(value['items'])}" if "items" in value else "list"
    inner = value.get("additionalProperties")
    return f"name: {_describe_type(inner)}" if isinstance(inner, dict) else "keys and values"


def _describe_simple(value: dict[str, Any]) -> str:
    names = {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}
    bounds = [
        f"{words} {value[key]:g}"
        for key, words in (
            ("minimum", "from"),
            ("exclusiveMinimum", "above"),
            ("maximum", "to"),
            ("exclusiveMaximum", "below"),
        )
        if key in value
    ]
    return " ".join([names.get(value.get("type", ""), "null"), *bounds])


def _format_default(value: dict[str, Any]) -> str:
    """Return the default of a key as text, or an empty text."""
    if "default" not in value or value["default"] is None:
        return ""
    if isinstance(value["default"], dict):
        return "" if "$ref" in value or "allOf" in value else f"`{json.dumps(value['default'])}`"
    return f"`{json.dumps(value['default'])}`" if value["default"] != "" else ""


if __name__ == "__main__":
    sys.stdout.write(make_configuration_page())
