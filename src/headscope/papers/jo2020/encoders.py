"""Which published encoder a model is: its family and its shape decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.papers.jo2020 import facts

FAMILIES = {"bert": "BERT", "electra": "ELECTRA", "gpt2": "GPT2", "openai-gpt": "GPT"}
"""The paper's name of an architecture, by transformers' name of it."""


def published_encoder(kind: str, layers: int, heads: int) -> str:
    """Name the encoder of Table 1 that has a model's family and shape.

    Parameters
    ----------
    kind
        The architecture, as transformers calls it.
    layers, heads
        Layers, and heads of each.

    Returns
    -------
    str
        Empty if the paper has no such encoder.

    Examples
    --------
    >>> published_encoder("bert", 24, 16), published_encoder("electra", 12, 4)
    ('BERT large', 'ELECTRA small')
    >>> published_encoder("bert", 6, 12)
    ''
    """
    family = FAMILIES.get(kind, "")
    return next(
        (
            row.name
            for row in facts.TABLE_1
            if family
            and row.name.split()[0] == family
            and (row.layers, row.heads) == (layers, heads)
        ),
        "",
    )


def encoder_of(provenance: Mapping[str, Any]) -> str:
    """Name the encoder of Table 1 that results are of; empty if the paper has no such encoder.

    Parameters
    ----------
    provenance
        The provenance of the results.
    """
    model = provenance["model"]
    return published_encoder(model.get("type", ""), model["layers"], model["heads"])
