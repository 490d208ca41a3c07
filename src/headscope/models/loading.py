"""Loading models by name, and wrapping networks that are already in memory.

Only safetensors weights are read, no code that comes with a model runs, and every weight that
attention depends on must be there, unless you ask otherwise.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache
from torch import nn

from headscope.encode import Bos
from headscope.encode.template import find_template
from headscope.errors import ModelError
from headscope.files import cache_folder, checksum, digest_of
from headscope.models.checks import check_network, check_tokenizer
from headscope.models.embedded import EMBEDDED
from headscope.models.model import Model
from headscope.models.names import ANYTHING, check_loading, model_folder, model_label
from headscope.models.network_reader import is_converted, place_of, read_model
from headscope.models.pretrained import commit_of, read_pooling
from headscope.options import LoadOptions, takes


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
        found = try_to_load_from_cache(place, "config.json", revision=revision or None)
        if not isinstance(found, str):
            return []
        folder = Path(found).parent
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
    given = type(name).__name__
    if isinstance(name, Model):
        hint = "use the Model as it is: it is loaded already"
    elif isinstance(name, nn.Module):
        hint = "use headscope.wrap(network, tokenizer) for a network in memory"
    elif isinstance(name, tuple | list) and name and isinstance(name[0], nn.Module):
        given, hint = "a network and its tokenizer", "use headscope.wrap(network, tokenizer)"
    else:
        hint = "use e.g. headscope.load('demo'), or headscope.wrap(network, tokenizer)"
    raise ModelError(f"a model's name must be {ANYTHING}; got {given} instead", hint=hint)


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
