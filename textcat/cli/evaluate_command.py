"""`textcat evaluate`: carry experiments as far as this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "evaluate",
    "Measure the trained learners on the test documents.",
    "Leaves scores, decisions and every measure for each run.",
)
