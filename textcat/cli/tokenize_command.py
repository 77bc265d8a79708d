"""`textcat tokenize`: run experiments up to this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "tokenize",
    "Count the words of the documents.",
    "Writes a documents x terms count matrix to the cache; all later stages share it.",
)
