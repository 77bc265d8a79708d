"""`textcat select`: carry experiments as far as this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "select",
    "Weight the counts and select features by category.",
    "Leaves the vectors of training and test documents and, for each category, the terms that its learner sees.",
)
