"""`textcat train`: carry experiments as far as this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "train",
    "Train an experiment's learners and set their thresholds.",
    "Leaves a model and its certificates for each run. Categories are trained in blocks, and a stopped run "
    "goes on with the next block.",
)
