"""Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT"."""
