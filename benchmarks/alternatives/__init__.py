"""Headscope against other tools: the same jobs on the same models and texts, in one run."""
