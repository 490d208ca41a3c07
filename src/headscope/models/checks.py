"""Checks of what a user gives: networks, tokenizers, and the weights of a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn
from transformers import PreTrainedTokenizerBase

from headscope.errors import ModelError
from headscope.files import FILES, folder_damage

BELONG = "check that config.json and the weights belong together"
# Weights that attention does not depend on: a checkpoint may lack them, such as a pooler.
UNUSED = (
    "pooler",
    "cls.",
    "generator_",
    "lm_head",
    "classifier",
    "discriminator_predictions",
    "position_ids",
    "vocab_",
    "qa_outputs",
    "score",
)
# A numbered layer with attention in it. Loading a base model drops the heads and poolers of a
# checkpoint, but must never drop a layer.
LAYER = re.compile(
    r"\.(layers?|h|blocks?)\.\d+\..*(attention|attn|query|q_lin|q_proj|c_attn|Wqkv)", re.IGNORECASE
)


def check_whole(folder: Path) -> None:
    """Check a folder that Headscope wrote against the digests of its files.

    Raises
    ------
    ModelError
        If a file has changed or is missing. Folders without digests are not checked.
    """
    damage = folder_damage(folder)
    if damage:
        raise ModelError(
            f"the model in {folder} is damaged: {damage}",
            hint=f"make it again; if you changed it yourself, delete {folder / FILES}",
        )


def check_network(network: object) -> None:
    """Check that something is a transformers model.

    Raises
    ------
    ModelError
        If it is a name, a tokenizer, a model of Headscope's, or a module of another kind.
    """
    if isinstance(network, str | Path):
        raise ModelError(
            "the network must be a loaded transformers model; "
            f"got the name {str(network)!r} instead",
            hint=f"use headscope.load({str(network)!r}) to load a model by its name",
        )
    if isinstance(network, PreTrainedTokenizerBase):
        raise ModelError(
            f"the network must be a transformers model; got a tokenizer "
            f"({type(network).__name__}) instead",
            hint="give the network first: headscope.wrap(network, tokenizer)",
        )
    if not isinstance(network, nn.Module):
        raise ModelError(
            f"the network must be a transformers model; got {type(network).__name__} instead",
            hint="load one with transformers.AutoModel.from_pretrained, or use headscope.load",
        )
    if not (hasattr(network, "set_attn_implementation") and hasattr(network, "config")):
        raise ModelError(
            f"the network must be a transformers model; got {type(network).__name__} instead, "
            "a torch module of another kind",
            hint="give the transformers model inside it, if it has one",
        )


def check_tokenizer(tokenizer: object, network: nn.Module) -> None:
    """Check that something is a fast tokenizer that fits a network.

    Raises
    ------
    ModelError
        If it is not a fast tokenizer of transformers, or if it has more tokens than the network has
        embeddings.
    """
    kind = type(tokenizer).__name__
    if isinstance(tokenizer, str | Path):
        raise ModelError(
            f"the tokenizer must be a loaded tokenizer; got the name {str(tokenizer)!r} instead",
            hint=f"load it: transformers.AutoTokenizer.from_pretrained({str(tokenizer)!r})",
        )
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise ModelError(
            f"the tokenizer must be a fast tokenizer of transformers; got {kind} instead",
            hint=_tokenizer_advice(tokenizer),
        )
    if not tokenizer.is_fast:
        raise ModelError(
            f"the tokenizer must be a fast one; {kind} gives no character offsets, which are "
            "needed to align words with tokens",
            hint="load it with transformers.AutoTokenizer, or convert it to a tokenizer.json",
        )
    _check_vocabulary(tokenizer, network)


def _tokenizer_advice(tokenizer: object) -> str:
    if isinstance(getattr(tokenizer, "tokenizer", None), PreTrainedTokenizerBase):
        return "give the tokenizer inside the processor: processor.tokenizer"
    if type(tokenizer).__module__.partition(".")[0] == "tokenizers":
        return "wrap it: transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)"
    return "load one with transformers.AutoTokenizer.from_pretrained"


def _check_vocabulary(tokenizer: Any, network: Any) -> None:
    try:
        embeddings = getattr(network.get_input_embeddings(), "num_embeddings", None)
    except NotImplementedError:  # not a text model: its first forward pass will say so
        return
    # Its template may add special tokens by numbers that are not in the vocabulary.
    added = tokenizer("a", "a")["input_ids"]
    largest = max([*tokenizer.get_vocab().values(), *added], default=-1)
    if embeddings is not None and largest >= embeddings:
        raise ModelError(
            f"the tokenizer does not fit the network: its token ids go up to {largest}, and the "
            f"network has embeddings for 0 to {embeddings - 1}",
            hint="give the tokenizer that belongs to the network, or call "
            "network.resize_token_embeddings(len(tokenizer)) if you added tokens",
        )


def check_not_empty(name: str, tokenizer: Any) -> None:
    """Check that a loaded tokenizer knows any words.

    Without its files, transformers makes an empty tokenizer to which every word is unknown.
    """
    # An empty SentencePiece vocabulary still has "▁".
    if len(tokenizer.get_vocab().keys() - tokenizer.get_added_vocab().keys()) < 2:
        raise ModelError(
            f"{name} has no tokenizer: its vocabulary is empty",
            hint="put tokenizer.json into the model's folder",
        )


def check_weights(name: str, report: Mapping[str, Any], *, language_model: bool) -> None:
    """Check that a checkpoint has every weight that attention depends on.

    Missing weights would be random numbers.

    Parameters
    ----------
    name
        What to call the model in an error message.
    report
        The loading report of transformers (``output_loading_info=True``).
    language_model
        Whether the language-model head is needed, too.

    Raises
    ------
    ModelError
        If weights are missing, have another shape, or belong to layers that the configuration does
        not have.
    """
    mismatched = sorted(
        str(key[0] if isinstance(key, tuple) else key) for key in report.get("mismatched_keys", ())
    )
    if mismatched:
        raise _misfit(name, f"{len(mismatched)} have another shape", mismatched[0])
    spare = sorted(key for key in report.get("unexpected_keys", ()) if LAYER.search(key))
    if spare:
        raise _misfit(
            name, f"{len(spare)} belong to layers that the config does not have", spare[0]
        )
    absent = sorted(key for key in report.get("missing_keys", ()) if "pooler" not in key)
    missing = [key for key in absent if not any(part in key for part in UNUSED)]
    if missing:
        raise _misfit(name, f"{len(missing)} are missing", missing[0])
    if absent and language_model:
        raise ModelError(
            f"{name} has no language-model head: {len(absent)} of its weights are missing, "
            f"e.g. {absent[0]}",
            hint="choose a checkpoint that was saved with its head",
        )


def _misfit(name: str, why: str, example: str) -> ModelError:
    return ModelError(
        f"the weights of {name} do not fit its config: {why}, e.g. {example}", hint=BELONG
    )
