"""Errors, corrections, resampling: the arithmetic of tests."""
