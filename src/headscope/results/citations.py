"""BibTeX entries for Headscope and for the papers that its measures come from."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

TOOL = """@software{headscope,
  title = {Headscope: what every attention head of a transformer does},
  author = {{The Headscope developers}},
  version = {VERSION},
  year = {2026},
  license = {Apache-2.0}
}"""
PAPERS = {
    "Clark et al. 2019": """@inproceedings{clark2019,
  title = {What Does {BERT} Look At? An Analysis of {BERT}'s Attention},
  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},
  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP},
  pages = {276--286},
  year = {2019}
}""",
    "Kovaleva et al. 2019": """@inproceedings{kovaleva2019,
  title = {Revealing the Dark Secrets of {BERT}},
  author = {Kovaleva, Olga and Romanov, Alexey and Rogers, Anna and Rumshisky, Anna},
  booktitle = {Proceedings of EMNLP-IJCNLP 2019},
  pages = {4365--4374},
  year = {2019}
}""",
    "Pande et al. 2021": """@inproceedings{pande2021,
  title = {The heads hypothesis: A unifying statistical approach towards understanding
           multi-headed attention in {BERT}},
  author = {Pande, Madhura and Budhraja, Aakriti and Nema, Preksha and Kumar, Pratyush and
            Khapra, Mitesh M.},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2021}
}""",
    "Jo and Myaeng 2020": """@inproceedings{jo2020,
  title = {Roles and Utilization of Attention Heads in Transformer-based Neural Language Models},
  author = {Jo, Jae-young and Myaeng, Sung-Hyon},
  booktitle = {Proceedings of ACL 2020},
  year = {2020}
}""",
    "Michel et al. 2019": """@inproceedings{michel2019,
  title = {Are Sixteen Heads Really Better than One?},
  author = {Michel, Paul and Levy, Omer and Neubig, Graham},
  booktitle = {Advances in Neural Information Processing Systems 32},
  year = {2019}
}""",
    "Wu et al. 2024": """@article{wu2024,
  title = {Retrieval Head Mechanistically Explains Long-Context Factuality},
  author = {Wu, Wenhao and Wang, Yizhong and Xiao, Guangxuan and Peng, Hao and Fu, Yao},
  journal = {arXiv preprint arXiv:2404.15574},
  year = {2024}
}""",
}
"""Entries by the way in which a measure's source names them."""


def citations(atlas: Atlas | None = None) -> str:
    """BibTeX entries for Headscope and, given results, for the papers behind their measures.

    Parameters
    ----------
    atlas
        Results. Default: all papers that Headscope implements.

    Examples
    --------
    >>> print(citations().splitlines()[0])
    @software{headscope,
    """
    tool = TOOL.replace("VERSION", version("headscope"))
    if atlas is None:
        return "\n\n".join([tool, *PAPERS.values()])
    sources = " ".join(str(atlas[name].attrs.get("source", "")) for name in atlas)
    return "\n\n".join([tool, *(entry for name, entry in PAPERS.items() if name in sources)])
