"""Show that numbers have not moved between two commits: ``python tools/freeze all``."""
