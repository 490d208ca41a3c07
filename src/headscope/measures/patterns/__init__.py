"""Pattern classes (Kovaleva et al. 2019): the measure, its network, labelled maps and training."""
