"""Fuzzing of everything that reads files or requests: ``make fuzz``."""
