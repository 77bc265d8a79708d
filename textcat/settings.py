"""Base classes of settings that experiment files may give."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)


def describe_fault(error: ValidationError, left_out: Collection[str] = ()) -> str:
    """Return the place of the first fault, without these parts of it, and what is wrong."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"] if part not in left_out)
    message = fault["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


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
