"""Commands that train, or disable heads: probe, ablate, tune, tasks, label."""
