"""Putting a network under observation, and putting it back as it was.

:class:`Observation` gives the network our attention implementation. Three things stand in the way:

- Some architectures look at the implementation's name before they call it: DeepSeek V3.2 and its
  relatives mask what their index leaves out only if it is "eager" or "sdpa". Our function is their
  eager attention, observed, so its name answers such questions as "eager" would. What it cannot
  answer is found in the source when a network is wrapped.
- OpenAI GPT and MPNet compute attention in their own code, as does GPT-2 where it does so in
  float32 (``reorder_and_upcast_attn``). All pass their maps through a dropout module and their
  concatenated head outputs through a projection module, so one hook on each can observe and change
  them. Value vectors come out of a projection, too.
- transformers only logs what it should raise.
"""

from __future__ import annotations

import ast
import inspect
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
import transformers
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headscope.errors import ModelError, cut
from headscope.models.observe import block_height, current_watch, differentiable, observed_attention
from headscope.models.replace import replaced_maps
from headscope.models.shape import unobservable


class Implementation(str):
    """The name of an attention implementation that is eager attention.

    It is equal to ``"eager"``, so that ``name == "eager"`` and ``name in ("eager", "sdpa")`` hold.
    It is unequal to it, too, since ``name != "eager"`` is how modelling code asks whether to call
    a registered function.

    Examples
    --------
    >>> name = Implementation("headscope")
    >>> name == "eager", name in ("eager", "sdpa"), name != "eager", name == "sdpa"
    (True, True, True, False)
    >>> {"headscope": 1}[name], "eager" in {"eager": 1}.keys() - {name}
    (1, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or (type(other) is str and other == EAGER)


EAGER = "eager"
NAME = Implementation("headscope")
"""The name under which transformers knows the attention function."""


@dataclass(frozen=True)
class FormerState:
    """What a network was like before it was observed.

    Parameters
    ----------
    training
        Whether each module, by name, was in training mode: parts may have been frozen in
        evaluation.
    implementations
        Every configuration in the network with the attention implementation that it named. There
        may be several: the stacks of T5 have copies, other models have sub-configurations.
    """

    training: dict[str, bool]
    implementations: list[tuple[Any, str | None]]

    @classmethod
    def of(cls, network: nn.Module) -> FormerState:
        """The present state of a network."""
        configs = {id(config): config for config in _configs(network)}.values()
        return cls(
            {name: module.training for name, module in network.named_modules()},
            [(config, config._attn_implementation) for config in configs],
        )

    def restore(self, network: nn.Module) -> None:
        """Put a network back into this state, without the hooks of our adapters."""
        detach(network)
        for config, implementation in self.implementations:
            config._attn_implementation_internal = implementation
        for name, module in network.named_modules():
            module.training = self.training.get(name, module.training)


# The former state of each network under observation, and who observes it: models may share a
# network, which is put back when the last of them is closed. Neither keeps the network alive.
_observed: WeakKeyDictionary[nn.Module, tuple[FormerState, WeakSet[Observation]]]
_observed = WeakKeyDictionary()


class Observation:
    """A network under observation.

    Three things are changed: the network is put into evaluation mode; its attention implementation
    becomes ``"headscope"``; and where an architecture computes attention in its own code (OpenAI
    GPT and MPNet), the implementation becomes ``"eager"`` instead, and hooks are registered on
    three modules of every layer.

    Parameters
    ----------
    name
        What to call the model in an error message.
    network
        A transformers model.

    Raises
    ------
    ModelError
        If the network's attention cannot be observed. The network is then as it was before.
    """

    def __init__(self, name: str, network: nn.Module) -> None:
        if network not in _observed:
            _observed[network] = FormerState.of(network), WeakSet()
        self.former, observers = _observed[network]
        self.network = network
        self.closed = False
        observers.add(self)
        try:
            network.eval()
            _set_attention(name, network)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Put the network back as it was, unless another model still observes it.

        Closing twice has no effect.
        """
        if self.closed:
            return
        self.closed = True
        observers = _observed[self.network][1] if self.network in _observed else WeakSet()
        observers.discard(self)
        if not observers:
            self.former.restore(self.network)
            _observed.pop(self.network, None)


@contextmanager
def as_eager(network: nn.Module) -> Iterator[None]:
    """Run a network by transformers' own eager attention inside, even if it is observed.

    Hooks on attention of its own do nothing while nobody watches a pass.
    """
    configs = {id(config): config for config in _configs(network)}.values()
    before = [(config, config._attn_implementation) for config in configs]
    for config, _ in before:
        config._attn_implementation_internal = EAGER
    try:
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation_internal = implementation


def _configs(network: nn.Module) -> Iterator[Any]:
    pending = [getattr(module, "config", None) for module in network.modules()]
    while pending:
        config = pending.pop()
        if config is not None and hasattr(config, "_attn_implementation_internal"):
            yield config
            pending += [getattr(config, name, None) for name in config.sub_configs]


def register() -> None:
    """Make the attention function known to transformers, together with its mask function.

    Without a mask function of the same name, padding and causality would silently vanish.
    """
    AttentionInterface.register(NAME, observed_attention)
    AttentionMaskInterface.register(NAME, eager_mask)


def _set_attention(name: str, network: Any) -> None:
    """Install our attention function and make sure that it took: transformers may only log."""
    register()
    with quiet():
        if private_modules(network):
            network.set_attn_implementation("eager")
            attach(network)
            return
        try:
            network.set_attn_implementation(NAME)
        except ValueError as error:
            raise unobservable(name, network) from error
    if network.config._attn_implementation != NAME:
        raise unobservable(name, network)


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off the log messages and progress bars of transformers and its libraries inside.

    Errors are raised as usual. Verbosity and progress bars are as before afterwards.
    """
    logger = transformers.logging
    level, bars = logger.get_verbosity(), logger.is_progress_bar_enabled()
    others = {name: logging.getLogger(name) for name in ("huggingface_hub", "accelerate")}
    levels = {name: other.level for name, other in others.items()}
    logger.set_verbosity(logging.CRITICAL)
    for other in others.values():
        other.setLevel(logging.CRITICAL)
    logger.disable_progress_bar()
    try:
        yield
    finally:
        logger.set_verbosity(level)
        for name, other in others.items():
            other.setLevel(levels[name])
        if bars:
            logger.enable_progress_bar()


@dataclass(frozen=True, slots=True)
class PrivateAttention:
    """Where an attention module that bypasses the interface keeps its parts.

    Parameters
    ----------
    dropout, projection
        Names of the submodules through which maps and concatenated head outputs pass.
    values, parts
        Name of the submodule that makes the value vectors: the last of so many equal parts of what
        it returns.
    heads
        Name of the attribute that holds the number of heads.
    causal
        Whether each token sees only itself and earlier tokens.
    only_if
        Name of an attribute that is true where the module computes attention in its own code; ""
        if it always does.
    """

    dropout: str
    projection: str
    values: str
    parts: int
    heads: str
    causal: bool
    only_if: str = ""


PRIVATE: dict[str, PrivateAttention] = {
    "transformers.models.openai.modeling_openai.Attention": PrivateAttention(
        "attn_dropout", "c_proj", "c_attn", 3, "n_head", causal=True
    ),
    "transformers.models.mpnet.modeling_mpnet.MPNetSelfAttention": PrivateAttention(
        "dropout", "o", "v", 1, "num_attention_heads", causal=False
    ),
    # In float32 whatever the weights are, as some GPT-2 (Stanford's CRFM) were trained.
    "transformers.models.gpt2.modeling_gpt2.GPT2Attention": PrivateAttention(
        *("attn_dropout", "c_proj", "c_attn", 3, "num_heads"),
        causal=True,
        only_if="reorder_and_upcast_attn",
    ),
}


def private_modules(network: nn.Module) -> list[tuple[nn.Module, PrivateAttention]]:
    """The attention modules of a network for which there is an adapter."""
    adapted = []
    for module in network.modules():
        kind = type(module)
        private = PRIVATE.get(f"{kind.__module__}.{kind.__qualname__}")
        if private and (not private.only_if or getattr(module, private.only_if)):
            adapted.append((module, private))
    return adapted


def attach(network: nn.Module) -> None:
    """Register hooks on every attention module that has an adapter and does not have them yet."""
    for module, private in private_modules(network):
        dropout, projection = getattr(module, private.dropout), getattr(module, private.projection)
        if any(_our_hooks(dropout._forward_hooks)):
            continue
        # Partials, not closures: the hooks of a copied network then refer to the copy's modules.
        dropout.register_forward_hook(partial(_observe_maps, module, private))
        projection.register_forward_pre_hook(partial(_observe_outputs, module, private))
        values = getattr(module, private.values)
        values.register_forward_hook(partial(_observe_values, module, private))


def detach(network: nn.Module) -> None:
    """Remove the hooks that :func:`attach` registered."""
    for module, private in private_modules(network):
        for hooks in (
            getattr(module, private.dropout)._forward_hooks,
            getattr(module, private.projection)._forward_pre_hooks,
            getattr(module, private.values)._forward_hooks,
        ):
            for key in list(_our_hooks(hooks)):
                del hooks[key]


def _our_hooks(hooks: dict[int, Any]) -> Iterator[int]:
    for key, hook in hooks.items():
        if getattr(hook, "func", None) in {_observe_values, _observe_maps, _observe_outputs}:
            yield key


def _observe_values(
    module: nn.Module, private: PrivateAttention, _values: nn.Module, _args: Any, output: Tensor
) -> None:
    watch = current_watch()
    if watch is not None:
        mine = output.chunk(private.parts, dim=-1)[-1]
        split = mine.view(*mine.shape[:-1], getattr(module, private.heads), -1)
        watch.values = split.transpose(1, 2)


def _observe_maps(
    module: nn.Module, private: PrivateAttention, _dropout: nn.Module, _args: Any, weights: Tensor
) -> Tensor | None:
    watch = current_watch()
    if watch is None or weights.dim() != 4:  # anything but maps passes unchanged
        return None
    visible = None if watch.mask is None else watch.mask[:, None, None, :]
    if private.causal:
        past = torch.ones(weights.shape[-2:], dtype=torch.bool, device=weights.device).tril()
        visible = past[None, None] if visible is None else visible & past
    watch.begin(module, watch.values)
    weights = differentiable(weights) if watch.whole_maps else weights
    if watch.changes:
        if watch.narrows:
            raise ModelError(
                f"this model computes attention in its own code ({type(module).__qualname__}), "
                "which hands out maps only after the softmax: no window can be put before it",
                hint="disable heads in another way: way='uniform'",
            )
        weights, _ = replaced_maps(watch.changes, weights, visible)
    height = weights.shape[2]
    if not (watch.whole_maps or watch.replacement):
        height = block_height(weights, weights.transpose(2, 3))
    for first in range(0, weights.shape[2], height):
        watch.rows(module, weights[:, :, first : first + height], first)
    watch.maps = weights
    return weights


def _observe_outputs(
    module: nn.Module, private: PrivateAttention, _projection: nn.Module, args: tuple[Tensor, ...]
) -> tuple[Tensor, ...] | None:
    watch = current_watch()
    if watch is None or watch.maps is None:
        return None
    maps, watch.maps = watch.maps, None
    split = args[0].view(*args[0].shape[:-1], getattr(module, private.heads), -1)
    return (watch.end(module, maps, split).flatten(-2), *args[1:])


ATTRIBUTES = frozenset({"_attn_implementation", "_attn_implementation_internal"})
# Tables in which the name is registered, and functions that look it up there.
REGISTERED = re.compile(r"ALL_(MASK_)?ATTENTION_FUNCTIONS|get_interface")
LIBRARIES = re.compile(r"(torch|builtins|abc|typing|peft|transformers(?!\.models\.))(\.|$)")
"""Modules that are not the code of a model."""
_IDIOM = re.compile(r"_attn_implementation,\s*\w*eager_attention_forward")
_METHODS = frozenset({"startswith", "endswith", "__contains__", "count", "find"})


@dataclass(frozen=True)
class Question:
    """A place in modelling code that asks for the name of the attention implementation.

    Parameters
    ----------
    line
        Its line in the file.
    code
        What it asks.
    answered
        Whether our name gives the answer that ``"eager"`` would.
    mask
        Whether it decides about a mask.
    """

    line: int
    code: str
    answered: bool
    mask: bool


def check_source(name: str, network: nn.Module) -> list[str]:
    """Look through the modelling code of a network for questions that our name cannot answer.

    Parameters
    ----------
    name
        What to call the model in messages.
    network
        A transformers model.

    Returns
    -------
    list of str
        A note for each question that decides about something other than a mask.

    Raises
    ------
    ModelError
        If a mask depends on such a question: attention could silently be another.
    """
    classes = {kind for module in network.modules() for kind in type(module).__mro__}
    files = {kind.__module__ for kind in classes if not LIBRARIES.match(kind.__module__)}
    notes = []
    for file in sorted(files):
        for question in module_questions(file):
            if question.answered:
                continue
            where = f"{file.rpartition('.')[2]}.py, line {question.line}: {cut(question.code, 80)}"
            if question.mask:
                raise ModelError(
                    f"the code of {name} makes a mask depend on the name of the attention "
                    f"implementation in a way that Headscope cannot answer ({where}), so attention "
                    "maps could be wrong",
                    hint="choose another model, or open an issue to ask for this architecture",
                )
            notes.append(
                f"the code of {name} asks for the name of the attention implementation ({where}); "
                "'headscope check' compares its maps with eager attention"
            )
    return notes


@cache
def module_questions(module: str) -> tuple[Question, ...]:
    """The questions in the source of an imported module; none if there is no source."""
    loaded = sys.modules.get(module)
    try:
        return tuple(questions(inspect.getsource(loaded))) if loaded else ()
    except (OSError, TypeError, SyntaxError):
        return ()


def questions(source: str) -> Iterator[Question]:
    """Every place in a file's source that asks for the name of the attention implementation.

    Looking up the registered function under the name, handing it on and writing it into a message
    are no questions.

    >>> code = '''
    ... def forward(self, mask):
    ...     if self.config._attn_implementation in ("eager", "sdpa"):
    ...         mask = sparse(mask)
    ... '''
    >>> list(questions(code))  # doctest: +ELLIPSIS
    [Question(line=3, code="self...._attn_implementation in ('eager', 'sdpa')", ...answered=True...
    """
    if source.count("_attn_implementation") == len(_IDIOM.findall(source)):
        return  # parsing would take a hundred times as long
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    copies = _copies(tree)
    for node in ast.walk(tree):
        if _names_it(node, copies) and isinstance(getattr(node, "ctx", None), ast.Load):
            asking, answered = _question(node, parents)
            if asking is not None:
                line, code = getattr(asking, "lineno", 0), ast.unparse(asking)
                yield Question(line, code, answered, _decides_mask(asking, parents))


def _copies(tree: ast.AST) -> frozenset[str]:
    """Variables and attributes to which the name is assigned as it is."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _names_it(node.value, frozenset()):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    names.add(target.id)
                elif isinstance(target, ast.Attribute):
                    names.add(target.attr)
    return frozenset(names)


def _names_it(node: ast.AST, copies: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ATTRIBUTES | copies
    return isinstance(node, ast.Name) and node.id in copies


def _question(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> tuple[ast.AST | None, bool]:
    """What is asked of the name, and whether ours answers as ``"eager"`` would; None if nothing."""
    parent = parents[node]
    if isinstance(parent, ast.Compare):
        return parent, _compares(node, parent, parents)
    if isinstance(parent, ast.Attribute):
        call = parents[parent]
        if not isinstance(call, ast.Call):
            return parent, False
        arguments = [_literal(argument) for argument in call.args]
        known = parent.attr in _METHODS and all(isinstance(value, str) for value in arguments)
        return call, known and _same(lambda name: getattr(name, parent.attr)(*arguments))
    if isinstance(parent, ast.Subscript):
        known = _within_init(parent, parents) or bool(REGISTERED.search(ast.unparse(parent.value)))
        return (None, True) if known else (parent, False)
    if isinstance(parent, ast.Call):
        return (None, True) if REGISTERED.search(ast.unparse(parent.func)) else (parent, False)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.keyword | ast.FormattedValue):
        return None, True
    return parent, False


def _compares(node: ast.AST, compare: ast.Compare, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a comparison has the answer that it has for ``"eager"``."""
    if len(compare.ops) != 1:
        return False
    operator, other = compare.ops[0], compare.comparators[0]
    if other is node:  # "flash" in name, "eager" == name
        left = _literal(compare.left)
        if isinstance(operator, ast.In | ast.NotIn):
            return isinstance(left, str) and _same(lambda name: left in str(name))
        other = compare.left
    value = _literal(other)
    if isinstance(operator, ast.Is | ast.IsNot):
        return isinstance(other, ast.Constant) and value is None
    if isinstance(operator, ast.In | ast.NotIn):
        return isinstance(value, tuple | list | set) or bool(REGISTERED.search(ast.unparse(other)))
    if isinstance(operator, ast.Eq):
        return isinstance(value, str)
    if isinstance(operator, ast.NotEq) and isinstance(value, str):
        return value != EAGER or _looks_up(compare, parents)
    return False


def _literal(node: ast.AST) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _same(ask: Any) -> bool:
    return bool(ask(str(NAME)) == ask(EAGER))


def _statement(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The statement or conditional expression that an expression belongs to."""
    while not isinstance(node, ast.stmt | ast.IfExp):
        node = parents[node]
    return node


def _looks_up(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a question only decides to look up the registered function."""
    return bool(REGISTERED.search(ast.unparse(_statement(node, parents))))


def _decides_mask(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    return "mask" in ast.unparse(_statement(node, parents)).lower()


def _within_init(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether something happens when a network is made, when the implementation is another."""
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef):
            return node.name == "__init__"
    return False
