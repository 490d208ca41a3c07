"""Reading a model's files through transformers, with errors that say what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.utils.hub import cached_file

from headscope.errors import ModelError, UserError, out_of_memory, shorten
from headscope.models.checks import BELONG
from headscope.models.implementation import EAGER
from headscope.models.names import near_names
from headscope.models.pooling import POOLING, Pooling

if TYPE_CHECKING:
    from headscope.models.model import Model

MOST_LAYERS = 10_000
PICKLE = "if you trust it, pass allow_pickle=True"


def read_config(place: str, options: dict[str, Any]) -> Any:
    """The configuration of a hub id or folder, with eager attention in all its parts."""
    try:
        config = AutoConfig.from_pretrained(place, **options)
    except Exception as error:  # values of a wrong type fail in many ways
        raise _unreadable(place, error) from error
    _check_layers(place, config)
    # Whatever the file names: flash attention needs packages, and a kernel would be downloaded.
    config._attn_implementation = EAGER
    return config


def _check_layers(place: str, config: Any) -> None:
    """Refuse numbers of layers that no model has: building them would take for ever."""
    for part in (config, config.get_text_config() if hasattr(config, "get_text_config") else None):
        layers = getattr(part, "num_hidden_layers", 0)
        if isinstance(layers, int) and layers > MOST_LAYERS:
            raise ModelError(
                f"{place} cannot be loaded: its config says that it has {shorten(layers)} layers, "
                f"and no model has more than {MOST_LAYERS:,}",
                hint="check its config.json",
            )


def read_network(
    place: str,
    config: Any,
    auto: Any,
    *,
    dtype: torch.dtype,
    allow_pickle: bool,
    options: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """The network of a hub id or folder, and transformers' report on its weights."""
    try:
        network, report = auto.from_pretrained(
            place,
            config=config,
            dtype=dtype,
            use_safetensors=None if allow_pickle else True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **options,
        )
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(place, error) from error
    except SafetensorError as error:
        raise ModelError(
            f"the weights of {place} cannot be read: {first_line(error)}",
            hint="the file may be incomplete: copy or download it again",
        ) from error
    except Exception as error:  # torch raises its own kinds for damaged or mismatched weights
        if out_of_memory(error):
            raise too_large(place) from error
        raise ModelError(
            f"the weights of {place} do not fit its config: {first_line(error)}", hint=BELONG
        ) from error
    return network, report


def too_large(name: str) -> ModelError:
    """The error for a model that ran out of memory while it was loaded."""
    return ModelError(
        f"there is not enough memory to load {name}",
        hint="give dtype='bfloat16', quantization='4bit' or device_map='auto'",
    )


def read_tokenizer(place: str, options: dict[str, Any]) -> Any:
    """The tokenizer of a hub id or folder."""
    try:
        return AutoTokenizer.from_pretrained(place, **options)
    except Exception as error:  # tokenizer files fail in many ways
        raise ModelError(
            f"the tokenizer of {place} cannot be loaded: {first_line(error)}",
            hint="put tokenizer.json into the model's folder",
        ) from error


def read_pooling(model: Model, place: str, revision: str) -> Pooling:
    """The pooling that a folder or hub model was tuned with, or else its last layer."""
    path = Path(place) / POOLING
    if not Path(place).exists():
        silent = {
            "_raise_exceptions_for_missing_entries": False,
            "_raise_exceptions_for_connection_errors": False,
            "_raise_exceptions_for_gated_repo": False,
        }
        path = Path(cached_file(place, POOLING, revision=revision or None, **silent) or path)
    try:
        return (Pooling.read(path.parent) or Pooling()).fit(model)
    except ModelError:
        raise
    except UserError as error:
        raise ModelError(
            f"{path}: {error.message}", hint=error.hint, command=error.command
        ) from None


def commit_of(place: str, revision: str) -> str:
    """The commit of a hub model whose config was just read; for a folder, the given revision."""
    if Path(place).exists():
        return revision
    found = try_to_load_from_cache(place, "config.json", revision=revision or None)
    # The cache keeps the file as snapshots/COMMIT/config.json.
    return Path(found).parent.name if isinstance(found, str) else revision


def language_model_class(name: str, config: Any) -> Any:
    """The auto class of a model's language-model head: masked unless it is a decoder."""
    if type(config) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_decoder", False):
        return AutoModelForMaskedLM
    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return AutoModelForCausalLM
    raise ModelError(
        f"{name} ({config.model_type}) has no language-model head",
        hint="choose a masked or causal language model",
    )


def own_class(name: str, config: Any) -> Any:
    """The auto class of the head that a checkpoint was saved with; the base model's if none fits.

    Classifiers of whole texts, and masked and causal language models, have one.
    """
    saved = " ".join(getattr(config, "architectures", None) or ())
    if "ForSequenceClassification" in saved:
        return AutoModelForSequenceClassification
    writes = re.search(r"For(Masked|Causal)LM|LMHead|BertForPreTraining", saved)
    if writes and not getattr(config, "is_encoder_decoder", False):
        return language_model_class(name, config)
    return AutoModel


def first_line(error: Exception) -> str:
    """The first line of an error's text that is not blank, or the name of its class.

    A line that ends with a colon only announces the next one, which is taken instead.

    >>> first_line(TypeError("Validation error for field 'n':\\n  TypeError: expected int"))
    'expected int'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        return lines[1].removeprefix("TypeError: ").removeprefix("ValueError: ")
    return lines[0] if lines else type(error).__name__


def _unreadable(place: str, error: Exception) -> ModelError:
    folder, text = Path(place), str(error)
    if folder.exists() and "no file named" in text and (folder / "config.json").is_file():
        if not any(folder.glob("*.safetensors")):
            return _no_safetensors(folder)
    elif "cannot be loaded with `safetensors`" in text:
        return ModelError(
            f"{place} has no safetensors weights, and pickled weights can run code when opened",
            hint=f"choose another model or revision; {PICKLE}",
        )
    if "trust_remote_code" in text:
        return ModelError(
            f"{place} comes with its own code, which is not run unless you allow it",
            hint="if you trust it, pass trust_remote_code=True",
        )
    if folder.exists():
        return ModelError(
            f"{place} cannot be loaded: {first_line(error)}", hint="check its config.json"
        )
    return ModelError(
        f"{place!r} is neither a folder nor a model that can be reached on the hub "
        f"({first_line(error)}).{near_names(place)}",
        hint="check the spelling and the connection, give a folder, or use 'demo' or 'demo-llm'",
    )


def _no_safetensors(folder: Path) -> ModelError:
    pickled = sorted(file.name for file in folder.glob("*.bin"))
    if pickled:
        return ModelError(
            f"{folder} has only pickled weights ({pickled[0]}), which can run code when opened",
            hint=f"convert them to safetensors; {PICKLE}",
        )
    return ModelError(
        f"{folder} has no weights: there is no model.safetensors",
        hint="give a folder saved with save_pretrained",
    )
