"""Probing classifiers on the output of every head and layer (Jo and Myaeng 2020)."""
