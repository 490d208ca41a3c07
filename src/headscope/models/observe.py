"""The attention door: how a map gets out of a model.

transformers lets any name be registered as an attention implementation, and 340 architectures call
what is registered. :func:`observed_attention` is registered as ``"headscope"``. It calls the
architecture's own eager attention, so nothing is re-implemented, for a block of query rows at a
time; hands each block to the :class:`Watch` of the pass, which replaces heads and tells the
listeners; and drops it. No map is held whole unless a listener needs it.

Blocks are multiples of 16 rows with all their keys, which keeps results equal to eager attention
bit for bit. Only where a mask hides all keys after a block (causal models), those are left out,
which is up to twice as fast and within 1e-6; heads with a window then need only the keys in it.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.errors import ModelError
from headscope.models.replace import (
    Change,
    FittedReplacement,
    StackedReplacement,
    narrowed_mask,
    replaced_maps,
    replaced_outputs,
    visible_keys,
)


def observed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """The attention function that transformers calls under the name ``"headscope"``.

    The arguments are those of transformers' attention interface. Maps are returned only where they
    were computed in one block.
    """
    eager, watch = eager_function(module), current_watch()
    if watch is None:
        output, weights = eager(module, query, key, value, attention_mask, **kwargs)
        return output, weights
    query = differentiable(query) if watch.whole_maps else query
    call = Call(eager, module, query, key, value, attention_mask, kwargs)
    stack = watch.begin(module, value)
    watch.check_keys(module, call.length, key.shape[2])
    call, height, causal = watch.cut(call)
    call = watch.narrow(call)
    if causal and watch.narrows and watch.wants_no_maps and can_go_apart(call):
        return watch.end(module, None, outputs_apart(call, height)), None
    cached = max(key.shape[2] - call.length, 0) if stack != "cross" else 0
    maps, output = None, query.new_empty(0)
    for first in range(0, call.length, height):
        last = min(first + height, call.length)
        part, weights = call.rows(first, last, causal=causal)
        if watch.changes:
            visible = visible_keys(call.mask_of(first, last))
            weights, part = replaced_maps(watch.changes, weights, visible, part, value)
        watch.rows(module, weights, cached + first)
        if height >= call.length:
            maps, output = weights, part
            break
        # One tensor for all blocks: parts that stay between them would scatter the memory.
        if not first:
            output = part.new_empty(len(part), call.length, *part.shape[2:])
        output[:, first:last] = part
    return watch.end(module, maps, output), maps


def eager_function(module: nn.Module) -> Any:
    """The eager attention function of the file that defines a module's class, or a base of it."""
    for kind in type(module).__mro__:
        function = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    return None


def differentiable(values: Tensor) -> Tensor:
    """Values of which gradients can be asked, if gradients are on.

    Where all weights are frozen (adapters, quantised weights), nothing would ask for gradients, and
    maps would have none.
    """
    if values.requires_grad or not torch.is_grad_enabled():
        return values
    return values.detach().requires_grad_()


_watch: ContextVar[Watch | None] = ContextVar("headscope_watch", default=None)


def current_watch() -> Watch | None:
    """The watch of the present forward pass in this context, if there is one."""
    return _watch.get()


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Observe the forward passes that are made inside."""
    token = _watch.set(watch)
    hooks = [output.register_forward_pre_hook(watch.project) for output in watch.gates.values()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        _watch.reset(token)


MASKS = 4
"""How many masks of a pass are kept. Most models have one to three; where an index chooses the keys
of each layer (DeepSeek V3.2), every layer has its own."""
BLOCKS = 32
"""In layers of more blocks than this, we help glibc's malloc to keep the right amount of memory."""
GATHERED = 2**26
"""So many bytes are left to it. They must be more than what is computed for one block."""
KEPT = 2**25 - 2**14
"""Just below the largest size for which malloc learns to keep what is freed (32 MiB)."""
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
STATM = Path("/proc/self/statm")


class Watch:
    """One forward pass under observation.

    Numbers the layers of each stack as they are computed, replaces heads, and calls the listeners.

    Parameters
    ----------
    stacks
        The stack that each module belongs to.
    listeners
        Called in order with each layer.
    replacement
        Heads to replace, if any.
    mask
        (batch, token), true on real tokens: for architectures whose own mask cannot be seen.
    first
        How many layers of each stack a pass skips.
    whole_maps
        Compute every map in one block, even if no listener needs it.
    cached
        Whether the pass continues from cached keys, so that there are more keys than rows.
    numbers
        The model's own numbers of the layers of each stack, from 0, where they are known.
        Otherwise layers are numbered in the order of computation.
    gates
        The output projections of the attention modules with a gate before them
        (:func:`~headscope.models.projections.find_gates`). Such a layer ends when its projection
        reads what the gate lets through: only then are the outputs of its heads known.
    """

    def __init__(
        self,
        stacks: Mapping[nn.Module, str],
        listeners: Sequence[Listener],
        replacement: FittedReplacement | StackedReplacement | None,
        mask: Tensor | None,
        first: Mapping[str, int] | None = None,
        *,
        whole_maps: bool = False,
        cached: bool = False,
        numbers: Mapping[str, Sequence[int]] | None = None,
        gates: Mapping[nn.Module, nn.Module] | None = None,
    ) -> None:
        self.stacks = stacks
        self.gates = gates or {}
        self.cached = cached
        self.numbers = numbers or {}
        self.by_rows = [one for one in listeners if isinstance(one, RowListener)]
        self.at_end = [one.end if isinstance(one, RowListener) else one for one in listeners]
        self.replacement = replacement
        self.mask = mask
        self.whole_maps = (
            whole_maps
            or len(self.by_rows) < len(listeners)
            or any(listener.whole_maps for listener in self.by_rows)
        )
        # Of the present layer, where hooks see values, maps and outputs one after the other.
        self.maps: Tensor | None = None
        self.values: Tensor | None = None
        # Of a layer with a gate: its blocks, if listeners need the gate with them; its end.
        self.blocks_before: list[tuple[Tensor, int]] = []
        self.ungated: tuple[nn.Module, Tensor | None, Tensor] | None = None
        # Layers of each stack that have been computed or skipped.
        self.counts = dict(first or {})
        self._layer = ("", 0)
        # What is replaced in the present layer.
        self.changes: list[Change] = []
        # Masks are kept with the answer, so that no other takes their place in memory.
        self._hiding: dict[tuple[int, Any], tuple[bool, Tensor | None]] = {}
        self.blocks, self.resident = 1, resident()

    def begin(self, module: nn.Module, values: Tensor | None = None) -> str:
        """Enter the next layer, and return the name of its stack.

        Parameters
        ----------
        module
            The layer's attention module.
        values
            Its value vectors, (batch, key-value head, key, width), where they are known.
        """
        stack = self.stacks.get(module, "encoder")
        place = self.counts.get(stack, 0)
        self.counts[stack] = place + 1
        numbers = self.numbers.get(stack, ())
        layer = numbers[place] if place < len(numbers) else place
        self._layer = (stack, layer)
        self.changes = self.replacement.changes(stack, layer) if self.replacement else []
        self.values = values
        return stack

    def check_keys(self, module: nn.Module, rows: int, keys: int) -> None:
        """Refuse a layer whose keys are not the tokens: columns of its maps have no meaning.

        DeepSeek V4 appends keys that stand for several tokens each.

        Raises
        ------
        ModelError
            If a text attends to more or fewer keys than it has tokens.
        """
        stack, layer = self._layer
        known = self.mask is not None and not self.cached
        if known and stack != "cross" and keys != rows:
            raise ModelError(
                f"layer {layer + 1} ({type(module).__name__}) attends to {keys} keys in a text of "
                f"{rows} tokens, so that its keys are not the tokens and its heads have no maps "
                "from token to token",
                hint="choose another model; the docs list what is supported under 'Supported "
                "models'",
            )

    def cut(self, call: Call) -> tuple[Call, int, bool]:
        """How a layer is computed: the call to make, the height of its blocks, and whether each
        does without the keys after it.
        """
        whole = self.whole_maps or call.module.training or call.query.requires_grad
        height = call.length if whole else block_height(call.query, call.key)
        if height >= call.length or not can_be_cut(call):
            self.blocks = 1
            return call, call.length, False
        self.blocks = -(-call.length // height)
        if self.blocks > BLOCKS and not self._hiding and LIBC is not None:
            # Once so large a piece was freed, malloc keeps smaller ones. Else it may take every
            # block from the system anew, which costs more time than what is computed in it.
            torch.empty(KEPT, dtype=torch.uint8)
        call = call.ready()
        # The layers of a pass share a mask or two, so each is looked at once.
        key = (id(call.mask), call.eager)
        if key not in self._hiding:
            if len(self._hiding) == MASKS:
                del self._hiding[next(iter(self._hiding))]
            self._hiding[key] = (can_skip_keys(call), call.mask)
        return call, height, self._hiding[key][0]

    @property
    def narrows(self) -> bool:
        """Whether some head of the present layer has a window."""
        return any(heads and change.way == "window" for change, heads in self.changes)

    @property
    def wants_no_maps(self) -> bool:
        """Whether nobody reads maps, or the outputs of heads."""
        return not (self.whole_maps or self.by_rows)

    def narrow(self, call: Call) -> Call:
        """A call in which heads with a window see no other keys."""
        if not self.narrows:
            return call
        # Layers with a sliding window cache only the last keys: places are counted from the end.
        end = self.mask.shape[1] if self.mask is not None and self.cached else call.key.shape[2]
        return replace(call, changes=self.changes, end=end)

    def rows(self, module: nn.Module, weights: Tensor, first_row: int) -> None:
        """Show a block of rows of the layer to those who listen by rows.

        Parameters
        ----------
        module
            The layer's attention module.
        weights
            The block, (batch, head, row, key).
        first_row
            The number of the block's first row. Where there are cached keys, they count.
        """
        self.give_back()
        if module in self.gates and self.whole_maps:
            self.blocks_before.append((weights, first_row))
        else:
            self._tell_rows(module, weights, first_row, None)

    def _tell_rows(
        self, module: nn.Module, weights: Tensor, first_row: int, gate: Tensor | None
    ) -> None:
        view = LayerView(*self._layer, None, None, module, self.values, gate)
        for listener in self.by_rows:
            listener.rows(view, weights, first_row)

    def give_back(self) -> None:
        """Have glibc's malloc give freed memory back to the system, once much has gathered.

        What is computed for a block is freed with it. But what listeners keep lies in between, and
        in causal models each block is larger than the last: the pieces are too small for the next
        block, and several times as much memory is held as is used. Giving everything back after
        every block would double the time.
        """
        trim = getattr(LIBC, "malloc_trim", None)
        if self.blocks > BLOCKS and trim and resident() > self.resident + GATHERED:
            trim(0)
            self.resident = resident()

    def end(self, module: nn.Module, maps: Tensor | None, output: Tensor) -> Tensor:
        """Leave the layer: show it to the listeners.

        Parameters
        ----------
        module
            The layer's attention module.
        maps
            Its maps, if they were computed in one block.
        output
            The outputs of its heads, (batch, query, head, width).

        Returns
        -------
        Tensor
            The head outputs with replaced heads; as they were where a gate comes first.
        """
        if module in self.gates:
            self.ungated = module, maps, output
            return output
        return self._tell_end(module, maps, output, None)

    def project(self, _projection: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Leave a layer with a gate, before its output projection reads what passed the gate.

        The gate of a value is what it was multiplied by, which cannot be known where it was 0.
        """
        if self.ungated is None or current_watch() is not self:
            return None
        (module, maps, before), self.ungated = self.ungated, None
        output = args[0].reshape(before.shape)
        known = before.detach().float()
        gate = (output.detach().float() / known).where(known != 0, float("nan"))
        for weights, first_row in self.blocks_before:
            self._tell_rows(module, weights, first_row, gate)
        self.blocks_before = []
        output = self._tell_end(module, maps, output, gate)
        return (output.reshape(args[0].shape), *args[1:])

    def _tell_end(
        self, module: nn.Module, maps: Tensor | None, output: Tensor, gate: Tensor | None
    ) -> Tensor:
        if self.changes:
            output = replaced_outputs(self.changes, output, self._layer[1])
        view = LayerView(*self._layer, maps, output, module, self.values, gate)
        self.values = None
        for tell in self.at_end:
            tell(view)
        self.give_back()
        return output


def resident() -> int:
    """How many bytes of this process are in memory; 0 where the system does not say."""
    try:
        return int(STATM.read_bytes().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class LayerView:
    """One layer of a forward pass, just computed.

    The tensors are the model's own, not copies. Reduce them and let them go: keeping the maps of
    all layers fills the memory.

    Parameters
    ----------
    stack
        ``encoder``, ``decoder`` or ``cross``.
    layer
        The layer's number within its stack, from 0. Where only some layers have attention, it is
        the model's own number of the layer.
    maps
        The attention maps, whole; None where they are computed a block of rows at a time.
    outputs
        The outputs of the heads, after a gate if there is one; None until all rows are computed.
    module
        The attention module.
    values
        The value vectors, (batch, key-value head, key, width); None where they are not known. With
        grouped queries, neighbouring heads share one.
    gate
        What the outputs of the heads were multiplied by, (batch, query, head, width), NaN where it
        cannot be known; None without a gate and, in blocks of rows, unless maps are whole.
    """

    stack: str
    layer: int
    maps: Tensor | None
    outputs: Tensor | None
    module: nn.Module
    values: Tensor | None = None
    gate: Tensor | None = None

    @property
    def weights(self) -> Tensor:
        """The attention maps in the model's dtype, (batch, head, query, key).

        Raises
        ------
        ModelError
            If the maps are computed in blocks of rows, so that there is none as a whole.
        """
        if self.maps is None:
            raise ModelError(
                "the attention maps of this layer are computed in blocks of rows, and none is "
                "kept whole",
                hint="listen with a function, or an object whose whole_maps is True",
            )
        return self.maps

    @property
    def attention(self) -> Tensor:
        """The attention maps in float32, (batch, head, query, key)."""
        return self.weights.to(torch.float32)

    @property
    def output(self) -> Tensor:
        """The output of each head before the output projection, (batch, query, head, width).

        Raises
        ------
        ModelError
            If not all rows of the layer are computed yet.
        """
        if self.outputs is None:
            raise ModelError(
                "the outputs of the heads are known when all rows of a layer are computed",
                hint="read view.output in the method end, not in rows",
            )
        return self.outputs

    @property
    def heads(self) -> int:
        """The number of heads in the layer."""
        return self.output.shape[2]


@runtime_checkable
class RowListener(Protocol):
    """Observes a forward pass a block of rows at a time, so that no map is needed whole.

    For every layer, ``rows`` is called with one block after another, then ``end``.

    Attributes
    ----------
    whole_maps
        True if the listener needs every map in one block after all.
    """

    whole_maps: bool

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in the rows of a layer's maps from ``first_row`` on, (batch, head, row, key).

        The block is in the model's dtype and is dropped after the call.
        """

    def end(self, view: LayerView) -> None:
        """All rows of a layer have been taken in, and the outputs of its heads are known."""


class OutputListener:
    """Calls a function with every layer that reads the outputs of the heads, but no maps."""

    whole_maps = False

    def __init__(self, function: Callable[[LayerView], None]) -> None:
        self.function = function

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Maps are not needed."""

    def end(self, view: LayerView) -> None:
        """Call the function."""
        self.function(view)


Listener = Callable[[LayerView], None] | RowListener
"""A function, called with each layer and its whole maps; or an object that takes rows in blocks."""


STEP = 16
"""Blocks are multiples of so many rows: matrix products then round as those of the whole map do."""
WEIGHTS = 2**21
"""About so many attention weights make a block, so that it stays in the processor's cache."""
TRIAL = 2 * STEP
HIDDEN = -1e4
"""A key is hidden if so much or less is added to its score. Half precision goes to -65504."""
SLICED = frozenset({"position_bias"})
"""Arguments of attention functions that are cut like the mask: T5's position bias."""
UNUSED = frozenset({"position_ids", "cache_position", "position_embeddings", "block_indices"})
"""Arguments that are handed to every attention function and read by none of the eager ones, such as
the keys that MiniMax M3's index chooses: they are in the mask."""

Eager = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Call:
    """One call of an architecture's eager attention function, which can be made in parts.

    Parameters
    ----------
    eager
        The function.
    module, query, key, value, mask, others
        Its arguments.
    changes
        Heads with a window, which hides keys beside the mask.
    end
        How many tokens of the text there are, the cached ones among them.
    """

    eager: Eager
    module: Any
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    others: Mapping[str, Any]
    changes: Sequence[Change] = ()
    end: int = 0

    @property
    def length(self) -> int:
        """The number of query rows."""
        return self.query.shape[2]

    def rows(self, first: int, last: int, *, causal: bool = False) -> tuple[Tensor, Tensor]:
        """Outputs (batch, row, head, width) and maps (batch, head, row, key) of some rows.

        What is left at the end, if fewer than 16 rows, is computed with some of the rows before.

        Parameters
        ----------
        first, last
            The first row, and the one after the last.
        causal
            Leave out the keys after the block, which none of its rows sees. The maps hold 0 there,
            as they do anyway; sums round a little differently (1e-7).
        """
        last = min(last, self.length)
        start = max(min(first, last - STEP), 0)
        everything = self.key.shape[2]
        keys = everything - self.length + last if causal else everything
        others = {
            name: self._cut(value, start, last, keys) if name in SLICED else value
            for name, value in self.others.items()
        }
        query, mask = self.query[:, :, start:last], self._cut(self.mask, start, last, keys)
        if self.changes:
            places = torch.arange(self.end, device=query.device)
            seen = places[-everything:][:keys]
            mask = narrowed_mask(
                self.changes, mask, query, places[-self.length :][start:last], seen
            )
        output, maps = self.eager(
            self.module, query, self.key[:, :, :keys], self.value[:, :, :keys], mask, **others
        )
        if keys < everything:
            maps = functional.pad(maps, (0, everything - keys))
        if start == first:  # the very maps: gradients are asked of them
            return output, maps
        return output[:, first - start :], maps[:, :, first - start :]

    def mask_of(self, first: int, last: int) -> Tensor | None:
        """The mask of some rows."""
        return self._cut(self.mask, first, last)

    def _cut(
        self, value: Tensor | None, first: int, last: int, keys: int | None = None
    ) -> Tensor | None:
        """Rows and first keys of a mask or a bias, (batch, head, row, key).

        One row serves for all, and so does one key.
        """
        if value is None:
            return None
        rows = value[..., first:last, :] if value.shape[-2] == self.length else value
        return rows[..., :keys]

    def hides_later_keys(self) -> bool:
        """Whether no row sees a key that comes after it, by the mask."""
        keys = self.key.shape[2]
        if self.mask is None or self.mask.shape[-2:] != (self.length, keys):
            return False
        seen = self.mask if self.mask.dtype == torch.bool else self.mask > HIDDEN
        return not bool(seen.triu(keys - self.length + 1).any())

    def of_heads(self, heads: list[int]) -> Call:
        """The call for some heads alone, without windows."""
        mask = self.mask
        if mask is not None and mask.shape[1] > 1:
            mask = mask[:, heads]
        query, key, value = (part[:, heads] for part in (self.query, self.key, self.value))
        return replace(self, query=query, key=key, value=value, mask=mask, changes=())

    def in_window(self, first: int, last: int, change: FittedReplacement) -> Tensor:
        """Outputs of some rows, (batch, row, head, width), if all heads have the same window: of
        the keys after the block and outside of the window nothing is computed.
        """
        rows = torch.arange(first, last, device=self.query.device)
        early, recent = change.window
        start = max(first - recent + 1, 0)
        keys = torch.cat([torch.arange(min(early, start)), torch.arange(start, last)])
        keys = keys.to(self.query.device)
        query, mask = self.query[:, :, first:last], self._cut(self.mask, first, last)
        every = list(range(query.shape[1]))
        mask = None if mask is None else mask[..., keys]
        mask = narrowed_mask([(change, every)], mask, query, rows, keys)
        key, value = self.key[:, :, keys], self.value[:, :, keys]
        return self.eager(self.module, query, key, value, mask, **self.others)[0]

    def ready(self) -> Call:
        """The same call with keys and values laid out once, not for every block.

        In grouped-query attention several query heads share a key. Eager functions repeat the keys
        themselves, by ``module.num_key_value_groups``.
        """
        groups = getattr(self.module, "num_key_value_groups", 1)
        if groups == 1 or self.key.shape[1] * groups != self.query.shape[1]:
            return replace(self, key=self.key.contiguous(), value=self.value.contiguous())
        return replace(
            self,
            module=_Ungrouped(self.module),
            key=self.key.repeat_interleave(groups, dim=1),
            value=self.value.repeat_interleave(groups, dim=1),
        )

    def corner(self, size: int) -> Call:
        """The call for the first rows and keys alone."""

        def cut(value: Tensor | None) -> Tensor | None:
            rows = self._cut(value, 0, size)
            return None if rows is None else rows[..., :size]

        return replace(
            self,
            query=self.query[:, :, :size],
            key=self.key[:, :, :size],
            value=self.value[:, :, :size],
            mask=cut(self.mask),
            others={
                name: cut(value) if name in SLICED else value for name, value in self.others.items()
            },
        )


class _Ungrouped:
    """An attention module as its eager function sees it, with as many keys as query heads."""

    num_key_value_groups = 1

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def block_height(query: Tensor, key: Tensor) -> int:
    """How many rows make a block: all blocks of a map are about equally high.

    >>> block_height(torch.zeros(16, 12, 128, 1), torch.zeros(16, 12, 128, 1))
    64
    >>> block_height(torch.zeros(1, 12, 4096, 1), torch.zeros(1, 12, 4096, 1))
    32
    """
    batch, heads, length, _ = query.shape
    most = max(WEIGHTS // (batch * heads * key.shape[2]) // STEP * STEP, STEP)
    blocks = -(-length // most)
    return -(-length // (blocks * STEP)) * STEP


_cut: dict[Any, bool] = {}


def can_be_cut(call: Call) -> bool:
    """Whether a call gives the same in blocks of rows.

    It does unless an argument that we do not know has a value for every row, or the function reads
    the number of a row from its place. The latter is tried once for every function, on a corner of
    the maps.
    """
    if call.mask is not None and call.mask.dim() != 4:
        return False
    for name, value in call.others.items():
        if name in UNUSED:
            continue
        for tensor in _tensors(value):
            if call.length in tensor.shape and not (name in SLICED and tensor.dim() == 4):
                return False
    if call.eager not in _cut:
        _cut[call.eager] = _same_in_blocks(call)
    return _cut[call.eager]


_narrowed: dict[Any, bool] = {}


def can_skip_keys(call: Call) -> bool:
    """Whether keys after a block need not be computed: the mask hides them from all its rows.

    As with rows, every function is tried once on a corner of the maps.
    """
    # The corner first: it is small, and enough to tell that a model is not causal.
    if not (call.corner(TRIAL).hides_later_keys() and call.hides_later_keys()):
        return False
    if call.eager not in _narrowed:
        _narrowed[call.eager] = _same_in_blocks(call, causal=True)
    return _narrowed[call.eager]


_apart: dict[Any, bool] = {}


def can_go_apart(call: Call) -> bool:
    """Whether heads with a window may be computed apart from the others, from fewer keys.

    Not several copies with different heads, not after cached keys, and not with tensors for every
    head, such as learned sinks. Every function is tried once on a corner of the maps.
    """
    grouped = call.key.shape[1] != call.query.shape[1]
    if grouped or len(call.changes) > 1 or not call.end == call.length == call.key.shape[2]:
        return False
    others = (value for name, value in call.others.items() if name not in UNUSED)
    if any(True for value in others for _ in _tensors(value)):
        return False
    if call.eager not in _apart:
        head, change = [call.query.shape[1] - 1], FittedReplacement({}, "window", {}, (1, 3))
        corner = replace(call.corner(TRIAL), changes=[(change, head)], end=TRIAL)
        _apart[call.eager] = False
        with suppress(RuntimeError, ValueError, IndexError, TypeError, AttributeError):
            together = corner.rows(STEP, TRIAL)[0][:, :, head]
            alone = corner.of_heads(head).in_window(STEP, TRIAL, change)
            same = alone.shape == together.shape and torch.allclose(alone, together, atol=1e-4)
            _apart[call.eager] = same
    return _apart[call.eager]


def outputs_apart(call: Call, height: int) -> Tensor:
    """The outputs of a layer's heads, (batch, query, head, width), those with a window apart."""
    [(change, narrow)] = call.changes
    wide = [head for head in range(call.query.shape[1]) if head not in narrow]
    parts = [(narrow, call.of_heads(narrow)), *([(wide, call.of_heads(wide))] if wide else [])]
    batch, heads = call.query.shape[:2]
    output = call.query.new_empty(batch, call.length, heads, call.value.shape[-1])
    for first in range(0, call.length, height):
        last = min(first + height, call.length)
        for numbers, part in parts:
            output[:, first:last, numbers] = (
                part.in_window(first, last, change)
                if numbers is narrow
                else part.rows(first, last, causal=True)[0]
            )
    return output


def _tensors(value: Any) -> Iterable[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def _same_in_blocks(call: Call, *, causal: bool = False) -> bool:
    corner = call.corner(TRIAL)
    try:
        whole = corner.rows(0, TRIAL)
        parts = [
            corner.ready().rows(first, first + STEP, causal=causal)
            for first in range(0, TRIAL, STEP)
        ]
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
        return False
    outputs = torch.cat([output for output, _ in parts], 1)
    maps = torch.cat([weights for _, weights in parts], 2)
    return torch.allclose(outputs, whole[0], atol=1e-4, equal_nan=True) and torch.allclose(
        maps, whole[1], atol=1e-5, equal_nan=True
    )
