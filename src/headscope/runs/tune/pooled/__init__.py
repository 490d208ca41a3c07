"""Classifiers on a chosen layer or on chosen heads (Jo and Myaeng 2020, §5.2)."""
