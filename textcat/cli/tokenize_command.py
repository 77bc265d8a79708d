"""`textcat tokenize`: carry experiments as far as this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "tokenize",
    "Count the words of an experiment's documents.",
    "Leaves documents x terms counts in the cache, to be shared by every stage after it.",
)
