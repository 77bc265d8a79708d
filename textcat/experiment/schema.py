"""The JSON Schema of experiment files, with the parameters of each learner, so that editors complete them."""

from __future__ import annotations

from typing import Any

from textcat.experiment.learners import LEARNERS
from textcat.experiment.settings import Experiment


def experiment_schema() -> dict[str, Any]:
    """The schema of a file: as of the resolved experiment, with `extends`, and nothing required beside it."""
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
    run["allOf"] = [_parameters_when(name) for name in sorted(LEARNERS)]
    for name in sorted(LEARNERS):
        model = LEARNERS[name].parameters
        own = model.model_json_schema()
        own.pop("required", None)
        schema["$defs"].update(own.pop("$defs", {}))
        schema["$defs"][model.__name__] = own
    return schema


def _parameters_when(learner: str) -> dict[str, Any]:
    parameters = {"$ref": f"#/$defs/{LEARNERS[learner].parameters.__name__}"}
    return {
        "if": {"properties": {"learner": {"const": learner}}, "required": ["learner"]},
        "then": {"properties": {"parameters": parameters}},
    }
