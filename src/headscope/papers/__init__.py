"""Papers: one recipe a paper, the published numbers beside ours."""

from headscope.papers.base import Options, Workshop
from headscope.papers.clark2019 import Clark2019

PAPERS = {"clark2019": "Clark et al. 2019, What Does BERT Look At?"}

__all__ = ["PAPERS", "Clark2019", "Options", "Workshop"]
