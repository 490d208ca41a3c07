"""Classifiers on the last layer, a layer or heads (Jo and Myaeng 2020, §5.2)."""
