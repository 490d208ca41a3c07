"""``headscope check``: the table, the verdict and the exit code."""

from __future__ import annotations

import json

import torch

from cli.test_mistakes import mistake
from headscope.models import observe
from tiny import tiny_network, tiny_tokenizer


def test_a_healthy_model_passes_with_code_0(run, tiny_folder):
    done = run("check", tiny_folder)
    assert done.code == 0, done.err
    assert "a batch of several lengths" in done.out
    label = tiny_folder.name
    assert done.out.splitlines()[-1].startswith(f"PASS: {label} agrees with eager attention ")


def test_a_broken_model_fails_with_code_1(run, tiny_folder, monkeypatch):
    plain = observe.eager_function

    def unscaled(module: torch.nn.Module) -> object:
        eager = plain(module)
        return lambda *given, **others: eager(*given, **(others | {"scaling": 1.0}))

    monkeypatch.setattr(observe, "eager_function", unscaled)
    done = run("check", tiny_folder, "--json")
    assert done.code == 1
    rows = json.loads(done.out)
    assert [row["verdict"] for row in rows] == ["FAIL"] * 6
    assert f"FAIL: {tiny_folder.name} does not agree with eager attention: maps of the " in done.err
    assert "Traceback" not in done.err


def test_the_model_is_loaded_with_the_options_of_other_commands(run, tiny_folder):
    done = run("check", tiny_folder, "--dtype", "bfloat16", "--max-length", 30, "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert {row["allowed"] for row in rows} == {0.05}
    assert max(row["tokens"] for row in rows) == 40
    error, _ = mistake(run("check", tiny_folder, "--dtype", "bf16"))
    assert error.startswith("the dtype must be one of bfloat16, float16, float32")
    error, advice = mistake(run("check", tiny_folder, "--max-length", 65))
    assert "the maximum length must be 5 to 64" in error
    assert advice == "leave --max-length out, or give 5 to 64"


def test_a_model_that_cannot_be_observed_is_an_error_of_two_lines(run, tmp_path):
    tiny_network("deepseek-v4").save_pretrained(tmp_path / "v4")
    tiny_tokenizer("deepseek-v4").save_pretrained(tmp_path / "v4")
    error, _ = mistake(run("check", tmp_path / "v4"))
    assert "so that its keys are not the tokens" in error
