"""Speed, measured beside peers in one run: ratios, machine facts, no timed tests."""
