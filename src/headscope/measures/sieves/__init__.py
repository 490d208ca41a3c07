"""Sieves: for each token, the tokens that a role attends to (Pande et al. 2021)."""
