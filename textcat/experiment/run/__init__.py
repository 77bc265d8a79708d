"""Plan an experiment, run it, and write its results."""
