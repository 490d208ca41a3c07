"""Figures of roles (Pande et al. 2021)."""
