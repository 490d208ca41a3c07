"""Parsing plain text with spaCy, and a cache for the parses."""
