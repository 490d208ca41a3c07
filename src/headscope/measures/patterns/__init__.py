"""Pattern classes (Kovaleva et al. 2019, §4.1, Fig. 1 and 2): how often the maps of a head are
vertical, diagonal, both, block or heterogeneous. The network that tells them, labelled maps and
training are in modules of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.measures.base import Measure
from headscope.measures.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Batch
    from headscope.models import LayerView

CLASSES = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
RELIABLE, TESTED = 64, 128
"""The most tokens of a map up to which the shipped network does well on test maps, and on which it
was tested at all.
"""


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
    says = "{pattern} pattern"
    labels = {"pattern": {name: name.replace("+", " and ") for name in CLASSES}}
    offered = False
    weightable = False

    def __init__(self, network: str | Path | None = None) -> None:
        from headscope.measures.patterns.network import SHIPPED, load_network

        self.network = network
        self.classifier = load_network(Path(network) if network else SHIPPED)

    def attributes(self) -> dict[str, str]:
        """With a digest of the network that told the classes."""
        return {**super().attributes(), "network": self.identity()}

    def identity(self) -> str:
        """Another network makes another run."""
        from headscope.measures.patterns.network import digest

        return digest(self.classifier)

    def prepare(self, batch: Batch, device: Any) -> list[int]:
        """The number of real tokens of each example."""
        self.classifier.to(device)
        return [len(item) for item in batch.items]

    def layer(self, view: LayerView, attention: Tensor, prepared: list[int]) -> Tensor:
        """(batch, head, class): 1 for the class of the map, else 0."""
        from headscope.measures.patterns.network import classify

        classes = classify(self.classifier, attention, prepared)
        return torch.nn.functional.one_hot(classes, len(CLASSES)).to(torch.float32)
