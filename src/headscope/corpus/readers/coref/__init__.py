"""Readers of coreference corpora."""
