"""Methods and collections that other packages add to textcat through entry points."""

from textcat.plugins.discovery import (
    PLUGIN_KINDS,
    KnownName,
    Plugin,
    collect_identities,
    find_plugin,
    list_known_names,
    list_plugins,
    load_plugin,
    report_plugin_errors,
    wrap_plugin_function,
)

__all__ = [
    "PLUGIN_KINDS",
    "KnownName",
    "Plugin",
    "collect_identities",
    "find_plugin",
    "list_known_names",
    "list_plugins",
    "load_plugin",
    "report_plugin_errors",
    "wrap_plugin_function",
]
