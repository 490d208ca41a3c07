"""The network that sorts maps into the five pattern classes (Kovaleva et al. 2019, §4.1): 8
convolutional layers with ReLU, for maps of any size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional

from headscope.errors import UserError
from headscope.files import Damaged, read_tensors, write_tensors
from headscope.measures.patterns import CLASSES as CLASSES

SHIPPED = Path(__file__).parent / "data" / "network.safetensors"
SIZE = 32
CLIPPED, ROW = 0.01, 0.64
"""The share of cells that are darkest; in maps of more than 64 tokens so few that a single column
would still be among them: a part of a row's length.
"""
BESIDE, CLEARLY = 3, 0.25
"""A cell is compared with so many cells on either side of it in its row; this much darker is
clearly darker.
"""
SEEN = 6
"""How many channels a picture has."""
CHANNELS = (16, 16, 24, 24, 32, 32, 48, 48)
STRIDED = frozenset({1, 3, 5})
"""The layers (from 0) that halve the picture."""


def pictures(attention: Tensor) -> Tensor:
    """Maps of one length as pictures of one size: (map, query, key) -> (map, SEEN, SIZE, SIZE).

    The first channel is what a person sees when labelling: roots of weights, relative to the map's
    99th percentile. Then the roots as they are, and, for each cell, the mean of the first along its
    column and along its diagonal. The last two are the same means of how clearly each cell stands
    out from those beside it, as a person judges a line. These four are shrunk by their maximum: a
    line one token wide stays as dark as it was.
    """
    roots = attention.clamp(0.0, 1.0).sqrt()
    dark = percentile(roots.flatten(1), 1.0 - min(CLIPPED, ROW / roots.shape[-1])).clamp_min(1e-3)[
        :, None, None
    ]
    shade = (roots / dark).clamp_max(1.0)
    cells = functional.adaptive_avg_pool2d(torch.stack([shade, roots], 1), SIZE)
    clear = stands_out(shade)
    lines = functional.adaptive_max_pool2d(
        torch.stack(
            [
                column_means(shade),
                diagonal_means(shade),
                column_means(clear, shade),
                diagonal_means(clear),
            ],
            1,
        ),
        SIZE,
    )
    return torch.cat([cells, lines], 1)


def stands_out(shade: Tensor) -> Tensor:
    """How clearly each cell is darker than the mean of those beside it in its row: 0 for not at
    all, 1 for clearly.
    """
    ones = torch.ones(1, 1, shade.shape[-1], dtype=shade.dtype, device=shade.device)
    wide = 2 * BESIDE + 1
    sums, cells = (
        wide * functional.avg_pool1d(functional.pad(rows, (BESIDE, BESIDE)), wide, 1)
        for rows in (shade, ones)
    )
    beside = (sums - shade) / (cells - 1).clamp_min(1)
    return ((shade - beside) / CLEARLY).clamp(0.0, 1.0)


def percentile(values: Tensor, share: float) -> Tensor:
    """The quantile of each row, interpolated as numpy does; torch's own refuses maps of thousands
    of tokens.
    """
    rank = share * (values.shape[1] - 1)
    low, high = (
        torch.kthvalue(values, 1 + min(int(rank) + step, values.shape[1] - 1), dim=1).values
        for step in (0, 1)
    )
    return low + (high - low) * (rank - int(rank))


def column_means(shade: Tensor, seen: Tensor | None = None) -> Tensor:
    """Each cell's column mean; in a causal map (nothing of ``seen`` above the diagonal) only over
    the rows that see it.
    """
    length = shade.shape[-1]
    causal = (shade if seen is None else seen).triu(1).sum((1, 2)) == 0
    rows = torch.where(
        causal[:, None], torch.arange(length, 0, -1, device=shade.device)[None], length
    )
    return (shade.sum(1) / rows)[:, None].expand_as(shade)


def diagonal_means(shade: Tensor) -> Tensor:
    """The mean along each cell's diagonal; one shorter than a quarter of the map counts as a
    quarter, lest a corner look like a line.
    """
    length = shade.shape[-1]
    places = torch.arange(length, device=shade.device)
    number = places[None] - places[:, None] + length - 1
    sums = shade.new_zeros(len(shade), 2 * length - 1).index_add_(
        1, number.flatten(), shade.flatten(1)
    )
    cells = (
        length - (torch.arange(2 * length - 1, device=shade.device) - length + 1).abs()
    ).clamp_min(-(-length // 4))
    return (sums / cells)[:, number]


class PatternNet(nn.Module):
    """Pictures (map, SEEN, SIZE, SIZE) -> a score for each class, (map, 5)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = SEEN
        for number, channels in enumerate(CHANNELS):
            layers += [
                nn.Conv2d(
                    width, channels, 3, stride=2 if number in STRIDED else 1, padding=1, bias=False
                ),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
            ]
            width = channels
        self.layers = nn.Sequential(*layers)
        self.dropout = nn.Dropout(0.2)
        self.last = nn.Linear(2 * width, len(CLASSES))

    def forward(self, seen: Tensor) -> Tensor:
        """The mean and the maximum of each feature over the picture, weighed for each class."""
        features = self.layers(seen)
        pooled = torch.cat([features.mean((2, 3)), features.amax((2, 3))], 1)
        scores: Tensor = self.last(self.dropout(pooled))
        return scores


def classify(network: PatternNet, attention: Tensor, lengths: Sequence[int]) -> Tensor:
    """The class of every map of a padded batch: (batch, head, query, key) -> (batch, head). Padding
    is cut away before a map is resized.
    """
    heads = attention.shape[1]
    seen = torch.cat(
        [pictures(attention[index, :, :length, :length]) for index, length in enumerate(lengths)]
    )
    scores: Tensor = network(seen)
    return scores.argmax(1).reshape(len(lengths), heads)


def save_network(path: str | Path, network: PatternNet) -> None:
    """Write a network's weights as safetensors, whole or not at all."""
    weights = {name: value.cpu().numpy() for name, value in network.state_dict().items()}
    write_tensors(Path(path), weights)


def load_network(path: str | Path = SHIPPED) -> PatternNet:
    """Read a network; without a path, the one that comes with Headscope."""
    hint = "give a file that headscope.measures.patterns.network.save_network wrote"
    if not Path(path).is_file():
        raise UserError(f"no such file: {path}", hint=hint)
    network = PatternNet()
    try:
        weights = read_tensors(Path(path))
        network.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    except (SafetensorError, OSError, RuntimeError, Damaged) as error:
        raise UserError(
            f"{path} does not hold the weights of a pattern network: {error}", hint=hint
        ) from error
    return network.eval()


def digest(network: PatternNet) -> str:
    """A short digest of the weights, to say which network a result is of."""
    sha256 = hashlib.sha256()
    for name, value in network.state_dict().items():
        sha256.update(name.encode() + value.cpu().numpy().tobytes())
    return sha256.hexdigest()[:16]
