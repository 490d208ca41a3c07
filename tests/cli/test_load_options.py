"""Options of loading and encoding at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headscope.options import Loading, described
from headscope.papers import PAPERS
from headscope.results import Atlas
from tiny import tiny_network, tiny_tokenizer

SMALL = ("--measure", "position", "--max-length", "48", "--single")


@pytest.fixture(scope="module")
def chat_folder(tmp_path_factory):
    """A GPT-2 whose tokenizer has a chat template."""
    place = tmp_path_factory.mktemp("chat") / "gpt-chat"
    tokenizer = tiny_tokenizer("gpt2")
    tokenizer.chat_template = "{% for m in messages %}@ {{ m['content'] }}\n{% endfor %}"
    tiny_network("gpt2").save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def lora(model: Path, place: Path) -> Path:
    """A LoRA adapter with large weights."""
    import torch
    from transformers import AutoModel

    peft: Any = pytest.importorskip("peft", reason="peft is not installed")
    config = peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True)
    adapted = peft.get_peft_model(AutoModel.from_pretrained(model), config)
    generator = torch.Generator().manual_seed(0)
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            weight.data = torch.randn(weight.shape, generator=generator)
    adapted.save_pretrained(place)
    return place


def model_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = Atlas.open(path).provenance["model"]
    return found


def test_a_survey_records_how_the_model_was_loaded(run, chat_folder, text, tmp_path):
    adapter = lora(chat_folder, tmp_path / "mine")
    output = tmp_path / "x.nc"
    more = ("--dtype", "bfloat16", "--adapter", adapter, "--load.chat", "--load.device-map", "cpu")
    done = run("survey", chat_folder, text, "-o", output, *SMALL, *more)
    assert done.code == 0, done.err
    about = model_of(output)
    assert {key: about[key] for key in ("name", "dtype", "adapter", "bos", "chat")} == {
        "name": "gpt-chat + mine",
        "dtype": "bfloat16",
        "adapter": "mine",
        "bos": "keep",
        "chat": True,
    }


def test_a_survey_warns_of_a_missing_first_token_and_adds_it(run, chat_folder, text, tmp_path):
    plain = run("survey", chat_folder, text, "-o", tmp_path / "plain.nc", *SMALL)
    assert "note: the tokenizer of" in plain.err
    assert "(--load.bos add) adds it" in plain.err
    add = ("-o", tmp_path / "added.nc", "--load.bos", "add")
    added = run("survey", chat_folder, text, *SMALL, *add)
    assert "note: the tokenizer of" not in added.err
    assert model_of(tmp_path / "added.nc")["bos"] == "add"


def test_compare_shows_what_an_adapter_changes(run, chat_folder, text, tmp_path):
    adapter = lora(chat_folder, tmp_path / "mine")
    output = tmp_path / "x.nc"
    more = ("--adapter", adapter, "-o", output, "--max-length", "48", "--single", "--json")
    done = run("compare", chat_folder, chat_folder, text, *more)
    assert done.code == 0, done.err
    assert min(float(Atlas.open(output)["change"]["mean"].min()), 1) < 0.95
    assert json.loads(done.out.split("]\n")[0] + "]")


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("attention", ("the cat sat",)),
        ("ablate", ("--heads", "--limit", "2", "--max-length", "48")),
        ("survey", ("demo",)),
        ("compare", ("demo", "demo")),
        ("examples", ("demo", "1-1")),
        ("circuits", ()),
        ("retrieval", ()),
        ("probe", ("nowhere",)),
        ("explore", ("--no-browser",)),
        ("portrait", ()),
    ],
)
def test_other_commands_take_the_same_options(run, command, more, chat_folder, text, here):
    wrong = run(command, chat_folder, *more, "--dtype", "bf16")
    assert wrong.code == 2
    assert "the dtype must be one of bfloat16, float16, float32" in wrong.err
    wrong = run(command, chat_folder, *more, "--adapter", text.parent)
    assert "it has no adapter_config.json" in wrong.err


@pytest.mark.parametrize("paper", PAPERS)
def test_papers_take_every_option_of_loading(run, paper, chat_folder):
    given = ("paper", paper, "--model", chat_folder)
    shown = " ".join(run("paper", paper, "--help").out.split())
    for option in described(Loading).values():
        assert f"{option.flag} " in shown
    for wrong, message in (
        (("--dtype", "bf16"), "the dtype must be one of bfloat16, float16, float32"),
        (("--load.quantization", "2bit"), "the quantization must be one of 4bit, 8bit"),
        (("--load.device-map", "auto", "--device", "cuda"), "exclude each other"),
    ):
        assert message in run(*given, *wrong).told[0]


def test_attention_draws_a_chat(run, chat_folder):
    done = run("attention", chat_folder, "the cat sat", "--load.chat", "--json")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("options", "message", "after"),
    [
        (
            ("--load.chat",),
            "the tokenizer has no chat template, so that texts cannot be made turns of a chat",
            "leave --load.chat out, or choose a model that was tuned for chats",
        ),
        (
            ("--load.device-map", "auto", "--device", "cuda"),
            "a device and a device map exclude each other; got 'cuda' and 'auto'",
            "leave --device or --load.device-map out",
        ),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    run, options, message, after, tiny_folder, text, here
):
    done = run("survey", tiny_folder, text, "--max-length", "48", *options)
    assert done.code == 2
    assert done.told == [f"error: {message}", f"next:  {after}"]


@pytest.mark.parametrize(
    ("command", "more"),
    [("ablate", ("--importance", "--heads", "--corpus")), ("survey", ("--measure", "gradient"))],
)
def test_gradients_are_computed_with_an_adapter_too(run, command, more, text, tmp_path):
    from transformers import AutoModelForCausalLM

    folder, output = tmp_path / "gpt", tmp_path / "x.nc"
    tiny_network("gpt2", auto=AutoModelForCausalLM).save_pretrained(folder)
    tiny_tokenizer("gpt2").save_pretrained(folder)
    adapter = lora(folder, tmp_path / "mine")
    given = ("-o", output, "--max-length", "48", "--adapter", adapter, *more, text)
    done = run(command, folder, *given)
    assert done.code == 0, done.err
    values = Atlas.open(output)["importance" if command == "ablate" else "gradient"]["mean"]
    assert float(values.max()) > 0
