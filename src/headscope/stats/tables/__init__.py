"""Tables of results, by kind of result."""
