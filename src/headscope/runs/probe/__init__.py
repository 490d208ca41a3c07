"""Probing classifiers on every head and layer (Jo and Myaeng 2020)."""
