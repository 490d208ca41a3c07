"""The layer cache: a pass with heads replaced in layer l computes only the layers from l up.

One full pass records the output of every layer. In a later pass over the same batch, each layer
below the first changed one is replaced, for the time of the call, by a stub that returns what was
recorded, so that the layer above gets its input without the work. Nothing of the model is
re-implemented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encode import Batch
from headscope.errors import UserError
from headscope.models.model import Model
from headscope.models.observe import Listener, current_watch
from headscope.models.replace import FittedReplacement, Replacement, StackedReplacement
from headscope.models.shape import text_config


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of a layer in the recorded pass.

    Parameters
    ----------
    before
        How many layers of each stack had been computed before.
    output
        What the layer returned.
    """

    before: dict[str, int]
    output: Any


class LayerCache:
    """Forward passes over one batch that begin at the first layer in which anything changes.

    :meth:`record` runs the whole network once. :meth:`forward` then returns what
    :meth:`Model.forward` returns with the same replacement, sooner. Calls of one module that stands
    for several layers (ALBERT) are distinguished.

    Parameters
    ----------
    model
        The model to run.

    Attributes
    ----------
    skips : bool
        False where attention is computed outside of any list of layers, or where layers use the
        keys of others. Every pass is then a full one.

    Examples
    --------
    >>> import torch
    >>> import headscope as hs
    >>> from headscope.encode import collate
    >>> model = hs.load("demo")
    >>> encoder = model.encoder(max_length=16, long="truncate", stack="encoder")
    >>> batch = collate(encoder.encode(hs.corpus.from_texts(["A dog barked."])), pad=model.pad)
    >>> cache = LayerCache(model)
    >>> with torch.inference_mode():
    ...     _ = cache.record(batch)
    ...     output = cache.forward(hs.Replacement("6-1"))  # computes only the sixth layer
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.blocks = layer_blocks(model.network)
        self.skips = True
        self._calls: list[LayerCall] = []
        self._end: dict[str, int] = {}
        self._batch: Batch | None = None
        self._recorded: FittedReplacement | None = None

    def record(
        self,
        batch: Batch,
        *,
        replacement: Replacement | FittedReplacement | None = None,
        listeners: Sequence[Listener] = (),
        **inputs: Any,
    ) -> Any:
        """Run a full pass, and keep the output of every layer until the next recording.

        Parameters
        ----------
        batch, replacement, listeners, **inputs
            See :meth:`Model.forward`.

        Returns
        -------
        The output of the network.
        """
        self._batch, self._calls, self._end = batch, [], {}
        self._recorded = self._fit(replacement)
        inside = 0

        def keep(block: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
            nonlocal inside
            watch = current_watch()
            before = dict(watch.counts) if watch else {}
            output = forwards[block](*arguments, **options)
            self._end = dict(watch.counts) if watch else {}
            inside += sum(self._end.values()) - sum(before.values())
            self._calls.append(LayerCall(before, output))
            return output

        with _replaced(self.blocks, keep) as forwards:
            output = self.model.forward(
                batch, replacement=self._recorded, listeners=listeners, **inputs
            )
        # Later layers of Gemma 4 use keys and values of earlier ones, which must be computed.
        alone = not getattr(text_config(self.model.network), "num_kv_shared_layers", 0)
        layers = sum(shape.layers for shape in self.model.shapes.values())
        self.skips = alone and inside == layers
        return output

    def forward(
        self,
        replacement: Replacement | FittedReplacement | None = None,
        *,
        listeners: Sequence[Listener] = (),
        layer: tuple[str, int] | None = None,
        **inputs: Any,
    ) -> Any:
        """Run the recorded batch with heads replaced.

        Parameters
        ----------
        replacement
            The heads to replace, in place of those of the recorded pass.
        listeners
            Called only with the layers that are computed.
        layer
            A stack, and the number of a layer of it, from 0, which is to be computed in any case.
        **inputs
            See :meth:`Model.forward`.

        Returns
        -------
        The output of the network.

        Raises
        ------
        UserError
            If no batch has been recorded.
        """
        fitted = self._fit(replacement)
        batch, start = self._recorded_batch(), self.start(fitted)
        if layer is not None and self.skips:
            stack, number = layer
            start = min(start, self._call_of(stack, self.model.shape(stack).place(number)))
        return self._run(batch, fitted, start, listeners, inputs)

    def forward_stacked(
        self,
        replacements: Sequence[Replacement | FittedReplacement],
        *,
        listeners: Sequence[Listener] = (),
        **inputs: Any,
    ) -> Any:
        """Run the recorded batch once for each replacement, all in one pass.

        Small batches leave a processor idle; several of them at once do not. The layers from the
        first change of any replacement up are computed.

        Parameters
        ----------
        replacements
            What is replaced in the first copy of the examples, in the second, and so on.
        listeners
            Called only with the layers that are computed, each with all copies.
        **inputs
            See :meth:`Model.forward`.

        Returns
        -------
        The output of the network for all copies, one after the other.

        Raises
        ------
        UserError
            If no batch has been recorded.
        """
        fitted = tuple(replacement.fit(self.model) for replacement in replacements)
        batch = repeated_batch(self._recorded_batch(), len(fitted))
        start = min(map(self.start, fitted))
        return self._run(batch, StackedReplacement(fitted), start, listeners, inputs)

    def _recorded_batch(self) -> Batch:
        if self._batch is None:
            raise UserError("no batch has been recorded", hint="call record(batch) first")
        return self._batch

    def _run(
        self,
        batch: Batch,
        replacement: FittedReplacement | StackedReplacement | None,
        start: int,
        listeners: Sequence[Listener],
        inputs: Mapping[str, Any],
    ) -> Any:
        """Run a batch, which may hold the recorded one several times, from one layer up."""
        recorded = len(self._recorded_batch().ids)
        first = self._calls[start].before if start < len(self._calls) else self._end
        done = 0

        def skip(block: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
            nonlocal done
            done += 1
            if done <= start:
                return _repeated(self._calls[done - 1].output, recorded, len(batch.ids) // recorded)
            return forwards[block](*arguments, **options)

        with _replaced(self.blocks if start else [], skip) as forwards:
            return self.model.forward(
                batch,
                replacement=replacement,
                listeners=listeners,
                first=first if start else None,
                **inputs,
            )

    def start(self, replacement: Replacement | FittedReplacement | None) -> int:
        """The first call of a layer that must be computed.

        It is the one in which the replacement first differs from the recorded one, or the very
        first where layers cannot be skipped.
        """
        if not self.skips:
            return 0
        fitted = self._fit(replacement)
        first = len(self._calls)
        for stack, shape in self.model.shapes.items():
            for place, layer in enumerate(shape.numbers):
                if _changed(self._recorded, fitted, stack, layer):
                    first = min(first, self._call_of(stack, place))
                    break
        return max(first, 0)

    def _call_of(self, stack: str, place: int) -> int:
        """The call in which a layer with attention, counted from 0, was computed."""
        return sum(call.before.get(stack, 0) <= place for call in self._calls) - 1

    def _fit(self, replacement: Replacement | FittedReplacement | None) -> FittedReplacement | None:
        return None if replacement is None else replacement.fit(self.model)


def repeated_batch(batch: Batch, times: int) -> Batch:
    """A batch that holds its examples several times, one copy after the other."""
    copies = (times, 1)
    return replace(
        batch,
        items=batch.items * times,
        ids=np.tile(batch.ids, copies),
        types=np.tile(batch.types, copies),
        mask=np.tile(batch.mask, copies),
    )


def _repeated(output: Any, size: int, times: int) -> Any:
    """What a layer returned for a batch of some size, as it would be for several copies of it."""
    if times == 1:
        return output
    if isinstance(output, Tensor):
        return torch.cat([output] * times) if output.dim() and len(output) == size else output
    if isinstance(output, tuple | list):
        return type(output)(_repeated(part, size, times) for part in output)
    return output


def layer_blocks(network: nn.Module) -> list[nn.Module]:
    """The layers of all stacks: the outermost members of lists of modules.

    T5 has lists within its layers, too.
    """
    blocks: list[nn.Module] = []
    for child in network.children():
        blocks += list(child) if isinstance(child, nn.ModuleList) else layer_blocks(child)
    return blocks


def _changed(
    first: FittedReplacement | None, second: FittedReplacement | None, stack: str, layer: int
) -> bool:
    """Whether two replacements do different things to a layer."""
    in_first = first.at(stack, layer) if first else []
    in_second = second.at(stack, layer) if second else []
    if not in_first and not in_second:
        return False
    if first is None or second is None or in_first != in_second:
        return True
    if (first.way, first.window) != (second.way, second.window):
        return True
    return first.way == "mean" and first.means[layer] is not second.means[layer]


@contextmanager
def _replaced(
    blocks: Sequence[nn.Module], instead: Callable[..., Any]
) -> Iterator[dict[nn.Module, Any]]:
    """Send each block's forward to ``instead(block, arguments, options)`` inside.

    Yields the forwards that the blocks had.
    """
    forwards = {block: block.forward for block in blocks}
    with ExitStack() as stack:
        for block in forwards:
            # A forward that someone (accelerate, say) put on the instance before us must come back.
            stack.callback(_restore, block, vars(block).get("forward"))
            vars(block)["forward"] = lambda *arguments, _block=block, **options: instead(
                _block, arguments, options
            )
        yield forwards


def _restore(block: nn.Module, own: Any) -> None:
    if own is None:
        del vars(block)["forward"]
    else:
        vars(block)["forward"] = own
