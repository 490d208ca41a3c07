"""Making the ten probing tasks of Conneau et al. (2018) from any treebank."""
