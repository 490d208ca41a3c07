"""Parsing plain text with spaCy, and keeping what was parsed."""
