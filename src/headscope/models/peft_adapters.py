"""PEFT adapters (LoRA and its relatives) on a base model.

The adapter's layers are put beside those of the network, which keeps its class, so that everything
else treats it as any other network. Only safetensors are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers.utils.hub import cached_file

from headscope.errors import ModelError
from headscope.models.adapter_files import WEIGHTS
from headscope.models.checks import UNUSED
from headscope.models.names import model_folder

FITTING = "give an adapter that was trained on this model"


def add_adapter(network: Any, adapter: str | Path, *, name: str) -> None:
    """Put a PEFT adapter into a network, in place.

    Parameters
    ----------
    network
        A transformers model.
    adapter
        A folder saved by PEFT, or a hub id.
    name
        What to call the model in an error message.

    Raises
    ------
    ModelError
        If the adapter cannot be read, or was trained on another model.
    """
    from peft import PeftConfig, inject_adapter_in_model, set_peft_model_state_dict

    if any(parameter.is_meta for parameter in network.parameters()):
        raise ModelError(
            f"the adapter {adapter} cannot be put on {name}: some of its weights are on disk",
            hint="leave device_map= out, or merge the adapter into the model with PEFT first",
        )
    place = str(model_folder(adapter) or adapter)
    try:
        config = PeftConfig.from_pretrained(place)
        weights = load_file(str(cached_file(place, WEIGHTS)))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"the adapter {adapter} cannot be read: {_first_line(error)}",
            hint="give a folder saved by PEFT's save_pretrained, or a hub id",
        ) from error
    kind = str(config.peft_type).removeprefix("PeftType.")
    if config.is_prompt_learning:
        raise ModelError(
            f"the adapter {adapter} is of the kind {kind}, which adds tokens to the "
            "text instead of changing weights; that is not supported",
            hint="give an adapter that changes weights, such as LoRA",
        )
    config.inference_mode = True
    names = _Names(network)
    names.translate(config)
    fitted = names.weights(weights)
    try:
        inject_adapter_in_model(config, network)
        report = set_peft_model_state_dict(network, fitted)
    except (RuntimeError, ValueError, KeyError) as error:
        raise ModelError(
            f"the adapter {adapter} does not fit {name}: {_first_line(error)}", hint=FITTING
        ) from error
    spare = sorted(report.unexpected_keys) or ([] if fitted else sorted(weights))
    absent = sorted(key for key in report.missing_keys if ".default" in key)
    if spare or absent:
        why = "of its weights have no place in the model" if spare else "weights are missing"
        keys = spare or absent
        raise ModelError(
            f"the adapter {adapter} does not fit {name}: {len(keys)} {why}, e.g. {keys[0]}",
            hint=FITTING,
        )


class _Names:
    """Names of modules, translated to those of a network.

    An adapter that was trained with a head has names such as ``model.layers.0``; in the base model
    the same layer is ``layers.0``.
    """

    def __init__(self, network: Any) -> None:
        self.prefix = f"{network.base_model_prefix}."
        base = getattr(network, network.base_model_prefix, None)
        self.children = {name for name, _ in network.named_children()}
        self.inner = {name for name, _ in base.named_children()} if base is not None else set()

    def find(self, name: str) -> str | None:
        """The name in this network; None if it has no such module."""
        short = name.removeprefix(self.prefix)
        if name.split(".")[0] in self.children:
            return name
        if short.split(".")[0] in self.children:
            return short
        return self.prefix + name if name.split(".")[0] in self.inner else None

    def weights(self, weights: dict[str, Any]) -> dict[str, Any]:
        """Weights by the names of this network, without those of heads that it lacks."""
        fitted: dict[str, Any] = {}
        for key, value in weights.items():
            name = key.removeprefix("base_model.model.")
            found = self.find(name)
            if found is not None:
                fitted[found] = value
            elif not any(part in name for part in UNUSED):
                fitted[name] = value  # reported as a weight that has no place
        return fitted

    def translate(self, config: Any) -> None:
        """Translate whole names in an adapter's configuration; parts such as ``q_proj`` stay."""

        def translated(name: str) -> str:
            return (self.find(name) or name) if "." in name else name

        for field in ("target_modules", "exclude_modules"):
            names = getattr(config, field, None)
            if isinstance(names, list | set | tuple):
                setattr(config, field, {translated(name) for name in names})
        for field in ("rank_pattern", "alpha_pattern"):
            pattern = getattr(config, field, None) or {}
            setattr(config, field, {translated(name): pattern[name] for name in pattern})


def _first_line(error: Exception) -> str:
    """The first line of an error's text that says something; torch begins with a heading."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.endswith(":")]
    return (said or lines or [type(error).__name__])[0]
