"""The contents of experiment files: JSON Schema, the methods by name, and a first file for `init`."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from textcat.corpora.cards import list_corpora, load_card
from textcat.corpora.own.inspect import Inspection
from textcat.corpora.registry import list_known_corpora
from textcat.evaluation.run_measures import list_measures
from textcat.experiment.spec.experiment import Experiment
from textcat.learners.parameters import LEARNERS
from textcat.linear.losses import LOSSES, list_losses, modified_logistic
from textcat.linear.priors import ALL_PRIORS
from textcat.linear.training import ALGORITHMS
from textcat.selection import SCORES
from textcat.text.tokenizers import TOKENIZERS
from textcat.thresholds.rules import list_rules
from textcat.yaml_reader import read_packaged_yaml


def make_experiment_schema() -> dict[str, Any]:
    """Return the schema of a file: the schema of a resolved experiment, with `extends` and without required keys."""
    schema = Experiment.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "textcat experiment"
    schema["properties"]["extends"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
        "description": "Other experiments (names, or files relative to this one), whose keys are taken and overridden.",
    }
    schema.pop("required", None)
    # The texts of a grid stand for values of any type.
    schema["properties"]["runs"]["additionalProperties"] = {
        "if": {"required": ["for"]},
        "then": {
            "properties": {
                "for": {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}}
            }
        },
        "else": schema["properties"]["runs"]["additionalProperties"],
    }
    run = schema["$defs"]["RunSettings"]
    run.pop("required", None)
    run["properties"]["learner"]["enum"] = sorted(LEARNERS)
    run["allOf"] = [_make_parameters_condition(name) for name in sorted(LEARNERS)]
    for name in sorted(LEARNERS):
        model = LEARNERS[name].parameters
        parameters = model.model_json_schema()
        parameters.pop("required", None)
        schema["$defs"].update(parameters.pop("$defs", {}))
        schema["$defs"][model.__name__] = parameters
    return schema


def _make_parameters_condition(learner: str) -> dict[str, Any]:
    parameters = {"$ref": f"#/$defs/{LEARNERS[learner].parameters.__name__}"}
    return {
        "if": {"properties": {"learner": {"const": learner}}, "required": ["learner"]},
        "then": {"properties": {"parameters": parameters}},
    }


def render_first_experiment(inspection: Inspection, title: str, path: str) -> str:
    """Return an experiment file as text; `path` leads from the file to the documents."""
    source = files("textcat.experiment").joinpath("first_file.yaml.in").read_text(encoding="utf-8")
    # The result is YAML, so nothing is escaped for HTML; `quoted` quotes every value.
    layout = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(undefined=StrictUndefined, **layout)  # type: ignore[arg-type] # noqa: S701
    template = environment.from_string(source)
    # JSON is also YAML.
    quoted = partial(json.dumps, ensure_ascii=False)
    return template.render(inspection=inspection, title=title, path=path, quoted=quoted)


def list_methods() -> Iterator[dict[str, str]]:
    """Yield kind, name and description of all methods, kind by kind."""
    for kind, list_names in METHODS.items():
        yield from (
            {"kind": kind, "name": name, "what": _describe_method(kind, name)} for name in list_names()
        )


# How an experiment names a method of a kind.
WRITTEN = {
    "tokenizers": "text: {tokenizer: NAME}",
    "selection_scores": "selection: {score: NAME}",
    "losses": "a run with learner: linear, parameters: {loss: NAME}",
    "priors": "a run with learner: linear, parameters: {prior: NAME}",
    "algorithms": "a run with learner: linear, parameters: {algorithm: NAME}",
    "thresholds": "threshold: {rule: NAME}",
    "measures": "every evaluation measures it",
}


def find_methods(wanted: str) -> list[dict[str, str]]:
    """Return the methods of a name, spelled with any of `.`, `_` and `-`: what they are and how to write them."""
    return [
        {
            **method,
            "what": _get_whole_text(method["kind"], method["name"]) or method["what"],
            "in an experiment": WRITTEN[method["kind"]].replace("NAME", method["name"]),
        }
        for method in list_methods()
        if method["kind"] in WRITTEN and _spell(method["name"]) == _spell(wanted)
    ]


def _spell(name: str) -> str:
    return re.sub("[._-]", "_", name.lower())


def _get_whole_text(kind: str, name: str) -> str:
    """Return the docstring of a score or a loss, or an empty text."""
    known: dict[str, Mapping[str, Any]] = {
        "selection_scores": SCORES,
        "losses": {"modified_logistic": modified_logistic, **LOSSES},
    }
    thing = known.get(kind, {}).get(name)
    return inspect.cleandoc(thing.__doc__ or "") if thing else ""


def _describe_method(kind: str, name: str) -> str:
    if kind == "corpora":
        return load_card(name).title if name in list_corpora() else "documents of your own"
    if kind == "tokenizers":
        return str(getattr(TOKENIZERS[name], "description", ""))
    if kind == "selection_scores":
        return _get_first_line(SCORES[name])
    if kind == "losses":
        return _get_first_line(LOSSES.get(name, modified_logistic))
    line: str = _read_descriptions()[kind].get(name, "")
    return line


@cache
def _read_descriptions() -> dict[str, dict[str, str]]:
    descriptions: dict[str, dict[str, str]] = read_packaged_yaml("experiment/methods.yaml")
    return descriptions


METHODS: dict[str, Callable[[], Collection[str]]] = {
    "corpora": lambda: sorted(list_known_corpora()),
    "tokenizers": lambda: TOKENIZERS,
    "selection_scores": lambda: SCORES,
    "losses": list_losses,
    "priors": lambda: ALL_PRIORS,
    "algorithms": lambda: ALGORITHMS,
    "thresholds": list_rules,
    # Without the averages over the largest categories.
    "measures": lambda: [name for name in list_measures() if name.count(".") < 2],
}


def _get_first_line(thing: Any) -> str:
    """Return the first line of the docstring of a function, or an empty text."""
    return thing.__doc__.strip().splitlines()[0] if thing.__doc__ else ""
