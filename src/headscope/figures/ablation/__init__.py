"""Figures of ablation: scores with heads or layers disabled, gradient importance, pruning."""
