"""Measurements of speed: the same matrix, the same objective, the same accuracy, one thread."""
