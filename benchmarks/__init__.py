"""Speed and memory of textcat next to other libraries: `python -m benchmarks --help`."""
