"""Base classes of settings that experiment files may give; settings.yaml describes their keys."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from textcat.yaml_reader import read_packaged_yaml


def describe_fault(error: ValidationError, left_out: Collection[str] = ()) -> str:
    """Return the place of the first fault, without these parts of it, and what is wrong."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"] if part not in left_out)
    message = fault["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def describe_keys(kind: type[BaseModel]) -> dict[str, str]:
    """Return the description of each key of a settings class, its base classes included."""
    table = read_packaged_yaml("settings.yaml")
    return {
        key: text for each in reversed(kind.__mro__) for key, text in table.get(each.__name__, {}).items()
    }


class StrictSettings(BaseModel):
    """Immutable settings without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        made = handler(schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        for key, text in describe_keys(cls).items():
            properties[key]["description"] = text
        return made


class GrowingSettings(StrictSettings):
    """Settings that have got new keys.

    The keys in `later` are left out at their default, so that artifacts made before a key existed keep their keys.
    """

    later: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _omit_later_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        spelled: dict[str, Any] = dump(self)
        for name in self.later:
            if getattr(self, name) == type(self).model_fields[name].get_default(call_default_factory=True):
                spelled.pop(name, None)
        return spelled
