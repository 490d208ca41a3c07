"""Models that are sent to other processes."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn
from transformers import PreTrainedModel
from transformers.utils import output_capturing

from headscope.errors import ModelError
from headscope.identity import differences, listed
from headscope.models.attention import register
from headscope.models.model import Model


@dataclass(frozen=True)
class SentModel:
    """A model as it travels: how to load it again, or itself.

    Parameters
    ----------
    load
        Loads the model where it arrives.
    about
        Everything about it that numbers depend on.
    model
        The model itself, if it was not loaded by its name.
    """

    load: Callable[[], Model] | None
    about: dict[str, Any]
    model: Model | None

    @classmethod
    def of(cls, model: Model) -> SentModel:
        """A model, ready to be sent."""
        if model.reload is None:
            _send_hooks()
            return cls(None, {}, model)
        return cls(model.reload, {"model": model.identity(model.main_stack())}, None)

    def arrived(self) -> Model:
        """The model, where it was sent to.

        Raises
        ------
        ModelError
            If the model cannot be loaded there, or is another one.
        """
        if self.model is not None:
            register()
            _let_record(self.model.network)
            return self.model
        assert self.load is not None
        model = self.load()
        here = {"model": model.identity(model.main_stack())}
        found = differences(self.about, here, words="{} here, {} there")
        if any(one.startswith("weights: ") for one in found):
            raise ModelError(
                f"{model.name} has other weights where a worker loads it: they were changed in "
                "memory, or the worker finds another model under this name",
                hint="for changed weights: headscope.wrap(model.network, model.tokenizer)",
            )
        if found:
            raise ModelError(
                f"{model.name} is another model where a worker loads it: {listed(found)}",
                hint="leave its files as they are during a run, and start again",
            )
        return model


def _send_hooks() -> None:
    """Let a network travel that was asked for its hidden states.

    transformers then leaves hooks on it, which use a global context variable of its own. Such a
    variable cannot be sent, but that of the other process is the same.
    """
    collector = _collector()
    if collector is not None:
        copyreg.pickle(type(collector), _as_the_collector)


def _let_record(network: nn.Module) -> None:
    """Let a network that was sent return its hidden states.

    transformers notes what a class can record when it makes a network, but none was made here.
    """
    known = getattr(output_capturing, "_CAN_RECORD_REGISTRY", None)
    if known is not None:
        for module in network.modules():
            if isinstance(module, PreTrainedModel):
                known.setdefault(str(type(module)), module._can_record_outputs)


def _as_the_collector(_: Any) -> tuple[Callable[[], Any], tuple[()]]:
    return _collector, ()


def _collector() -> Any:
    return getattr(output_capturing, "_active_collector", None)


class ModelWork:
    """Work with models that is sent to workers: each model travels as a :class:`SentModel`.

    Attributes
    ----------
    made_there : tuple of str
        Attributes that are not sent, because each worker makes its own.
    """

    made_there: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: SentModel.of(value) if isinstance(value, Model) else value
            for name, value in self.__dict__.items()
            if name not in self.made_there
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value.arrived() if isinstance(value, SentModel) else value)
