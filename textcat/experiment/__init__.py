"""Experiments: typed settings read from YAML, the plan of stages, and the runner of the plan."""
