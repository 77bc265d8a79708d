"""`textcat train`: run experiments up to this stage."""

from __future__ import annotations

from textcat.cli.stages import make_stage_command

command = make_stage_command(
    "train",
    "Train the learners and set their thresholds.",
    "Writes a model directory with certificates for each run to data/models/EXPERIMENT/RUN. Categories are trained in "
    "blocks; an interrupted run continues with the next block.",
)
