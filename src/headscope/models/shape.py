"""The shape of a stack of layers."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.heads import Head, HeadsLike, all_heads, parse_heads


@dataclass(frozen=True, repr=False)
class Shape:
    """The shape of one stack of a model.

    Parameters
    ----------
    layers
        Number of layers with attention.
    heads
        Number of query heads in each layer.
    width
        Length of one head's output vector; the largest one where layers differ.
    numbers
        The model's own numbers of the layers with attention, from 0. They have gaps in hybrid
        models, where other layers have no attention.
    widths
        Length of one head's output vector in each of these layers.
    sink
        Whether rows of attention sum to less than 1, because the rest goes to a learned sink
        (GPT-OSS).
    kv_heads
        Number of heads with keys and values of their own in each of these layers. Where queries
        are grouped, there are fewer than query heads, and neighbouring ones share them.

    Examples
    --------
    >>> Shape(layers=12, heads=12, width=64)
    Shape(layers=12, heads=12, width=64)
    >>> hybrid = Shape(layers=2, heads=1, width=64, numbers=(3, 7))
    >>> hybrid, hybrid.labels, [str(head) for head in hybrid.every_head]
    (Shape(layers=2, heads=1, width=64, numbers=(3, 7)), (4, 8), ['4-1', '8-1'])
    >>> Shape(layers=2, heads=4, width=8, kv_heads=(2, 2))
    Shape(layers=2, heads=4, width=8, kv_heads=(2, 2))
    """

    layers: int
    heads: int
    width: int
    numbers: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    sink: bool = False
    kv_heads: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", self.numbers or tuple(range(self.layers)))
        object.__setattr__(self, "widths", self.widths or (self.width,) * self.layers)
        object.__setattr__(self, "kv_heads", self.kv_heads or (self.heads,) * self.layers)

    def __repr__(self) -> str:
        parts = [f"layers={self.layers}, heads={self.heads}, width={self.width}"]
        if not self.counted:
            parts.append(f"numbers={self.numbers}")
        if not self.even:
            parts.append(f"widths={self.widths}")
        if self.sink:
            parts.append("sink=True")
        if self.grouped:
            parts.append(f"kv_heads={self.kv_heads}")
        return f"Shape({', '.join(parts)})"

    @property
    def counted(self) -> bool:
        """Whether all layers have attention, so that their numbers have no gaps."""
        return self.numbers == tuple(range(self.layers))

    @property
    def even(self) -> bool:
        """Whether the heads of all layers are equally wide."""
        return len(set(self.widths)) <= 1

    @property
    def grouped(self) -> bool:
        """Whether query heads share keys and values in some layer."""
        return any(count != self.heads for count in self.kv_heads)

    @property
    def labels(self) -> tuple[int, ...]:
        """The numbers of the layers from 1, as people count them."""
        return tuple(number + 1 for number in self.numbers)

    @property
    def every_head(self) -> tuple[Head, ...]:
        """All heads, layer by layer."""
        return all_heads(self.numbers, self.heads)

    def parse(self, heads: HeadsLike) -> tuple[Head, ...]:
        """Read the names of heads; see :func:`headscope.heads.parse_heads`."""
        return parse_heads(heads, layers=self.numbers, heads=self.heads)

    def place(self, layer: int) -> int:
        """Where a layer stands among those with attention, from 0; ``layer`` is its own number."""
        return self.numbers.index(layer)

    def width_of(self, head: Head) -> int:
        """The length of one head's output vector."""
        return self.widths[self.place(head.layer)]
