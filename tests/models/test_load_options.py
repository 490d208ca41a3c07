"""Options of loading: precision, device maps, quantisation, memory, BOS and chat."""

import importlib.util

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM

import headscope as hs
from headscope.errors import ModelError, UserError
from headscope.models import load, wrap
from headscope.options import LoadOptions
from refusals import refusal
from tiny import maps_of, same, save_tiny, tiny_batch, tiny_model, tiny_network, tiny_tokenizer

TEXTS = ["the cat sat on the mat.", "a small bird sang in the old tree while rain fell."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Llama with its head."""
    return save_tiny("llama", tmp_path_factory.mktemp("llama"), auto=AutoModelForCausalLM)


def same_maps(one, other):
    return same(maps_of(one, tiny_batch("llama")), maps_of(other, tiny_batch("llama")))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_statistics_of_half_precision_are_computed_in_single(folder, dtype):
    """A mean over bfloat16 numbers in bfloat16 would be off by about 1e-3."""
    model = load(folder, dtype=dtype)
    atlas = hs.survey(model, TEXTS, measures=["position", "entropy"], max_length=64)
    previous, entropy = [], []
    for text in TEXTS:
        maps = hs.attention(model, text).maps.values.astype(np.float64)
        rows = np.diagonal(maps, -1, 2, 3).sum(-1) / (maps.shape[2] - 1)
        previous.append(rows)
        logs = np.log(maps, out=np.zeros_like(maps), where=maps > 0)
        entropy.append(-(maps * logs).sum(-1).mean(-1))
    found = atlas["position"]["mean"].sel(offset="previous").values
    assert np.allclose(found, np.mean(previous, 0), atol=2e-6)
    found = atlas["entropy"]["mean"].sel(row="all").values
    assert np.allclose(found, np.mean(entropy, 0), atol=2e-6)
    assert atlas.provenance["model"]["dtype"] == dtype


@pytest.mark.parametrize("where", ["auto", "cpu", {"": "cpu"}])
def test_a_device_map_over_the_processor_changes_nothing(folder, where):
    plain, mapped = load(folder), load(folder, device_map=where)
    assert same_maps(plain, mapped)
    assert mapped.digest == plain.digest


PARTS = dict.fromkeys(("embed_tokens", "layers.0", "rotary_emb"), "cpu")
PARTS |= {"layers.1": "disk", "norm": "disk"}


@pytest.mark.parametrize("where", [PARTS, {"": "disk"}])
def test_weights_on_disk_give_the_same_maps_and_a_digest_of_their_files(folder, where, capfd):
    mapped = load(folder, device_map=where)
    assert capfd.readouterr() == ("", "")
    assert any(weight.is_meta for weight in mapped.network.parameters())
    assert mapped.device == torch.device("cpu")
    assert same_maps(load(folder), mapped)
    assert mapped.digest == load(folder, device_map=where).digest
    atlas = hs.survey(mapped, TEXTS, measures="position", max_length=64)
    expected = hs.survey(load(folder), TEXTS, measures="position", max_length=64)
    assert np.array_equal(atlas["position"]["mean"], expected["position"]["mean"], equal_nan=True)
    assert atlas.provenance["model"]["weights"] == mapped.digest


def test_the_digest_of_weights_on_disk_depends_on_the_files(tmp_path):
    digests = set()
    for seed in (0, 1):
        place = save_tiny("llama", tmp_path / str(seed), seed=seed)
        for dtype in ("float32", "bfloat16"):
            digests.add(load(place, device_map={"": "disk"}, dtype=dtype).digest)
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dtype": "bf16"},
            "the dtype must be one of bfloat16, float16, float32; got 'bf16' instead. "
            "Did you mean 'bfloat16'?",
        ),
        (
            {"quantization": "3bit"},
            "the quantization must be one of 4bit, 8bit; got '3bit' instead. "
            "Did you mean '8bit' or '4bit'?",
        ),
        (
            {"device_map": "atuo"},
            "the device map must be one of auto, balanced, balanced_low_0, cpu, cuda:0, "
            "sequential; got 'atuo' instead. Did you mean 'auto'?",
        ),
        (
            {"device_map": 3},
            "the device map must be a name or a dictionary of devices; got int instead",
        ),
        (
            {"device_map": "auto", "device": "cuda"},
            "a device and a device map exclude each other; got 'cuda' and 'auto'",
        ),
        (
            {"bos": "yes"},
            "the treatment of the beginning-of-sequence token must be one of add, keep, none; got "
            "'yes' instead.",
        ),
        ({"adapter": 3}, "the adapter must be a path or text, got 3 instead"),
    ],
)
def test_a_wrong_option_is_refused_before_loading(options, message):
    assert refusal(UserError, LoadOptions, **options).message == message
    with pytest.raises(UserError):
        load("no-such-model", **options)


@pytest.mark.parametrize(
    ("options", "what", "packages"),
    [
        (
            {"quantization": "8bit"},
            "quantised weights",
            ("bitsandbytes", "bitsandbytes accelerate"),
        ),
        ({"device_map": "auto"}, "a device map", ("accelerate", "accelerate")),
        ({"adapter": "lora"}, "an adapter", ("peft", "'headscope[adapters]'")),
    ],
)
def test_an_option_without_its_package_says_what_to_install(options, what, packages, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    error = refusal(ModelError, LoadOptions, **options)
    assert error.message == f"{what} cannot be used without {packages[0]}"
    assert error.hint == f"pip install {packages[1]}"


@pytest.mark.slow
@pytest.mark.parametrize("bits", ["8bit", "4bit"])
def test_quantised_weights_give_similar_maps(bits, demo_llm):
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    small = load("demo-llm", quantization=bits)
    text = "The cat sat on the mat because it was tired."
    ours, theirs = (hs.attention(model, text).maps.values for model in (small, demo_llm))
    assert 0 < np.abs(ours - theirs).mean() < 0.03
    kinds = {weight.dtype for weight in small.network.parameters()}
    assert kinds & {torch.int8, torch.uint8}


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    ],
    ids=["python", "torch", "cuda"],
)
@pytest.mark.parametrize("where", [AutoModel, torch.nn.Module], ids=["read", "move"])
def test_a_model_that_runs_out_of_memory_says_how_to_need_less(folder, monkeypatch, failure, where):
    def fail(*args, **kwargs):
        raise failure

    monkeypatch.setattr(where, "from_pretrained" if where is AutoModel else "to", fail)
    error = refusal(ModelError, load, folder)
    assert (error.message, error.hint) == (
        f"there is not enough memory to load {folder}",
        "give dtype='bfloat16', quantization='4bit' or device_map='auto'",
    )


def test_a_causal_model_without_its_first_token_has_a_note(tmp_path):
    model = tiny_model("gpt2")
    (note,) = model.notes
    assert note == (
        "the tokenizer of tiny-gpt2 does not put the model's beginning-of-sequence token "
        "(<|endoftext|>) before a text, so that the first word takes its place as the sink of "
        "attention; bos='add' (--load.bos add) adds it"
    )
    assert load(save_tiny("gpt2", tmp_path), bos="add").notes == []
    assert load(tmp_path, bos="none").notes == []


@pytest.mark.parametrize("kind", ["bert", "roberta", "llama", "opt", "t5", "bart"])
def test_other_models_have_no_such_note(kind):
    assert tiny_model(kind).notes == []


def test_bos_and_chat_are_recorded_and_make_another_run(tmp_path):
    network, tokenizer = tiny_network("gpt2"), tiny_tokenizer("gpt2")
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    models = [wrap(network, tokenizer, **how) for how in ({}, {"bos": "add"}, {"chat": True})]
    seen = [hs.survey(model, TEXTS, measures="special", max_length=64) for model in models]
    described = [atlas.provenance["model"] for atlas in seen]
    expected = [("keep", False), ("add", False), ("keep", True)]
    assert [(one["bos"], one["chat"]) for one in described] == expected
    assert len({str(model.identity("decoder")) for model in models}) == 3
    to_start = [atlas["special"]["mean"].sel(token="cls", row="all") for atlas in seen]
    assert np.isnan(to_start[0]).all()
    assert (to_start[1] > 0).all()


def test_a_model_without_a_chat_template_is_refused_when_it_is_loaded(folder):
    with pytest.raises(ModelError, match="the tokenizer has no chat template"):
        load(folder, chat=True)
    with pytest.raises(ModelError, match="no beginning-of-sequence token that could be added"):
        wrap(tiny_network("bert"), tiny_tokenizer("bert"), bos="add")


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen3"])
def test_a_tokenizer_that_pads_on_the_left_gives_the_same_numbers(kind):
    right, left = tiny_tokenizer(kind), tiny_tokenizer(kind)
    right.padding_side, left.padding_side = "right", "left"
    left.truncation_side = "left"
    network = tiny_network(kind)
    seen = [
        hs.survey(wrap(network, tokenizer), TEXTS, max_length=12) for tokenizer in (right, left)
    ]
    for name in seen[0].measures:
        if "mean" in seen[0][name]:
            one, other = (atlas[name]["mean"].values for atlas in seen)
            assert np.array_equal(one, other, equal_nan=True), name
    vectors = [wrap(network, tokenizer).encode(TEXTS) for tokenizer in (right, left)]
    assert np.array_equal(*vectors)


def test_the_embedded_decoder_has_its_sink_back_with_bos(demo_llm):
    """The chats that SmolLM2-Instruct was tuned on begin with <|im_start|>, which is its sink."""
    with wrap(demo_llm.network, demo_llm.tokenizer, bos="add") as model:
        atlas = hs.survey(model, TEXTS, measures="special")
    to_start = atlas["special"]["mean"].sel(token="cls", row="all")
    assert float(to_start.mean()) > 0.4


def test_the_embedded_decoder_takes_chats(demo_llm):
    with wrap(demo_llm.network, demo_llm.tokenizer, chat=True) as model:
        found = hs.attention(model, "The cat sat.", heads="1-1", words=True)
    assert found.tokens[:3] == ("<|im_start|>", "system", "Ċ")
    words = ["The", "cat", "sat", "."]
    places = [found.tokens.index(word) for word in words]
    assert places == list(range(places[0], places[0] + 4))
    assert found.maps["special"].values[places].tolist() == [False] * 4
    assert int((~found.maps["special"]).sum()) == 4
