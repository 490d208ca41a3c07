"""Putting a network under observation, and putting it back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from torch import nn

from headscope.models.adapters import attach, detach, private_modules
from headscope.models.architecture import unobservable
from headscope.models.attention import register
from headscope.models.implementation import EAGER, NAME
from headscope.models.quiet import quiet


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
