"""All maps of one text with their pattern classes (Kovaleva et al. 2019, Figure 1, Appendix A)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.measures.patterns.network import CLASSES, SHIPPED, load_network, pictures
from headscope.models import Model
from headscope.runs.attention import attention


@dataclass(frozen=True)
class ClassifiedMaps:
    """The maps of one text, and what the pattern network says of them.

    Parameters
    ----------
    texts
        The text, or the pair of texts.
    tokens
        The tokens.
    maps
        Weights, (layer, head, query, key).
    classes
        The class of each map, by layer and head.
    sureness
        The probability that the network gives to that class, (layer, head).
    numbers
        The numbers of the layers, from 1.
    """

    texts: tuple[str, ...]
    tokens: tuple[str, ...]
    maps: NDArray[Any]
    classes: list[list[str]]
    sureness: NDArray[Any]
    numbers: tuple[int, ...]

    def name(self, layer: int, head: int) -> str:
        """The head at a place, as people write it."""
        return f"{self.numbers[layer]}-{head + 1}"


def classified_maps(
    model: Model,
    texts: tuple[str, ...],
    *,
    max_length: int = 64,
    network: str | Path | None = None,
) -> ClassifiedMaps:
    """Compute all maps of one text, and classify them.

    Parameters
    ----------
    model
        A loaded model.
    texts
        A text, or a pair of texts.
    max_length
        Longer ones are cut.
    network
        The weights of a pattern network of your own. Default: the one shipped with Headscope.

    Examples
    --------
    >>> from headscope.models import load
    >>> found = classified_maps(load("demo"), ("The dog that I saw barked at the cat.",))
    >>> found.name(0, 2), found.classes[0][2]
    ('1-3', 'diagonal')
    """
    classifier = load_network(Path(network) if network else SHIPPED)
    given: Any = texts if len(texts) == 2 else texts[0]
    found = attention(model, given, max_length=max_length)
    maps = found.maps.values
    with torch.inference_mode():
        scores = [
            torch.softmax(classifier(pictures(torch.from_numpy(np.ascontiguousarray(layer)))), 1)
            for layer in maps
        ]
    shares = torch.stack(scores).numpy()
    places = shares.argmax(-1)
    return ClassifiedMaps(
        texts,
        found.tokens,
        maps,
        [[CLASSES[place] for place in row] for row in places],
        shares.max(-1),
        tuple(int(number) for number in found.maps["layer"].values),
    )
