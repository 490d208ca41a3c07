"""Runs: what takes time. Surveys, comparisons, ablations, probes and fine-tuning."""
