"""Find, load and call what other packages add to textcat through entry points.

A name belongs to one method: where a package takes a name of textcat's own, or two packages take the same, the name
is refused and the message says who they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from textcat.errors import StageFailedError, TextcatError, UsageError

PLUGIN_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "corpora": "collection",
        "tokenizers": "tokenizer",
        "selection_scores": "selection score",
        "losses": "loss",
        "priors": "prior",
        "algorithms": "algorithm",
        "thresholds": "threshold rule",
        "measures": "measure",
    }
)
"""The kinds of things a package can add; entry points of `textcat.<kind>`."""


@dataclass(frozen=True)
class Plugin:
    """One entry point of one installed package."""

    kind: str
    name: str
    distribution: str
    version: str
    entry: EntryPoint

    @property
    def identity(self) -> str:
        """Who made it, in the form that enters signatures."""
        return f"{self.distribution} {self.version}"

    @property
    def title(self) -> str:
        """How messages call it."""
        return f"the {PLUGIN_KINDS[self.kind]} {self.name!r} of {self.identity}"


@cache
def list_plugins(kind: str) -> tuple[Plugin, ...]:
    """All that installed packages offer of a kind, by name; what is installed later is not seen any more."""
    found = [
        Plugin(kind, each.name, each.dist.name, each.dist.version, each)
        for each in entry_points(group=f"textcat.{kind}")
        if each.dist is not None
    ]
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.identity)))


def find_plugin(kind: str, name: str, own: Collection[str]) -> Plugin | None:
    """The plugin of that name; None where there is none. `own` are the names that textcat has itself."""
    found = [plugin for plugin in list_plugins(kind) if plugin.name == name]
    if not found:
        return None
    holders = ["textcat itself"] * (name in own) + [plugin.identity for plugin in found]
    if len(holders) > 1:
        raise UsageError(
            f"the {PLUGIN_KINDS[kind]} {name!r} is offered by {' and by '.join(holders)}",
            where=f"entry points textcat.{kind}",
            hint="Uninstall all but one, or have its author choose another name.",
        )
    return found[0]


def list_known_names(kind: str, own: Collection[str]) -> list[str]:
    """Every name that can be asked for, textcat's own first."""
    return [*own, *dict.fromkeys(plugin.name for plugin in list_plugins(kind) if plugin.name not in own)]


def collect_identities(*used: tuple[str, str | None]) -> dict[str, dict[str, str]]:
    """Of (kind, name) pairs those that are plugins, by name and version, for a recipe; nothing where none is.

    What textcat has itself is named by textcat's version, and recipes without plugins stay as they are.
    """
    found = {
        f"{kind}.{name}": plugin.identity
        for kind, name in used
        for plugin in (list_plugins(kind) if name else ())
        if plugin.name == name
    }
    return {"plugins": found} if found else {}


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@contextmanager
def report_plugin_errors(plugin: Plugin, what: str) -> Iterator[None]:
    """Turn any error into one that names the plugin; messages of textcat's own kind stay as they are."""
    try:
        yield
    except TextcatError:
        raise
    except Exception as error:
        raise StageFailedError(
            f"{plugin.title} {what}: {type(error).__name__}: {error}",
            where=plugin.entry.value,
            hint=f"This is a fault of {plugin.distribution}, or of how it is used; -vv shows where in it.",
        ) from error


def load_plugin(plugin: Plugin, expected: type | None = None) -> Any:
    """The object behind the entry point, which must be of a type, or else callable."""
    with report_plugin_errors(plugin, "cannot be loaded"):
        found = plugin.entry.load()
        if not (callable(found) if expected is None else isinstance(found, expected)):
            wanted = "a function" if expected is None else f"a {expected.__module__}.{expected.__qualname__}"
            raise TypeError(f"it must be {wanted}, and is {found!r}")
    return found


def wrap_plugin_function(
    plugin: Plugin, function: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """A plugin's function, whose errors name the plugin."""

    @wraps(function, updated=())
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with report_plugin_errors(plugin, "failed"):
            return function(*args, **kwargs)

    return call


@dataclass(frozen=True)
class KnownName:
    """`Annotated[str, Named(kind, own)]`: a name of a kind; `own()` are the names that textcat has itself.

    A plugin is loaded at once, so that one that cannot be loaded is told before any work.
    """

    kind: str
    own: Callable[[], Collection[str]]

    def check(self, name: str) -> str:
        """Refuse what is unknown, offered twice, or does not load."""
        own = self.own()
        try:
            plugin = find_plugin(self.kind, name, own)
            if plugin is not None:
                load_plugin(plugin, object)
                return name
        except TextcatError as error:
            raise PydanticCustomError("plugin", "{what}", {"what": " ".join(str(error).split())}) from error
        if name not in own:
            known = list_known_names(self.kind, own)
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise PydanticCustomError(
                "unknown_name", "there is no {noun} {name}; {hint}",
                {"noun": PLUGIN_KINDS[self.kind], "name": repr(name), "hint": hint},
            )  # fmt: skip
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": list_known_names(self.kind, self.own())}
