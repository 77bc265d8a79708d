"""`textcat select`: run experiments up to this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "select",
    "Weight the counts and select features per category.",
    "Writes the weighted vectors of training and test documents and the selected terms of each category to the cache.",
)
