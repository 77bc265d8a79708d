"""Which installed packages offer what, found by their entry points when a name is asked for, and not before.

A name belongs to one method: where a package takes a name of textcat's own, or two packages take the same, the name
is refused and the message says who they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from textcat.errors import UsageError

GROUPS: Mapping[str, str] = MappingProxyType(
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
        return f"the {GROUPS[self.kind]} {self.name!r} of {self.identity}"


@cache
def installed(kind: str) -> tuple[Plugin, ...]:
    """All that installed packages offer of a kind, by name; what is installed later is not seen any more."""
    found = [
        Plugin(kind, each.name, each.dist.name, each.dist.version, each)
        for each in entry_points(group=f"textcat.{kind}")
        if each.dist is not None
    ]
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.identity)))


def find(kind: str, name: str, own: Collection[str]) -> Plugin | None:
    """The plugin of that name; None where there is none. `own` are the names that textcat has itself."""
    found = [plugin for plugin in installed(kind) if plugin.name == name]
    if not found:
        return None
    holders = ["textcat itself"] * (name in own) + [plugin.identity for plugin in found]
    if len(holders) > 1:
        raise UsageError(
            f"the {GROUPS[kind]} {name!r} is offered by {' and by '.join(holders)}",
            where=f"entry points textcat.{kind}",
            hint="Uninstall all but one, or have its author choose another name.",
        )
    return found[0]


def known_names(kind: str, own: Collection[str]) -> list[str]:
    """Every name that can be asked for, textcat's own first."""
    return [*own, *dict.fromkeys(plugin.name for plugin in installed(kind) if plugin.name not in own)]


def identities(*used: tuple[str, str | None]) -> dict[str, dict[str, str]]:
    """Of (kind, name) pairs those that are plugins, by name and version, for a recipe; nothing where none is.

    What textcat has itself is named by textcat's version, and recipes without plugins stay as they are.
    """
    found = {
        f"{kind}.{name}": plugin.identity
        for kind, name in used
        for plugin in (installed(kind) if name else ())
        if plugin.name == name
    }
    return {"plugins": found} if found else {}
