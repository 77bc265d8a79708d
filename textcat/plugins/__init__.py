"""What other packages add to textcat: methods and collections that they declare as entry points."""

from textcat.plugins.discovery import GROUPS, Plugin, find, identities, installed, known_names
from textcat.plugins.fields import Named
from textcat.plugins.guard import blaming, guarded, loaded

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
