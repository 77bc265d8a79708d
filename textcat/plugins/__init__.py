"""What other packages add to textcat: methods and collections that they declare as entry points."""

from textcat.plugins.discovery import (
    GROUPS,
    Named,
    Plugin,
    blaming,
    find,
    guarded,
    identities,
    installed,
    known_names,
    loaded,
)

__all__ = [
    "GROUPS",
    "Named",
    "Plugin",
    "blaming",
    "find",
    "guarded",
    "identities",
    "installed",
    "known_names",
    "loaded",
]
