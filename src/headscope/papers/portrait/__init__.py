"""A portrait of a language model: what all of its heads do, on one page."""
