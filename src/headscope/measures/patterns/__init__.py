"""Pattern classes (Kovaleva et al. 2019): the measure, its network, labelled maps and training."""

RELIABLE, TESTED = 64, 128
"""The most tokens of a map up to which the shipped network does well on test maps, and on which it
was tested at all.
"""
