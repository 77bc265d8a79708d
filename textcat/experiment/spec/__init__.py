"""Experiment files: typed settings, loading, schema."""
