"""One job per file. Those of other tools import only what their environment has."""
