"""`textcat report`: carry experiments as far as this stage."""

from __future__ import annotations

from textcat.cli.stages import stage_command

command = stage_command(
    "report",
    "Write an experiment's tables, figures and page.",
    "Carries out whatever is still missing, writes results/EXPERIMENT/ and prints the tables.",
)
