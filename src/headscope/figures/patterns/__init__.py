"""Figures of pattern classes (Kovaleva et al. 2019)."""
