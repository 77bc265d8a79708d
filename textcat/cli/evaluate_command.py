"""`textcat evaluate`: run experiments up to this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "evaluate",
    "Evaluate the trained learners on the test documents.",
    "Writes scores, decisions and all measures of each run to the cache.",
)
