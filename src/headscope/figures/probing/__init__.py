"""Figures of probing results (Jo and Myaeng 2020)."""
