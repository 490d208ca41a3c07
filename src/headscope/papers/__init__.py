"""Papers: one recipe a paper, the published numbers beside ours."""

from headscope.papers.clark2019.recipe import Clark2019
from headscope.papers.jo2020.recipe import Jo2020
from headscope.papers.kovaleva2019.recipe import Kovaleva2019
from headscope.papers.pande2021.recipe import Pande2021, corpus_names
from headscope.papers.recipe import Options, Workshop

PAPERS = {
    "clark2019": "Clark et al. 2019, What Does BERT Look At?",
    "jo2020": "Jo and Myaeng 2020, Roles and Utilization of Attention Heads",
    "kovaleva2019": "Kovaleva et al. 2019, Revealing the Dark Secrets of BERT",
    "pande2021": "Pande et al. 2021, The heads hypothesis",
}

__all__ = [
    "PAPERS",
    "Clark2019",
    "Jo2020",
    "Kovaleva2019",
    "Options",
    "Pande2021",
    "Workshop",
    "corpus_names",
]
