"""Models that cannot be loaded or observed: each error says what is wrong and what to do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, DebertaV2Config, DiffLlamaConfig, MambaConfig, XLNetConfig

from headscope.errors import ModelError
from headscope.models import Shape, load, wrap
from refusals import refusal
from tiny import SIZES, same, save_tiny, tiny_network, tiny_tokenizer

BELONG = "check that config.json and the weights belong together"


@pytest.fixture
def folder(tmp_path):
    """A saved BERT, for tests to damage."""
    return save_tiny("bert", tmp_path)


def refused(folder: Path | str, **options: Any) -> ModelError:
    return refusal(ModelError, load, folder, **options)


def test_a_model_with_several_maps_per_layer_is_refused():
    config = DiffLlamaConfig(**SIZES, num_key_value_heads=2, vocab_size=400)
    network = AutoModel.from_config(config, attn_implementation="eager")
    assert refusal(ModelError, wrap, network, tiny_tokenizer("llama"), name="diff").message == (
        "diff computes attention 4 times in the 2 layers of its decoder (differential attention, "
        "for example), so that a head has no one map"
    )


CONFIGS = [  # what the config says, or is changed to say; and why that is refused
    ("{", "is not a valid JSON file"),
    ('{"model_type": "nonesuch"}', "has model type `nonesuch`"),
    ("{}", "Should have a `model_type` key"),
    *(
        (text, "")
        for text in (
            *("[" * 100_000, '{"a":' * 100_000, "", "\0"),
            '{"model_type": "bert", "hidden_size": 1' + "0" * 5000 + "}",
        )
    ),
    ({"hidden_size": "32"}, "Field 'hidden_size' expected int, got str (value: '32')"),
    ({"hidden_size": None}, "Field 'hidden_size' expected int, got NoneType (value: None)"),
    ({"num_attention_heads": [4, 4]}, "Field 'num_attention_heads' expected int, got list"),
    ({"pad_token_id": "x"}, "Field 'pad_token_id' with value 'x' doesn't match any type"),
    ({"is_decoder": "yes"}, "Field 'is_decoder' expected bool, got str"),
    ({"dtype": "nope"}, "module 'torch' has no attribute 'nope'"),
    ({"num_hidden_layers": 10**9}, "its config says that it has 1000000000 layers"),
]


@pytest.mark.parametrize(("text", "why"), CONFIGS, ids=[str(why) for _, why in CONFIGS])
def test_a_config_that_cannot_be_used_is_blamed_on_the_config(tmp_path, text, why):
    # what transformers says of missing weights
    folder = save_tiny("bert", tmp_path / "no file named safetensors")
    file = folder / "config.json"
    file.write_text(
        text if isinstance(text, str) else json.dumps(json.loads(file.read_text()) | text)
    )
    error = refused(folder)
    assert error.message.startswith(f"{folder} cannot be loaded: ")
    assert why in error.message
    assert error.hint == "check its config.json" or not why


def test_a_folder_without_weights_is_an_error(folder):
    (folder / "model.safetensors").unlink()
    assert str(refused(folder)) == (
        f"{folder} has no weights: there is no model.safetensors\n"
        "next: give a folder saved with save_pretrained"
    )
    assert str(refused(folder, allow_pickle=True)) == str(refused(folder))


def test_pickled_weights_are_refused_and_not_opened(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"opening this would fail otherwise")
    error = refused(folder)
    assert (
        error.message
        == f"{folder} has only pickled weights (pytorch_model.bin), which can run code when opened"
    )
    assert error.hint == "convert them to safetensors; if you trust it, pass allow_pickle=True"


def test_pickled_weights_load_when_allowed(folder):
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    model = load(folder, allow_pickle=True)
    assert model.shapes == {"encoder": Shape(2, 4, 8)}
    assert same({name: model.network.state_dict()[name] for name in weights}, weights)


QUERY = "attention.self.query"


@pytest.mark.parametrize(
    ("changes", "dropped", "what"),
    [
        ({"hidden_size": 64}, "", "{all} have another shape, e.g. embeddings.LayerNorm.bias"),
        ({}, QUERY, f"4 are missing, e.g. encoder.layer.0.{QUERY}.bias"),
        ({"num_hidden_layers": 3}, "", "{layer} are missing, e.g. encoder.layer.2."),
        *(({"hidden_size": size}, "", "") for size in (10**30, -32, 10**12)),
    ],
)
def test_weights_that_do_not_fit_the_config_are_an_error(folder, changes, dropped, what):
    file = folder / "model.safetensors"
    weights = load_file(file)
    counts = {
        "all": sum("intermediate.dense.bias" not in name for name in weights),
        "layer": sum(name.startswith("encoder.layer.0.") for name in weights),
    }
    kept = {name: one for name, one in weights.items() if not dropped or dropped not in name}
    save_file(kept, file, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    error = refused(folder)
    assert error.message.startswith(
        f"the weights of {folder} do not fit its config: {what.format(**counts)}"
    )
    assert error.hint == BELONG or not what


@pytest.mark.parametrize("left", [0.5, 0.0], ids=["half", "nothing"])
def test_incomplete_weights_cannot_be_read(folder, left):
    file = folder / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * left)])
    error = refused(folder)
    assert error.message.startswith(
        f"the weights of {folder} cannot be read: Error while deserializing header"
    )
    assert error.hint == "the file may be incomplete: copy or download it again"


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize(
    "kind", ["bert", "roberta", "xlmr", "gpt2", "llama", "t5", "mpnet", "modernbert"]
)
def test_a_folder_without_a_tokenizer_is_an_error_and_not_an_empty_tokenizer(
    kind, broken, tmp_path
):
    tiny_network(kind).save_pretrained(tmp_path)
    if broken:
        (tmp_path / "tokenizer.json").write_text("{")
    error = refused(tmp_path)
    beginnings = (
        f"{tmp_path} has no tokenizer: its vocabulary is empty",
        f"the tokenizer of {tmp_path} cannot be loaded: ",
    )
    assert error.message.startswith(beginnings[1] if broken else beginnings)
    assert error.hint == "put tokenizer.json into the model's folder"


def test_code_that_comes_with_a_model_is_not_run(folder):
    mark = folder / "ran"
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(mark)!r})\n")
    classes = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    config = {"model_type": "own", "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(config))
    error = refused(folder)
    message = f"{folder} comes with its own code, which is not run unless you allow it"
    assert error.message == message
    assert error.hint == "if you trust it, pass trust_remote_code=True"
    assert not mark.exists()


OWN_CODE = "computes attention in its own code, for which there is no adapter"


@pytest.mark.parametrize(
    ("config", "kind", "why"),
    [
        (MambaConfig(hidden_size=32, num_hidden_layers=2), "MambaModel", "has no attention layers"),
        (DebertaV2Config(**SIZES), "DebertaV2Model", OWN_CODE),
        (XLNetConfig(d_model=32, n_layer=2, n_head=4, d_inner=48), "XLNetModel", OWN_CODE),
    ],
    ids=["mamba", "deberta", "xlnet"],
)
@pytest.mark.filterwarnings(  # from the code of DeBERTa
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)
def test_a_model_whose_attention_cannot_be_observed_is_refused_with_what_is_supported(
    config, kind, why, tmp_path
):
    config.vocab_size = 200
    network = AutoModel.from_config(config)
    network.save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    error = refused(tmp_path)
    assert error.message.startswith(f"{tmp_path} ({kind}) {why}; supported are BERT, RoBERTa, ")
    assert error.hint == "choose another model, or open an issue to ask for an adapter"
    with pytest.raises(ModelError, match=rf"mine \({kind}\) {why}"):
        wrap(network, tiny_tokenizer("bert"), name="mine")


@pytest.mark.parametrize("device", ["cuda", "toaster"])
def test_a_device_that_this_machine_lacks_is_refused(folder, device):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    error = refused(folder, device=device)
    assert error.message.startswith(f"the device '{device}' cannot be used: ")
    assert error.hint == "give device='cpu'" or device != "cuda"


@pytest.mark.parametrize(
    "name", ["x" * 5000, "/" + "x" * 5000, "a\0b", Path("a\0b"), "caf\udce9", "./caf\udce9"]
)
def test_a_name_that_no_file_can_have_is_refused(name):
    error = refused(name)
    assert "there is no" in error.message
    assert len(error.message) < 500


PIPES = ("model.safetensors", "tokenizer.json", "generation_config.json", "config.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_among_a_model_s_files_is_refused_and_not_waited_for(folder, name):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    expected = f"{folder / name} is a pipe or a device, not a file"
    if name == "config.json":
        expected = f"{folder} is not a model folder: it has no config.json"
    assert refused(folder).message == expected


@pytest.mark.parametrize("outside", ["../{}", "{folder}/../{}", "a/../../{}", "..\\{}", "C:\\{}"])
def test_an_index_that_names_weights_outside_its_folder_is_refused(folder, outside):
    names = list(load_file(folder / "model.safetensors"))
    elsewhere = folder.parent / f"{folder.name}.safetensors"
    (folder / "model.safetensors").rename(elsewhere)
    shard = outside.format(elsewhere.name, folder=folder)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": dict.fromkeys(names, shard)}))
    error = refused(folder)
    assert error.message.startswith(f"{index} names a file outside its folder: ")
    assert error.hint == "do not use this copy: save or download the model again"


def test_an_index_of_weights_in_the_folder_is_read(folder):
    network = load(folder).network
    (folder / "model.safetensors").unlink()
    network.save_pretrained(folder, max_shard_size="20kB")
    assert (folder / "model.safetensors.index.json").exists()
    assert same({**load(folder).network.state_dict()}, {**network.state_dict()})


def test_a_tokenizer_that_adds_a_token_beyond_the_vocabulary_is_refused(folder):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["post_processor"]["special_tokens"]["[SEP]"]["ids"] = [99_999]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "its token ids go up to 99999" in refused(folder).message
