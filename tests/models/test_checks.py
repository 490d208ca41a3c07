"""What would silently be wrong is an error: layers that the config lacks, heads that do not exist, means that are not given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from headscope.errors import ModelError, UserError
from headscope.models import Replacement, head_set, load
from tiny import tiny_batch, tiny_model


def test_a_config_with_fewer_layers_than_the_checkpoint_is_refused(tmp_path: Path) -> None:
    model = tiny_model("bert")
    model.network.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    assert load(tmp_path).shapes["encoder"].layers == 2
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(
        json.dumps(config | {"num_hidden_layers": 1}), encoding="utf-8"
    )
    with pytest.raises(
        ModelError,
        match=r"belong to layers that the config does not have, e\.g\. encoder\.layer\.1\.",
    ):
        load(tmp_path)


@pytest.mark.parametrize(("layer", "head", "name"), [(2, 0, "3-1"), (0, 4, "1-5"), (-1, 0, "0-1")])
def test_replacing_a_head_that_does_not_exist_is_refused(layer: int, head: int, name: str) -> None:
    model = tiny_model("bert")
    with pytest.raises(ModelError, match=rf"has no head {name}; its heads go from 1-1 to 2-4"):
        model.forward(
            tiny_batch("bert"), replacement=Replacement("zero", head_set([(layer, head)]))
        )


def test_replacing_in_a_stack_that_does_not_exist_is_refused() -> None:
    model = tiny_model("bert")
    with pytest.raises(
        ModelError, match=r"the stack of .* must be one of encoder; got 'decoder' instead"
    ):
        model.forward(
            tiny_batch("bert"), replacement=Replacement("zero", head_set([(0, 0)]), stack="decoder")
        )


def test_the_mean_way_without_means_is_refused() -> None:
    with pytest.raises(UserError, match="those of layer 2 are not given"):
        Replacement("mean", head_set([(0, 1), (1, 0)]), means={0: torch.zeros(4, 8)})
