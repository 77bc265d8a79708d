"""Contingency tables, measures, curves and significance tests."""
