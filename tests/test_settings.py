"""Settings: every key of an experiment file is described, and its text is in the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from tests.loops import for_each
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.schema import make_experiment_schema
from textcat.learners.parameters import LEARNERS
from textcat.settings import describe_keys

# Sections of an experiment whose keys, or whose own meaning, need no text.
OBVIOUS = {"corpus", "text", "vector", "selection", "projection", "threshold", "evaluation"}


def list_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the settings classes in a type, and those of their fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from list_models(field.annotation)
    for part in get_args(annotation):
        yield from list_models(part)


MODELS = {
    model.__name__: model
    for root in (Experiment, *(entry.parameters for entry in LEARNERS.values()))
    for model in list_models(root)
}


@for_each("name", MODELS)
def test_every_key_of_an_experiment_file_is_described(name: str) -> None:
    model = MODELS[name]
    missing = model.model_fields.keys() - describe_keys(model).keys()
    assert missing == (OBVIOUS if model is Experiment else set())


def test_every_description_is_in_the_schema() -> None:
    schemas = make_experiment_schema()["$defs"]
    for name, model in MODELS.items():
        if model is not Experiment:
            shown = {key: each.get("description") for key, each in schemas[name]["properties"].items()}
            assert shown == describe_keys(model)
