"""The ten probing tasks, made from any treebank."""
