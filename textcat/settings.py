"""Base classes of settings that experiment files may give."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from textcat.yaml_reader import find_near_names


def describe_fault(error: ValidationError, left_out: Collection[str] = ()) -> str:
    """Return the place of the first fault, without these parts of it, and what is wrong."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"] if part not in left_out)
    message = fault["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def describe_keys(kind: type[BaseModel]) -> dict[str, str]:
    """Return the description of each key of a settings class that has one."""
    return {key: field.description for key, field in kind.model_fields.items() if field.description}


class StrictSettings(BaseModel):
    """Immutable settings without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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


@dataclass(frozen=True)
class KnownName:
    """The type `Annotated[str, KnownName(kind, names)]` of settings that name a method of a kind."""

    kind: str
    names: Callable[[], Collection[str]]

    def check(self, name: str) -> str:
        """Return the name; refuse one that is unknown."""
        known = self.names()
        if name not in known:
            near = find_near_names(name, known, most=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(known)}"
            raise PydanticCustomError(
                "unknown_name",
                "there is no {kind} {name}; {hint}",
                {"kind": self.kind, "name": repr(name), "hint": hint},
            )
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": list(self.names())}
