"""``headscope paper``: the recipes of the papers, one command each."""

from headscope.cli.paper import clark2019, jo2020, kovaleva2019, pande2021

__all__ = ["clark2019", "jo2020", "kovaleva2019", "pande2021"]
