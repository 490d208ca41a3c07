"""Benchmarks: ratios measured within one run, on the machine at hand. ``python -m benchmarks`` prints the table."""
