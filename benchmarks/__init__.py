"""Benchmarks next to peers: `python -m benchmarks`."""
