"""Pattern classes (Kovaleva et al. 2019, §4.1, Fig. 1 and 2): how often the maps of a head are
vertical, diagonal, both, block or heterogeneous.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from headscope.encode import Batch
from headscope.measures.base import Measure
from headscope.measures.patterns.network import CLASSES, SHIPPED, classify, digest, load_network
from headscope.models import LayerView


class Pattern(Measure):
    """The share of inputs on which a head's map is of each class, as a trained network sees it.

    It must be asked for by name.

    Parameters
    ----------
    network
        The weights of a network of your own. Default: the network shipped with Headscope.
    """

    name = "pattern"
    title = "Pattern classes"
    unit = "share of inputs"
    source = "Kovaleva et al. 2019, §4.1, Figure 2"
    dims = {"pattern": CLASSES}
    offered = False
    weightable = False

    def __init__(self, network: str | Path | None = None) -> None:
        self.network = network
        self.classifier = load_network(Path(network) if network else SHIPPED)

    def attributes(self) -> dict[str, str]:
        """With a digest of the network that told the classes."""
        return {**super().attributes(), "network": digest(self.classifier)}

    def identity(self) -> str:
        """Another network makes another run."""
        return digest(self.classifier)

    def prepare(self, batch: Batch, device: Any) -> list[int]:
        """The number of real tokens of each example."""
        self.classifier.to(device)
        return [len(item) for item in batch.items]

    def layer(self, view: LayerView, attention: Tensor, prepared: list[int]) -> Tensor:
        """(batch, head, class): 1 for the class of the map, else 0."""
        return functional.one_hot(classify(self.classifier, attention, prepared), len(CLASSES)).to(
            torch.float32
        )
