"""Pande et al. 2021, "The heads hypothesis"."""
