"""Benchmarks: ratios measured within one run. ``python -m benchmarks`` prints the table."""
