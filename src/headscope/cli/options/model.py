"""How a model is named and loaded."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.cli.options.panels import LOADING, RARE

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A hub id, a model folder, a .gguf file, or an embedded model: demo or demo-llm.",
        show_default=False,
    ),
]

Device = Annotated[
    str,
    typer.Option("--device", help="Where to run: cpu, cuda, cuda:1, mps."),
]

Dtype = Annotated[
    str,
    typer.Option(
        "--dtype",
        rich_help_panel=LOADING,
        help="Precision of the weights: float32, bfloat16, float16. Maps are float32 and sums "
        "float64 in any case.",
    ),
]

DeviceMap = Annotated[
    str,
    typer.Option(
        "--device-map",
        rich_help_panel=LOADING,
        metavar="WAY",
        help="Spread the layers over devices and memory: auto, balanced, sequential, or a device.",
        show_default=False,
    ),
]

Quantization = Annotated[
    str,
    typer.Option(
        "--quantization",
        rich_help_panel=LOADING,
        metavar="BITS",
        help="Quantise the weights with bitsandbytes: 8bit or 4bit.",
        show_default=False,
    ),
]

Adapter = Annotated[
    str,
    typer.Option(
        "--adapter",
        rich_help_panel=LOADING,
        metavar="PATH",
        help="Put a PEFT adapter (LoRA) on the model: its folder or hub id.",
        show_default=False,
    ),
]

Bos = Annotated[
    str,
    typer.Option(
        "--bos",
        rich_help_panel=LOADING,
        metavar="WAY",
        help="The beginning-of-sequence token before each text: add, keep (as the tokenizer has "
        "it) or none.",
    ),
]

Chat = Annotated[
    bool,
    typer.Option(
        "--chat",
        rich_help_panel=LOADING,
        help="Make each text the user's turn of a chat, with the tokenizer's chat template.",
    ),
]

Revision = Annotated[
    str,
    typer.Option(
        "--revision",
        rich_help_panel=LOADING,
        help="A hub model's branch, tag or commit.",
        show_default=False,
    ),
]

Stack = Annotated[
    str,
    typer.Option(
        "--stack",
        rich_help_panel=RARE,
        help="encoder, decoder or (survey only) cross, for models that have both. "
        "Default: encoder.",
        show_default=False,
    ),
]

AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", rich_help_panel=LOADING, help="Open pickled weights, which can run code."
    ),
]

TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code", rich_help_panel=LOADING, help="Run code that comes with a model."
    ),
]


def loading(
    *,
    device: str = "cpu",
    dtype: str = "float32",
    device_map: str = "",
    quantization: str = "",
    adapter: str = "",
    revision: str = "",
    bos: str = "keep",
    chat: bool = False,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
) -> dict[str, Any]:
    """How a model is loaded, checked, as :func:`headscope.load` takes it.

    A command names those options that it has; the others keep their defaults.

    Raises
    ------
    UserError
        If an option has a value that is not allowed, or two options exclude each other.
    """
    from headscope.models.load_options import check_load_options

    early = {
        "device": device,
        "dtype": dtype,
        "device_map": device_map,
        "quantization": quantization,
        "adapter": adapter,
        "bos": bos,
    }
    check_load_options(**early)
    return {
        **early,
        "revision": revision,
        "chat": chat,
        "allow_pickle": allow_pickle,
        "trust_remote_code": trust_remote_code,
    }
