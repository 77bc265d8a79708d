"""Command line: related commands share a module, which is imported when one of them is called."""
