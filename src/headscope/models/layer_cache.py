"""The layer-input cache (K7): a pass with heads changed in layer l computes only the layers from l up.

One full pass records what every layer gave. In a later pass over the same batch each layer below the first changed one is replaced, for the time of
the call, by a stub that hands out what was recorded: the layer above gets its input without the work. Nothing of the model is re-implemented.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn

from headscope.encode import Batch
from headscope.errors import UserError
from headscope.models.attention import current_watch
from headscope.models.model import Model
from headscope.models.replacement import Replacement
from headscope.models.view import Listener


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a layer in the recorded pass: how many layers of each stack lay behind it, and what it gave."""

    before: dict[str, int]
    output: Any


class LayerCache:
    """Forward passes over one batch that begin at the first layer in which anything changes.

    ``record`` runs the whole network once; ``forward`` gives what ``Model.forward`` gives with the same replacement, sooner. A module that stands for
    several layers (ALBERT) is told apart by its calls. ``skips`` is false where attention is computed outside of any list of layers: then every pass is a full one.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.blocks = layer_blocks(model.network)
        self.skips = True
        self._calls: list[Call] = []
        self._end: dict[str, int] = {}
        self._batch: Batch | None = None
        self._replacement: Replacement | None = None

    def record(
        self,
        batch: Batch,
        *,
        replacement: Replacement | None = None,
        listeners: Sequence[Listener] = (),
    ) -> Any:
        """A full pass, with what every layer gave kept until the next one."""
        self._batch, self._replacement, self._calls, self._end = batch, replacement, [], {}
        inside = 0

        def keep(block: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
            nonlocal inside
            watch = current_watch()
            before = dict(watch.counts) if watch else {}
            output = forwards[block](*arguments, **options)
            self._end = dict(watch.counts) if watch else {}
            inside += sum(self._end.values()) - sum(before.values())
            self._calls.append(Call(before, output))
            return output

        with _replaced(self.blocks, keep) as forwards:
            output = self.model.forward(batch, replacement=replacement, listeners=listeners)
        self.skips = inside == sum(shape.layers for shape in self.model.shapes.values())
        return output

    def forward(
        self, replacement: Replacement | None = None, *, listeners: Sequence[Listener] = ()
    ) -> Any:
        """The recorded batch with these heads replaced; listeners hear only of the layers that are computed."""
        if self._batch is None:
            raise UserError("nothing is recorded yet", hint="call record(batch) first")
        start = self.start(replacement) if self.skips else 0
        first = self._calls[start].before if start < len(self._calls) else self._end
        done = 0

        def skip(block: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
            nonlocal done
            done += 1
            return (
                self._calls[done - 1].output
                if done <= start
                else forwards[block](*arguments, **options)
            )

        with _replaced(self.blocks if start else [], skip) as forwards:
            return self.model.forward(
                self._batch,
                replacement=replacement,
                listeners=listeners,
                first=first if start else None,
            )

    def start(self, replacement: Replacement | None) -> int:
        """The first call of a layer that must be computed: the one in which the replacement first differs from the recorded one."""
        first = len(self._calls)
        for stack, shape in self.model.shapes.items():
            layer = next(
                (
                    layer
                    for layer in range(shape.layers)
                    if _changed(self._replacement, replacement, stack, layer)
                ),
                None,
            )
            if layer is not None:
                first = min(
                    first, sum(call.before.get(stack, 0) <= layer for call in self._calls) - 1
                )
        return max(first, 0)


def layer_blocks(network: nn.Module) -> list[nn.Module]:
    """The layers of all stacks: the outermost members of lists of modules (T5 has lists within its layers, too)."""
    found: list[nn.Module] = []
    for child in network.children():
        found += list(child) if isinstance(child, nn.ModuleList) else layer_blocks(child)
    return found


def _changed(one: Replacement | None, other: Replacement | None, stack: str, layer: int) -> bool:
    """Whether two replacements do different things to a layer."""
    mine, theirs = (
        replacement.at(stack, layer) if replacement else [] for replacement in (one, other)
    )
    if not mine and not theirs:
        return False
    if one is None or other is None or mine != theirs or one.way != other.way:
        return True
    return one.way == "mean" and one.means[layer] is not other.means[layer]


@contextmanager
def _replaced(blocks: Sequence[nn.Module], instead: Any) -> Iterator[dict[nn.Module, Any]]:
    """Every block's forward, on the instance, goes to ``instead(block, arguments, options)`` inside; gives the forwards that they had."""
    forwards = {block: block.forward for block in blocks}
    with ExitStack() as stack:
        for block in forwards:
            own = vars(block).get(
                "forward"
            )  # one put on the instance before us (by accelerate, say) must come back
            stack.callback(_restore, block, own)
            vars(block)["forward"] = lambda *arguments, _block=block, **options: instead(
                _block, arguments, options
            )
        yield forwards


def _restore(block: nn.Module, own: Any) -> None:
    if own is None:
        del vars(block)["forward"]
    else:
        vars(block)["forward"] = own
