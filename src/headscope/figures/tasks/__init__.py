"""Figures of several tasks side by side (Kovaleva et al. 2019, Figures 5 to 9)."""
