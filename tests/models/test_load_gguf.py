"""Models in GGUF files: read through transformers once, kept as safetensors, refused if broken."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from headscope.errors import ModelError
from headscope.models import Shape, check_model_name, load
from headscope.models import gguf as module
from headscope.models.gguf import converted
from refusals import refusal

pytest.importorskip("gguf", reason="the package gguf is not installed")

from models.tiny_gguf import tiny_llama, write_gguf
from tiny import same


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A tiny Llama as GGUF."""
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.Q4.gguf")


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A cache of its own for each test; the folder of converted models in it."""
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def test_a_gguf_file_gives_the_weights_that_were_written(file):
    model = load(file, head="lm")
    assert model.shapes == {"decoder": Shape(2, 4, 8, kv_heads=(2, 2))}
    expected = tiny_llama().state_dict()
    assert same(model.network.state_dict(), expected)
    assert (model.label, model.network.dtype) == ("tiny.Q4.gguf", torch.float32)


def test_a_gguf_file_is_read_only_once(file, kept, monkeypatch):
    first = load(file)
    (folder,) = [path for path in kept.iterdir() if path.is_dir()]
    assert (folder / "model.safetensors").is_file()

    def again(path, folder):
        raise AssertionError("read twice")

    monkeypatch.setattr(module, "_convert", again)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert load(file).digest == first.digest


def test_another_version_of_transformers_reads_the_file_anew(file, kept, monkeypatch):
    with converted(file) as one:
        pass
    monkeypatch.setattr(module, "version", lambda name: "99")
    with converted(file) as other:
        assert one != other
        assert (other / "config.json").is_file()


def test_without_a_cache_nothing_remains(file, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_CACHE", "off")
    with converted(file) as folder:
        assert (folder / "config.json").is_file()
    assert not folder.exists()
    assert load(file).shapes == {"decoder": Shape(2, 4, 8, kv_heads=(2, 2))}


def test_a_conversion_that_was_killed_leaves_nothing_behind(file, kept, monkeypatch):
    def stop(path, folder):
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_convert", stop)
        with pytest.raises(KeyboardInterrupt), converted(file):
            pass
    assert not any(path.is_dir() for path in kept.iterdir())
    with converted(file) as folder:
        assert [path for path in kept.iterdir() if path.is_dir()] == [folder]


@pytest.mark.slow
def test_two_processes_convert_a_file_once(file, tmp_path):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from headscope.models import gguf\n"
        "convert, done = gguf._convert, []\n"
        "gguf._convert = lambda path, folder: (convert(path, folder), done.append(1))\n"
        "with gguf.converted(Path(sys.argv[1])) as folder: print(len(done))\n"
    )
    lines = [sys.executable, "-c", code, str(file)]
    environment = os.environ | {"HEADSCOPE_CACHE": str(tmp_path / "two")}
    running = [
        subprocess.Popen(lines, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    assert sorted(process.communicate()[0].strip() for process in running) == ["0", "1"]


def test_the_first_conversion_is_announced(file, caplog):
    for _ in range(2):
        with converted(file):
            pass
    expected = ["tiny.Q4.gguf is converted to safetensors, once; this takes ten seconds or longer"]
    assert caplog.messages == expected


def message(name: Any, *, loading: bool = False) -> tuple[str, str]:
    error = refusal(ModelError, lambda: load(name) if loading else check_model_name(name))
    return error.message, error.hint


def test_a_gguf_file_that_does_not_exist_is_refused():
    assert message("no-such.gguf") == (
        "there is no file no-such.gguf",
        "check the path, or give a hub id, 'demo' or 'demo-llm'",
    )


def test_a_file_that_only_has_the_name_of_gguf_is_refused(tmp_path):
    wrong = tmp_path / "x.gguf"
    wrong.write_bytes(b"PK\x03\x04 and so on")
    assert message(wrong) == (
        f"{wrong} is not a GGUF file: it does not begin with 'GGUF'",
        "copy or download the file again",
    )


@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_a_gguf_file_that_ends_too_soon_is_refused(file, tmp_path, kept, share):
    cut = tmp_path / "cut.gguf"
    data = file.read_bytes()
    cut.write_bytes(data[: int(len(data) * share)])
    text, hint = message(cut, loading=True)
    assert text.startswith("cut.gguf cannot be read as GGUF: ")
    assert hint == "the file may be incomplete: copy or download it again"
    assert not any(path.is_dir() for path in kept.iterdir())


def test_a_gguf_file_without_the_packages_that_read_it_says_what_to_install(file, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert message(file) == (
        "tiny.Q4.gguf cannot be read without gguf and accelerate",
        "pip install 'headscope[gguf]'",
    )


def test_a_gguf_file_that_is_too_large_for_the_memory_is_refused(file, kept, monkeypatch):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(module, "_read", fail)
    assert message(file, loading=True) == (
        "there is not enough memory to convert tiny.Q4.gguf to float32",
        "convert it on a larger machine, or give the same model as safetensors",
    )
    assert not any(path.is_dir() for path in kept.iterdir())


def test_a_gguf_file_is_not_spread_over_devices_without_a_cache(file, monkeypatch):
    expected = {"decoder": Shape(2, 4, 8, kv_heads=(2, 2))}
    assert load(file, device_map={"": "disk"}).shapes == expected
    monkeypatch.setenv("HEADSCOPE_CACHE", "off")
    with pytest.raises(ModelError, match="cannot be spread over devices without a cache"):
        load(file, device_map={"": "disk"})


def test_a_cache_that_cannot_be_written_says_what_to_do(file, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "taken"))
    text, hint = message(file, loading=True)
    assert text.startswith("the model in tiny.Q4.gguf cannot be kept in ")
    assert hint == "set HEADSCOPE_CACHE to a folder that can be written, or to 'off'"
