"""Loading models by name, and wrapping networks that are already in memory.

Only safetensors weights are read, no code that comes with a model runs, and every weight that
attention depends on must be there, unless you ask otherwise.

From top to bottom: what users call (load, wrap, whatever stands for a model, random weights); how a
model is read, in the order in which it happens; what transformers is asked to read, with errors
that say what to do; and PEFT adapters, whose layers are put beside those of the network. It keeps
its class, so that everything else treats it as any other network.
"""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BitsAndBytesConfig,
)
from transformers.utils.hub import cached_file

from headscope.encode import Bos
from headscope.encode.template import find_template
from headscope.errors import ModelError, UserError, out_of_memory, shorten
from headscope.files import cache_folder, checksum, digest_of
from headscope.models.attach import EAGER, quiet, register
from headscope.models.checks import (
    BELONG,
    UNUSED,
    check_network,
    check_not_empty,
    check_tokenizer,
    check_weights,
    check_whole,
)
from headscope.models.gguf import converted, is_gguf
from headscope.models.model import Model
from headscope.models.names import (
    ANYTHING,
    EMBEDDED,
    WEIGHTS,
    check_loading,
    model_folder,
    model_label,
    near_names,
)
from headscope.models.pooling import POOLING, Pooling
from headscope.options import Loading, LoadOptions, takes


@takes(LoadOptions)
def load(name: str | Path, options: LoadOptions) -> Model:
    """Load a model.

    Parameters
    ----------
    name
        A hub id, a folder saved with ``save_pretrained``, a ``.gguf`` file, or an embedded model:
        ``"demo"`` (an encoder) or ``"demo-llm"`` (a decoder). A ``.gguf`` file is converted to
        float32 safetensors when it is first used, and kept in the cache.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        If the model cannot be found or read, if there is not enough memory for it, if weights that
        attention depends on are missing, if the adapter does not fit, or if attention cannot be
        observed.

    See Also
    --------
    wrap : Observe a network that is already in memory.

    Examples
    --------
    >>> import headscope as hs
    >>> model = hs.load("demo")
    >>> model.shape("encoder")
    Shape(layers=6, heads=12, width=32)
    """
    return load_model(name, options)


def load_model(name: str | Path, options: LoadOptions) -> Model:
    """What :func:`load` does, for a run whose options say how its model is loaded."""
    _check_loadable(name)
    _check_head(options.head)
    check_loading(name, options)
    adapter, revision = str(options.adapter), options.revision
    if options.device_map and cache_folder() is None and is_converted(name):
        raise ModelError(
            f"{name} cannot be spread over devices without a cache: its weights may be read again",
            hint="leave device_map= out, or do not set HEADSCOPE_CACHE to 'off'",
        )
    with place_of(name) as place:
        network, tokenizer = read_model(str(name), place, options)
        embedded = EMBEDDED.get(str(name))
        model = Model(
            f"{name} + {model_label(adapter)}" if adapter else str(name),
            network,
            tokenizer,
            revision=embedded.sha256[:12] if embedded else commit_of(place, revision),
            adapter=model_label(adapter) if adapter else "",
            quantization=options.quantization,
            bos=options.bos,
            chat=options.chat,
        )
        if any(weight.is_meta for weight in network.parameters()):
            files = weight_files(place, revision)
            model.files_digest = files_digest(files, options.dtype, options.quantization)
        model.pooling = read_pooling(model, place, revision)
    model.notes += _bos_notes(model)
    folder = model_folder(name)
    # Workers may have another current folder.
    model.reload = partial(load_model, name if folder is None else folder.absolute(), options)
    return model


def weight_files(place: str, revision: str = "") -> list[Path]:
    """The safetensors files of a folder, or of a hub model that is in the hub's cache.

    Parameters
    ----------
    place
        A folder's path or a hub id.
    revision
        Branch, tag or commit of a hub model.
    """
    folder = Path(place)
    if not folder.exists():
        config = try_to_load_from_cache(place, "config.json", revision=revision or None)
        if not isinstance(config, str):
            return []
        folder = Path(config).parent
    return sorted(folder.glob("model*.safetensors"))


def files_digest(files: list[Path], *more: str) -> str:
    """A short digest of weights that are not in memory, from the files that hold them."""
    return digest_of(*(checksum(file) for file in files), *more)[:16]


def wrap(
    network: nn.Module,
    tokenizer: Any,
    *,
    name: str = "model",
    bos: Bos = "keep",
    chat: bool = False,
) -> Model:
    """Observe a network that is already in memory.

    The network is changed in place until the model is closed:

    - all its modules are put into evaluation mode (no dropout);
    - its attention implementation becomes ``"headscope"``, which gives the outputs of ``"eager"``
      bit for bit; for OpenAI GPT and MPNet, which compute attention in their own code, it becomes
      ``"eager"``, and three hooks are registered in every layer.

    ``model.close()`` puts all of this back; so does leaving a ``with`` block. If several models are
    wrapped around one network, the last one to be closed puts it back. Weights, device, dtype and
    the tokenizer are not changed.

    Parameters
    ----------
    network
        A transformers model.
    tokenizer
        Its fast tokenizer.
    name
        What to call the model in results and messages.
    bos, chat
        How texts are encoded; see :func:`load`.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        If the network is not a transformers model or its attention cannot be observed, or if the
        tokenizer is not a fast one or does not fit the network. The network is then unchanged.

    See Also
    --------
    load : Load a model by its name.

    Examples
    --------
    >>> import headscope as hs
    >>> from transformers import BertConfig, BertModel
    >>> tokenizer = hs.load("demo").tokenizer
    >>> config = BertConfig(
    ...     vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=4
    ... )
    >>> network = BertModel(config).train()
    >>> with hs.wrap(network, tokenizer, name="small-bert") as model:
    ...     print(model.shape("encoder"), network.training)
    Shape(layers=2, heads=4, width=4) False
    >>> network.training
    True
    """
    if isinstance(network, Model):
        raise ModelError(
            "the network must be a transformers model; got a Model of Headscope's instead",
            hint="use it as it is, or wrap model.network",
        )
    check_network(network)
    check_tokenizer(tokenizer, network)
    model = Model(name, network, tokenizer, bos=bos, chat=chat)
    model.notes += _bos_notes(model)
    return model


def _check_loadable(name: object) -> None:
    if isinstance(name, str | Path):
        return
    kind = type(name).__name__
    if isinstance(name, Model):
        hint = "use the Model as it is: it is loaded already"
    elif isinstance(name, nn.Module):
        hint = "use headscope.wrap(network, tokenizer) for a network in memory"
    elif isinstance(name, tuple | list) and name and isinstance(name[0], nn.Module):
        kind, hint = "a network and its tokenizer", "use headscope.wrap(network, tokenizer)"
    else:
        hint = "use e.g. headscope.load('demo'), or headscope.wrap(network, tokenizer)"
    raise ModelError(f"a model's name must be {ANYTHING}; got {kind} instead", hint=hint)


def _check_head(head: object) -> None:
    if head is None or head in ("lm", "own") or hasattr(head, "from_pretrained"):
        return
    raise ModelError(
        f"head must be None, 'lm', 'own' or a transformers auto class; got {head!r} instead",
        hint="use e.g. head='lm' or head=transformers.AutoModelForSequenceClassification",
    )


def _bos_notes(model: Model) -> list[str]:
    """A note if a causal model has a beginning-of-sequence token that texts do not begin with."""
    token = getattr(model.config, "bos_token_id", None)
    if model.bos != "keep" or model.chat or model.encoder_decoder or not isinstance(token, int):
        return []
    begins = find_template(model.tokenizer).one[0].token == token
    if begins or not model.causal(model.main_stack()):
        return []
    name = model.tokenizer.convert_ids_to_tokens(token)
    return [
        f"the tokenizer of {model.name} does not put the model's beginning-of-sequence token "
        f"({name}) before a text, so that the first word takes its place as the sink of attention; "
        "bos='add' (--load.bos add) adds it"
    ]


ModelLike = str | Path | Model | tuple[Any, Any]
"""A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, or a network
with its tokenizer.
"""


def as_model(
    model: ModelLike,
    loading: Loading | None = None,
    *,
    head: Literal["lm", "own"] | AutoClass | None = None,
    seed: int = 0,
) -> Model:
    """A model from whatever stands for one.

    Parameters
    ----------
    model
        A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, which is
        returned as it is, or a network with its tokenizer, ``(network, tokenizer)``, which is
        wrapped.
    loading
        How a model is loaded by name; larger options will do. A network with its tokenizer takes
        only ``bos`` and ``chat``. With a model that is loaded already, anything but the default is
        an error.
    head, seed
        See :func:`~headscope.models.load`. A model that is loaded already keeps what it has.

    Raises
    ------
    ModelError
        If it cannot be loaded or wrapped.
    UserError
        If an option of loading is given with a model that is loaded already.

    See Also
    --------
    using_model : The same as a context manager, which closes what it has wrapped.

    Examples
    --------
    >>> model = as_model("demo")
    >>> as_model(model) is model, as_model((model.network, model.tokenizer)).name
    (True, 'model')
    """
    how = loading or Loading()
    if isinstance(model, tuple) and len(model) == 2:
        _check_defaults(how, seed, allowed=("bos", "chat"))
        return wrap(model[0], model[1], bos=how.bos, chat=how.chat)
    if isinstance(model, Model):
        _check_defaults(how, seed)
        return model
    return load_model(model, LoadOptions(**how.subset(Loading), head=head, seed=seed))


@contextmanager
def using_model(
    model: ModelLike,
    loading: Loading | None = None,
    *,
    head: Literal["lm", "own"] | AutoClass | None = None,
    seed: int = 0,
) -> Iterator[Model]:
    """The model of :func:`as_model`, closed at the end if it was made here.

    A network that was given with its tokenizer is put back as it was. A :class:`Model` that was
    given stays open.
    """
    used = as_model(model, loading, head=head, seed=seed)
    try:
        yield used
    finally:
        if used is not model:
            used.close()


def _check_defaults(loading: Loading, seed: int, *, allowed: tuple[str, ...] = ()) -> None:
    """Options of loading mean nothing to a model that is loaded already."""
    seeded = {"seed": seed} if seed else {}
    for option, value in (loading.changed(Loading) | seeded).items():
        if option not in allowed:
            raise UserError(
                f"{option}= applies only to a model given by its name, and this one is loaded "
                f"already; got {option}={value!r}",
                hint=f"remove {option}=, or give the model's name instead of the model",
            )


EMBEDDINGS = "embeddings"


def random_init(model: Model, *, seed: int, keep_embeddings: bool = True) -> Model:
    """A copy of a model with all weights drawn anew, except the embeddings.

    Weights are drawn by the model's own rule. Kept bit for bit are all modules called
    ``embeddings`` (that of BERT holds words, positions, types and their LayerNorm) and every
    embedding table outside them (``wte`` and ``wpe`` of GPT-2, the relative positions of T5).

    Parameters
    ----------
    model
        The model to copy. It is not changed.
    seed
        Seed of the new weights. The random state of torch is not changed.
    keep_embeddings
        False draws the embeddings anew, too.

    Returns
    -------
    Model
        The copy, named after the model and the seed.

    Raises
    ------
    ModelError
        If the weights are quantised, or not in memory: no new ones can be drawn by their rule.

    References
    ----------
    Clark, Khandelwal, Levy and Manning (2019). What Does BERT Look at? An Analysis of BERT's
    Attention. Section 5 (with the embeddings kept).
    """
    _check_plain(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = type(model.network)(copy.deepcopy(model.config))
    for name in embedding_modules(model.network) if keep_embeddings else ():
        network.get_submodule(name).load_state_dict(model.network.get_submodule(name).state_dict())
    network.to(device=model.device, dtype=model.network.dtype)
    drawn = wrap(
        network,
        model.tokenizer,
        name=f"{model.name} (random{'' if keep_embeddings else ' throughout'}, seed {seed})",
        bos=model.bos,
        chat=model.chat,
    )
    drawn.revision = model.revision
    return drawn


def _check_plain(model: Model) -> None:
    """Refuse weights that cannot be drawn anew by the model's own rule."""
    if model.quantization or any(weight.is_meta for weight in model.network.parameters()):
        raise ModelError(
            f"the weights of {model.name} are quantised or not in memory, so random ones cannot be "
            "drawn beside them",
            hint="load the model without quantization= and device_map=",
        )


def embedding_modules(network: nn.Module) -> list[str]:
    """The names of the modules that hold embeddings.

    Examples
    --------
    >>> embedding_modules(nn.ModuleDict({"wte": nn.Embedding(2, 2), "h": nn.Linear(2, 2)}))
    ['wte']
    """
    return [
        name
        for name, module in network.named_modules()
        if name.rpartition(".")[2] == EMBEDDINGS or isinstance(module, nn.Embedding)
    ]


class AutoClass(Protocol):
    """An auto class of transformers, or anything else with its ``from_pretrained``."""

    def from_pretrained(self, *args: Any, **kwargs: Any) -> Any:
        """A network, and the report on its weights (``output_loading_info=True``)."""


@contextmanager
def place_of(name: str | Path) -> Iterator[str]:
    """What transformers is given: a folder's path or a hub id."""
    embedded = EMBEDDED.get(str(name))
    if embedded is not None:
        file = embedded.checked()
        if not is_gguf(file):
            yield str(file.parent)
            return
        with converted(file, sha256=embedded.sha256) as folder:
            yield str(folder)
        return
    path = model_folder(name)
    if path is not None and is_gguf(path) and path.is_file():
        with converted(path) as folder:
            yield str(folder)
    elif path is None:
        yield str(name)
    else:
        check_whole(path)
        yield str(path)


def is_converted(name: str | Path) -> bool:
    """Whether a model is read from a GGUF file."""
    embedded = EMBEDDED.get(str(name))
    return is_gguf(embedded.file if embedded else name)


def read_model(name: str, place: str, options: LoadOptions) -> tuple[Any, Any]:
    """A network, with its adapter and where it belongs, and its tokenizer; both checked.

    Parameters
    ----------
    name
        What messages call it.
    place
        The folder or hub id that transformers is given, of :func:`place_of`.
    options
        How it is loaded.
    """
    kwargs: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if options.revision:
        kwargs["revision"] = options.revision
    register()
    dtype, head = getattr(torch, options.dtype), options.head
    with quiet():
        config = read_config(place, kwargs)
        choose = {"lm": language_model_class, "own": own_class}.get(str(head))
        auto = choose(name, config) if choose else head or AutoModel
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            network, report = read_network(
                place,
                config,
                auto,
                dtype=dtype,
                allow_pickle=options.allow_pickle,
                options=kwargs | _placement(options, dtype),
            )
        tokenizer = read_tokenizer(place, kwargs)
    check_weights(name, report, language_model=getattr(auto, "__name__", "").endswith("LM"))
    check_not_empty(name, tokenizer)
    check_tokenizer(tokenizer, network)
    if options.adapter:
        with quiet():
            add_adapter(network, options.adapter, name=name)
    placed = options.device_map or options.quantization
    return network if placed else _moved(name, network, options.device), tokenizer


def _placement(options: LoadOptions, dtype: torch.dtype) -> dict[str, Any]:
    """Where transformers puts the weights, and how it quantises them."""
    placement: dict[str, Any] = {}
    if options.quantization:
        # It warns of the same thing in every layer and pass.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        placement["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=options.quantization == "8bit",
            load_in_4bit=options.quantization == "4bit",
            bnb_4bit_compute_dtype=dtype,
        )
        placement["device_map"] = {"": options.device}
    if options.device_map:
        devices = options.device_map
        placement["device_map"] = devices if isinstance(devices, str) else dict(devices)
    return placement


def _moved(name: str, network: Any, device: str) -> Any:
    try:
        return network.to(torch.device(device))
    except (RuntimeError, AssertionError, MemoryError) as error:
        if out_of_memory(error):
            raise too_large(name) from error
        raise ModelError(
            f"the device {device!r} cannot be used: {first_line(error)}", hint="give device='cpu'"
        ) from None


MOST_LAYERS = 10_000
OTHER_INPUTS = {
    "input_features": "an audio",
    "input_values": "an audio",
    "pixel_values": "an image",
    "pixel_values_videos": "a video",
}
"""What models read that do not read text, by the name of their input."""
PICKLE = "if you trust it, pass allow_pickle=True"


def read_config(place: str, options: dict[str, Any]) -> Any:
    """The configuration of a hub id or folder, with eager attention in all its parts."""
    try:
        config = AutoConfig.from_pretrained(place, **options)
    except Exception as error:  # values of a wrong type fail in many ways
        raise _unreadable(place, error) from error
    _check_layers(place, config)
    _check_reads_text(place, config)
    # Whatever the file names: flash attention needs packages, and a kernel would be downloaded.
    config._attn_implementation = EAGER
    return config


def _check_reads_text(place: str, config: Any) -> None:
    """Refuse models of sound and pictures as such, before anything else of them is missed."""
    try:
        network = MODEL_MAPPING.get(type(config), None)
    except Exception:  # of a kind that transformers itself cannot load: it says so below
        return
    what = OTHER_INPUTS.get(getattr(network, "main_input_name", ""))
    if what is not None:
        raise ModelError(
            f"{place} is {what} model ({config.model_type}); Headscope reads text",
            hint="give a model that reads text, such as bert-base-uncased",
        )


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
    config = try_to_load_from_cache(place, "config.json", revision=revision or None)
    # The cache keeps the file as snapshots/COMMIT/config.json.
    return Path(config).parent.name if isinstance(config, str) else revision


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
    """The first line of an error's text that says something, or the name of its class.

    A line that ends with a colon only announces the next one, which is taken instead.

    >>> first_line(TypeError("Validation error for field 'n':\\n  TypeError: expected int"))
    'expected int'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.endswith(":")] or lines
    if not said:
        return type(error).__name__
    return re.sub(r"^(TypeError|ValueError): ", "", said[0]) if said[0] != lines[0] else said[0]


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
    source = str(model_folder(adapter) or adapter)
    try:
        config = PeftConfig.from_pretrained(source)
        weights = load_file(str(cached_file(source, WEIGHTS)))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"the adapter {adapter} cannot be read: {first_line(error)}",
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
            f"the adapter {adapter} does not fit {name}: {first_line(error)}", hint=FITTING
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
            own = self.find(name)
            if own is not None:
                fitted[own] = value
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
