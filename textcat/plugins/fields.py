"""Names in experiment files that may be textcat's own or a plugin's, checked when the file is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from textcat.errors import TextcatError
from textcat.plugins.discovery import GROUPS, find, known_names
from textcat.plugins.guard import loaded


@dataclass(frozen=True)
class Named:
    """`Annotated[str, Named(kind, own)]`: a name of a kind; `own()` are the names that textcat has itself.

    A plugin is loaded at once, so that one that cannot be loaded is told before any work.
    """

    kind: str
    own: Callable[[], Collection[str]]

    def check(self, name: str) -> str:
        """Refuse what is unknown, offered twice, or does not load."""
        own = self.own()
        try:
            plugin = find(self.kind, name, own)
            if plugin is not None:
                loaded(plugin, object)
                return name
        except TextcatError as error:
            raise PydanticCustomError("plugin", "{what}", {"what": " ".join(str(error).split())}) from error
        if name not in own:
            known = known_names(self.kind, own)
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise PydanticCustomError(
                "unknown_name", "there is no {noun} {name}; {hint}",
                {"noun": GROUPS[self.kind], "name": repr(name), "hint": hint},
            )  # fmt: skip
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": known_names(self.kind, self.own())}
