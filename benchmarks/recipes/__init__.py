"""What each kind of measurement costs per sequence at BERT-base size, and what that means at scale.

``python -m benchmarks.recipes`` measures and writes ``benchmarks/recipes/recorded.json``;
``python -m benchmarks.recipes.page`` writes the tables of the docs from it.
"""
