"""Tables of a results file: table."""
