"""What would silently give wrong numbers is an error."""

import json

import pytest
import torch

from headscope.errors import ModelError, UserError
from headscope.heads import Head
from headscope.models import Replacement, load
from refusals import refusal
from tiny import save_tiny, tiny_batch, tiny_model


def test_a_config_with_fewer_layers_than_the_checkpoint_is_refused(tmp_path):
    assert load(save_tiny("bert", tmp_path)).shapes["encoder"].layers == 2
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(
        json.dumps(config | {"num_hidden_layers": 1}), encoding="utf-8"
    )
    message = r"belong to layers that the config does not have, e\.g\. encoder\.layer\.1\."
    with pytest.raises(ModelError, match=message):
        load(tmp_path)


@pytest.mark.parametrize(
    ("heads", "name"),
    [
        ("3-1", "3-1 (L2H0)"),
        ("L0H4", "1-5 (L0H4)"),
        ([Head(0, 1), "3-*"], "3-1 (L2H0)"),
        (Head(-1, 0), "0-1 (L-1H0)"),
    ],
)
def test_replacing_a_head_that_the_model_lacks_is_refused(heads, name):
    model = tiny_model("bert")
    assert refusal(
        UserError, model.forward, tiny_batch("bert"), replacement=Replacement(heads, "zero")
    ).message == (f"the model has no head {name}; its heads run from 1-1 to 2-4 (L0H0 to L1H3)")


def test_replacing_heads_of_a_stack_that_the_model_lacks_is_refused():
    message = r"the stack of .* must be one of encoder; got 'decoder' instead"
    with pytest.raises(ModelError, match=message):
        tiny_model("bert").forward(
            tiny_batch("bert"), replacement=Replacement("1-1", "zero", stack="decoder")
        )


@pytest.mark.parametrize("heads", ["1-2,2-1", "*-1"])
def test_replacing_heads_by_means_that_are_not_given_is_refused(heads):
    with pytest.raises(UserError, match="those of layer 2 are not given"):
        tiny_model("bert").forward(
            tiny_batch("bert"), replacement=Replacement(heads, "mean", means={0: torch.zeros(4, 8)})
        )


@pytest.mark.parametrize("heads", ["3:9", "x", 7, [(0, 1)], ["1-1", None], "2-*x"])
def test_anything_but_heads_is_refused_before_a_model_is_run(heads):
    with pytest.raises(UserError, match="a head must be given as LAYER-HEAD counted from 1"):
        Replacement(heads)  # type: ignore[arg-type]
