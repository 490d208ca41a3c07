"""Disabling heads (Kovaleva et al. 2019, §4.6)."""
