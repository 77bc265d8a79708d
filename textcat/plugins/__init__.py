"""Methods and collections that other packages add to textcat through entry points."""

from textcat.plugins.contracts import (
    check_documents,
    make_read_only,
    read_categories,
    read_fingerprint,
    wrap_elementwise_function,
    wrap_numeric_function,
    wrap_word_function,
)
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
    "check_documents",
    "collect_identities",
    "find_plugin",
    "list_known_names",
    "list_plugins",
    "load_plugin",
    "make_read_only",
    "read_categories",
    "read_fingerprint",
    "report_plugin_errors",
    "wrap_elementwise_function",
    "wrap_numeric_function",
    "wrap_plugin_function",
    "wrap_word_function",
]
