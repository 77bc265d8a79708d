"""Contingency tables, measures, curves, significance tests and comparisons."""
